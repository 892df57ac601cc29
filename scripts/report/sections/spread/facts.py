"""Where the spread between runs comes from: each source of chance alone, all of them, and the test texts."""

from report.asked import named, written
from report.inputs import Table
from report.numbers import derive
from study.spread import JOINT, NEW, SHOWN, TEXTS, TOGETHER

CHAPTER, PLACE = "Can it be trusted?", 15
# The ends of an interval that are further apart, as a ratio, say little.
WIDE = 2


def facts(study):
    """Where the spread between runs comes from; None where the study does not ask."""
    if not study.has("spread_sources", "spread_figure", "spread_runs"):
        return None
    table, runs = study.table("spread_sources"), study.frame("spread_runs")
    counted = [row["n_not_learned"] for row in table.rows if row["n_not_learned"]]
    by_contrast = {}
    for row in table.rows:
        by_contrast.setdefault(str(row["contrast"]), []).append(row)
    return {
        "parts": [part_of(rows, table.href) for rows in by_contrast.values()],
        "names": {varied: words.format(texts=study.noun["many"]) for varied, words in SHOWN.items()},
        "n_not_learned": derive("sum", *counted) if counted else None,
        "n_runs": study.count(study.path("spread_runs")),
        "seconds": derive("sum", *runs["train_seconds"]),
        "runs_href": study.href("spread_runs"),
        "drawing": study.drawing(study.path("spread_figure")),
        "href": table.href,
    }


def part_of(rows, href):
    """Return the facts of one arm or difference of arms.

    Args:
        rows: its rows of spread/sources.tsv.
        href: link to the table.
    """
    by_name = {str(row["varied"]): row for row in rows}
    alone = [row for row in rows if str(row["varied"]) not in (TOGETHER, TEXTS, NEW, JOINT)]
    together, joint = by_name[TOGETHER], by_name[JOINT]
    differs = " - " in together["contrast"]
    return {
        "contrast": written(together["contrast"]) if differs else named(together["contrast"], 0),
        "differs": differs,
        "alone": alone,
        "together": together,
        "texts": by_name[TEXTS],
        "joint_shown": bool(joint["variance_low"]) and float(joint["variance_low"]) * float(joint["variance_high"]) > 0,
        "joint_below": float(joint["variance"]) < 0,
        "wide": any(is_wide(row) for row in (*alone, together)),
        "held": [row for row in alone if row["covered"] == "false"],
        "rows": Table([row for row in rows if row is not joint], href),
    }


def is_wide(row):
    """Return whether the ends of a standard deviation's interval are far apart; none is, too."""
    return not row["spread_sd_low"] or float(row["spread_sd_high"]) > WIDE * float(row["spread_sd_low"])
