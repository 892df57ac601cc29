"""All arms over training: as measured, and the best so far."""

import os

CHAPTER, PLACE = "Results", 40
# With more arms there is no paragraph of their numbers: the lowest and the highest that ended alike are named.
MOST_TOLD = 6


def facts(study):
    """All arms over training: as measured, and the best so far."""
    if not study.has("all_curves"):
        return None
    data = {os.path.splitext(path)[0]: path for path in study.paths("all_curves_data")}
    figures = []
    for svg in study.paths("all_curves"):
        place = os.path.splitext(svg)[0]
        points = study.read(data[place])
        figures.append(
            {
                "measure": os.path.basename(place),
                "drawing": study.drawing(svg),
                "points_href": study.link(data[place]),
                "ends": last_points(points),
            }
        )
    return {"figures": figures}


def last_points(points):
    """Return {split: [the last rows of the arms that ended alike]}: after one epoch and update, with as many seeds.

    Each is {rows, between}: of many arms the rows are the lowest and the highest, and the others lie between.
    """
    last = points.drop_duplicates(["arm", "split"], keep="last")
    return {
        split: [told_ends(rows) for _, rows in of_split.groupby(["epoch", "update", "n_seeds"], sort=False)]
        for split, of_split in last.groupby("split", sort=False)
    }


def told_ends(rows):
    """Return the named arms among those that ended alike; see `last_points`."""
    between = len(rows) > MOST_TOLD
    if between:
        rows = rows.sort_values("mean", key=lambda column: column.astype(float), kind="stable").iloc[[0, -1]]
    return {"rows": rows.to_dict("records"), "between": between}
