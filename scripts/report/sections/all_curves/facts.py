"""All arms over training: as measured, and the best so far."""

import os

import frameworks
from report import charts
from report.arm_colours import coloured
from report.inputs import Table

CHAPTER, PLACE = "Results", 40
# Charts over training: split, metric, title, name of a value in a mark's words, factor of the axis.
PANELS = (
    ("train", "loss", "Training loss (nats)", "{value|decimals,3} nats", 1),
    ("valid", "loss", "Validation loss (nats)", "{value|decimals,3} nats", 1),
)
# With more points the page would be heavy, so only means are drawn.
MOST_MARKS = 8000
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
                "points": Table(points.to_dict("records"), study.link(data[place])),
                "ends": last_points(points),
            }
        )
    return {"figures": figures, "panels": panels(study), "history_href": study.href("history")}


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


def leading_panels(lead):
    """Return the panels of the measure that leads, as in `PANELS`, which has those of loss already."""
    splits = {"valid": "Validation", "test": "Test"}
    known = {row[:2] for row in PANELS}
    facts = (f"{{value{lead.says}", lead.scale)
    return [
        (split, lead.name, f"{name} {lead.axis}", *facts)
        for split, name in splits.items()
        if (split, lead.name) not in known
    ]


def panels(study):
    """Return a chart for each panel that the study has: a line and dots for each run, over updates."""
    history, runs = study.frame("history"), study.frame("runs")
    history = history[history["framework"].isin(frameworks.having("CHECKPOINTS"))]
    colours = (study.settings.get("report") or {}).get("colours")
    looks = coloured(runs.to_dict("records"), colours)
    chosen = {(run["arm"], run["seed"]): run["best_epoch"] for run in runs.to_dict("records")}
    found = []
    for split, metric, title, words, unit in (*leading_panels(study.lead), *PANELS):
        if not study.lead.counted:
            # The loss of numbers is a squared distance.
            title, words = title.replace(" (nats)", ""), words.replace(" nats", "")
        rows = history[(history["split"] == split) & (history["metric"] == metric)]
        if rows.empty or len(rows) > MOST_MARKS:
            continue
        x = charts.Scale(0, max(map(float, rows["update"])), 44, charts.WIDTH - 10)
        y = charts.Scale(*charts.padded(rows["value"]), 200, 8)
        lines = []
        for _, of_run in rows.groupby(["arm", "seed"], sort=False):
            points = of_run.to_dict("records")
            key, seed = points[0]["arm"], points[0]["seed"]
            where = {"arm": key, "seed": seed, "split": split, "metric": metric}
            lines.append(run_line(points, words, (x, y), where, chosen[key, seed], looks[key]))
        decimals = 0 if unit == 100 and y.high - y.low > 0.03 else 2
        axes = [
            charts.horizontal_ticks(x, 8, 200),
            charts.vertical_ticks(y, 44, charts.WIDTH - 10, unit, decimals),
            charts.tag("text", "update", class_="axis", x=charts.WIDTH / 2, y=230.0),
        ]
        found.append(
            (title, charts.chart(236, f"{title}, every run".replace(study.lead.label, study.lead.chart), *axes, *lines))
        )
    return found


def run_line(rows, words, scales, where, chosen, look):
    """Return one run's line with its dots, that of the chosen epoch larger."""
    (x, y), (place, name, colour) = scales, look

    def dot(row):
        return "circle", {"cx": x(row["update"]), "cy": y(row["value"]), "r": 4 if row["epoch"] == chosen else 2}, None

    points = [(charts.shown(x(row["update"])), charts.shown(y(row["value"]))) for row in rows]
    path = "M" + "L".join(f"{across} {down}" for across, down in points)
    line = charts.tag("path", class_="run", d=path, stroke=colour, data_through="")
    name = charts.unbraced(name)
    return charts.group(
        dot, rows, f"{name}, seed {{seed}}, epoch {{epoch}}, update {{update}}: {words}",
        {"cx": "update", "cy": "value"}, x=x, y=y, where=where, before=line, data_arm=place, fill=colour,
    )  # fmt: skip
