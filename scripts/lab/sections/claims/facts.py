"""Statements checked against data, and how many hold."""

from lab.claim_tables import FAILS, HOLDS, NOT_SETTLED, PARTS, UNDECIDED, part_of
from report.inputs import Table

CHAPTER, PLACE = "Can it be trusted?", 70
# Verdicts as the table of counts has them.
DECIDED = (HOLDS, FAILS, NOT_SETTLED, UNDECIDED)


def facts(study):
    """Statements checked against data, and how many hold."""
    if not study.has("claims", "claims_by_report"):
        return None
    counts, claims = study.table("claims_by_report"), study.table("claims")
    if not claims.rows and not study.has("conclusions"):
        return None
    by_part = {row["part"]: row for row in counts.rows}
    # Published statements come first, with those of the reports and of others mixed; then the study's.
    n_published = sum(int(by_part[part]["claims"]) for part in ("all reports", "other sources") if part in by_part)
    published, claimed = claims.rows[:n_published], claims.rows[n_published:]
    found = {"counts": counts, "of": by_part, "own": Table(claimed, claims.href)}
    for part, name in PARTS.items():
        found[name] = Table([row for row in published if part_of(row) == part], claims.href)
    return found | {"conclusions": conclusions(study) if study.has("conclusions") else None}


def conclusions(study):
    """Return what the study's tables say of the reports' conclusions: those of the reports, and of other sources."""
    asked, found = study.table("conclusions"), {}
    for part, name in PARTS.items():
        rows = [row for row in asked.rows if row["part"] == part]
        counts = [study.count(study.path("conclusions"), part=part, verdict=verdict) for verdict in DECIDED]
        found[name] = {"table": Table(rows, asked.href), "counts": counts}
    return found
