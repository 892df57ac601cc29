"""Every arm over training, a small panel for each: the leading measure, and the loss in training and on validation."""

import frameworks
from report import charts
from report.arm_colours import coloured

PART, CHAPTER, PLACE = "report", "The answer", 20
# A panel, in units of its view box: three or four are side by side on a screen.
WIDTH, LEFT, TOP, BOTTOM = 250, 40, 8, 130
# With more points the page would be heavy.
MOST_MARKS = 8000
# With more arms their losses are folded away.
MOST_OPEN = 4


def facts(study):
    """Return the panels of each arm: [{title, lines, panels: [(arm, chart)]}]; None where no run has epochs."""
    history, runs = study.frame("history"), study.frame("runs")
    history = history[history["framework"].isin(frameworks.having("CHECKPOINTS"))]
    lead = study.lead
    # The loss of numbers is a squared distance.
    nats = " nats" if lead.counted else ""
    measures = [
        (lead.name, lead.title + lead.head, f"{{value{lead.says}", lead.scale, ("valid", "test")),
        ("loss", "Loss (nats)" if nats else "Loss", f"{{value|decimals,3}}{nats}", 1, ("valid", "train")),
    ]
    rows = [made for measure in measures if (made := panels_of(study, history, *measure))]
    many = runs["arm"].nunique() > MOST_OPEN
    return {"rows": rows, "history_href": study.href("history"), "many": many} if rows else None


def panels_of(study, history, metric, title, words, unit, splits):
    """Return the panels of a measure, on one pair of axes; None without values, or with too many."""
    rows = history[(history["metric"] == metric) & history["split"].isin(splits)]
    if rows.empty or len(rows) > MOST_MARKS:
        return None
    x = charts.Scale(0, max(map(float, rows["update"])), LEFT, WIDTH - 8)
    y = charts.Scale(*charts.padded(rows["value"]), BOTTOM, TOP)
    colours = (study.settings.get("report") or {}).get("colours")
    runs = study.frame("runs").to_dict("records")
    looks = coloured(runs, colours)
    chosen = {(run["arm"], run["seed"]): run["best_epoch"] for run in runs}
    decimals = 0 if unit == 100 and y.high - y.low > 0.03 else 1
    panels = []
    for arm, of_arm in rows.groupby("arm", sort=False):
        lines = [
            run_line(points.to_dict("records"), words, (x, y), metric, chosen[arm, seed], looks[arm])
            for (seed, _), points in of_arm.groupby(["seed", "split"], sort=False)
        ]
        axes = [
            charts.horizontal_ticks(x, TOP, BOTTOM, wanted=3),
            charts.vertical_ticks(y, LEFT, WIDTH - 8, unit, decimals),
        ]
        label = "Every run of an arm by update"
        panels.append((looks[arm], charts.chart(BOTTOM + 20, label, *axes, *lines, width=WIDTH)))
    return {"title": title, "splits": [split for split in splits if split in set(rows["split"])], "panels": panels}


def run_line(rows, words, scales, metric, chosen, look):
    """Return one run's line on one split with its dots, that of the chosen epoch larger."""
    (x, y), (place, name, colour) = scales, look
    split = rows[0]["split"]
    where = {"arm": rows[0]["arm"], "seed": rows[0]["seed"], "split": split, "metric": metric}

    def dot(row):
        radius = 3.4 if row["epoch"] == chosen and split == "valid" else 1.4
        return "circle", {"cx": x(row["update"]), "cy": y(row["value"]), "r": radius}, None

    path = "M" + "L".join(f"{charts.shown(x(row['update']))} {charts.shown(y(row['value']))}" for row in rows)
    kind = "run" if split == "valid" else "run other"
    line = charts.tag("path", class_=kind, d=path, stroke=colour, data_through="")
    return charts.group(
        dot, rows, f"{charts.unbraced(name)}, seed {{seed}}, epoch {{epoch}}, {split}: {words}",
        {"cx": "update", "cy": "value"}, x=x, y=y, where=where, before=line, data_arm=place, fill=colour,
    )  # fmt: skip
