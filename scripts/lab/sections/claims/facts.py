"""Statements checked against data, and how many hold."""

CHAPTER, PLACE = "Can it be trusted?", 70


def facts(study):
    """Statements checked against data, and how many hold."""
    if not study.has("claims", "claims_by_report"):
        return None
    counts = study.table("claims_by_report")
    return {"claims": study.table("claims"), "counts": counts, "of": {row["part"]: row for row in counts.rows}}
