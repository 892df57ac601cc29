"""Intervals of the arms and tests of their differences, exploratory."""

from analysis.scored import shared

CHAPTER, PLACE = "Can it be trusted?", 10


def facts(study):
    """Intervals of the arms and tests of their differences, exploratory."""
    if not study.has("pairs", "arm_statistics"):
        return None
    paired = study.has("method") and bool(study.json("method").get("paired"))
    return {
        "arms": study.table("arm_statistics"),
        "pairs": study.table("pairs"),
        "paired": paired,
        "shared": shared(study.frame("runs")),
        # No test says which runs of numbers learnt.
        "judged": study.has("learned"),
    }
