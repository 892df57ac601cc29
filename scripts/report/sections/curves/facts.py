"""The leading measure by epoch, one figure an arm."""

import os

from common.arms import ARM
from report.inputs import Table

CHAPTER, PLACE = "Results", 50


def facts(study):
    """The leading measure by epoch, one figure an arm."""
    if not study.has("curves"):
        return None
    # Each figure {arm}.svg is paired with the table beside it.
    data = {os.path.splitext(path)[0]: path for path in study.paths("curves_data")}
    return {
        "arms": [curve(study, svg, data[os.path.splitext(svg)[0]]) for svg in study.paths("curves")],
        "tested": "test" in set(study.frame("history")["split"]),
        "several": study.frame("runs")["seed"].nunique() > 1,
    }


def curve(study, svg, data):
    """Return an arm's figure, its points by seed and epoch, and where validation began, ended and was best."""
    points = study.read(data)
    valid = points[points["split"] == "valid"]
    epochs = sorted(valid["epoch"].unique(), key=int)
    key = ["seed", "epoch"]
    by_split = points.pivot(index=key, columns="split", values=study.lead.curve).fillna("").reset_index()
    # The last row of a seed's epoch shows whether that epoch was chosen.
    table = points.drop_duplicates(key, keep="last")[[*key, "update", "chosen"]].merge(by_split, on=key)
    table = table.sort_values(key, key=lambda column: column.astype(int))
    return {
        **points.iloc[0][ARM].to_dict(),
        "drawing": study.drawing(svg),
        "points": Table(table.to_dict("records"), study.link(data)),
        "tested": "test" in by_split,
        "n_seeds": study.distinct(data, "seed", split="valid"),
        "several": valid["seed"].nunique() > 1,
        "chosen": valid[valid["chosen"] == "true"].to_dict("records"),
        # (epoch, values of the seeds in ascending order)
        "ends": [
            (epoch, sorted(valid[valid["epoch"] == epoch][study.lead.curve], key=float))
            for epoch in dict.fromkeys((epochs[0], epochs[-1]))
        ],
    }
