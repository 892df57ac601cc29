"""Intervals of the arms, tests of their differences, and what can be claimed."""

CHAPTER, PLACE = "Can it be trusted?", 10


def facts(study):
    """Intervals of the arms, tests of their differences, and what can be claimed."""
    if not study.has("pairs", "arm_statistics"):
        return None
    return {"arms": study.table("arm_statistics"), "pairs": study.table("pairs")}
