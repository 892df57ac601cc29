"""The leading measure by epoch, one figure an arm."""

import os

from common.arms import ARM

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
    """Return an arm's figure and the link to its points by seed and epoch."""
    return {
        **study.read(data).iloc[0][ARM].to_dict(),
        "drawing": study.drawing(svg),
        "points_href": study.link(data),
    }
