"""How each label of a set fares."""

from report.inputs import Table
from report.sections.errors.facts import beside

CHAPTER, PLACE = "Results", 80


def facts(study):
    """How each label of a set fares."""
    if not study.has("errors_by_label"):
        return None
    table, names = study.table("errors_by_label"), study.labels
    rows = [row | {"name": names[int(row["label"])]} for row in beside(table.rows, ("arm", "label"))]
    return {"by_label": Table(rows, table.href)}
