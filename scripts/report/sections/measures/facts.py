"""Arms and pairs of arms by the measures that the study names beside the leading one."""

import measures
from report.inputs import Table

CHAPTER, PLACE = "Results", 15
# Formats of values: a table column's format and its decimals. Shares are printed in per cent, differences in points.
SHARE, OTHER = ("percent", 2), ("decimals", 3)


def facts(study):
    """Arms and pairs of arms by the measures that the study names beside the leading one."""
    if not study.has("measured_arms", "measured_pairs"):
        return None
    arms, pairs = study.table("measured_arms"), study.table("measured_pairs")
    shown = []
    for name in dict.fromkeys(str(row["measure"]) for row in arms.rows):
        measure = measures.load(name)
        share = measure.UNIT == "share"
        kind, places = SHARE if share else OTHER
        shown.append(
            {
                "label": measure.LABEL,
                "unit": "per cent" if share else measure.UNIT,
                "apart": "points" if share else measure.UNIT,
                "better": "higher" if measure.HIGHER_IS_BETTER else "lower",
                "format": kind,
                "places": places,
                "arms": Table([row for row in arms.rows if row["measure"] == name], arms.href),
                "pairs": Table([row for row in pairs.rows if row["measure"] == name], pairs.href),
            }
        )
    return {"shown": shown, "n_rows": study.count(study.path("measured_pairs"))}
