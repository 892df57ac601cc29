"""The leading measure by amount of training material: labelled reviews, updates of pretraining."""

from analysis.looks import PALETTE
from finetuning.learning_curves import REVIEWS
from report import charts
from report.inputs import Table

CHAPTER, PLACE = "Results", 30
# The simple models that are drawn, and their line styles.
SIMPLE = {"tfidf_words": "2 3", "tfidf_characters": "7 4"}
LEFT, RIGHT, TOP, BOTTOM = 44, charts.WIDTH - 14, 8, 200
# Distances between the dots of two starts, and between two lines of the legend.
APART, LINE = 4, 17


def facts(study):
    """The leading measure by amount of training material: labelled reviews, updates of pretraining."""
    if not study.has("learning_curve_means", "learning_curve_runs", "learning_curve_figure", "baselines"):
        return None
    means, seeds = study.table("learning_curve_means"), study.table("learning_curve_runs")
    simple = study.table("learning_curve_baselines") if study.has("learning_curve_baselines") else None
    curves = []
    for name in dict.fromkeys(row["curve"] for row in means.rows):
        of_curve = [row for row in means.rows if row["curve"] == name]
        dots = [row for row in seeds.rows if row["curve"] == name]
        bars = simple if name == REVIEWS and simple else study.table("baselines")
        bars = [row for row in bars.rows if row["baseline"] in SIMPLE]
        curves.append(
            {
                "name": name,
                "by_reviews": name == REVIEWS,
                "chart": draw(name, of_curve, dots, bars, study.lead),
                "starts": ends(of_curve, "start"),
                "simple": ends(bars, "baseline") if len({row["n_train"] for row in bars}) > 1 else [],
                "rows": Table(of_curve, means.href),
            }
        )
    return {
        "curves": curves,
        "level": means.rows[0]["level"],
        "drawing": study.drawing(study.path("learning_curve_figure")),
        "seeds_href": seeds.href,
        "simple": simple,
    }


def ends(rows, column):
    """Return the first and the last row of each text in a column."""
    found = {}
    for row in rows:
        found.setdefault(row[column], {"first": row})["last"] = row
    return list(found.values())


def draw(name, means, seeds, bars, lead):
    """Return the chart of one curve.

    Args:
        name: name of the curve.
        means, seeds: its rows of learning_curves/means.tsv and learning_curves/runs.tsv.
        bars: rows of simple models: by labelled reviews, or of all reviews.
        lead: `report.leading.Shown`.
    """
    amounts = sorted({float(row["amount"]) for row in means})
    kind = charts.LogScale if name == REVIEWS else charts.Scale
    room = (amounts[0] / 1.2, amounts[-1] * 1.2) if name == REVIEWS else charts.padded(amounts, 0.03)
    x = kind(*room, LEFT, RIGHT)
    values = [row[lead.test] for row in (*seeds, *bars)] + [row["mean"] for row in means]
    y = charts.Scale(*charts.padded(values), BOTTOM, TOP)
    starts = list(dict.fromkeys(row["start"] for row in means))
    parts, legend = (
        [charts.amount_ticks(x, amounts, TOP, BOTTOM), charts.vertical_ticks(y, LEFT, RIGHT, lead.scale)],
        [],
    )
    for model, dashes in SIMPLE.items():
        of_model = [row for row in bars if row["baseline"] == model]
        parts.append(simple_line(of_model, model, dashes, name == REVIEWS and len(of_model) > 1, (x, y), lead))
        legend.append((f"TF-IDF, {model.removeprefix('tfidf_')}", None, dashes))
    for place, start in enumerate(starts):
        side = APART * (place - (len(starts) - 1) / 2)
        beside, colour = kind(x.low, x.high, x.start + side, x.end + side), PALETTE[place % len(PALETTE)]
        of_model, dots = ([row for row in rows if row["start"] == start] for rows in (means, seeds))
        parts += start_line(name, of_model, dots, colour, (beside, y), lead)
        legend.append((start, colour, None))
    parts.append(charts.tag("text", name, class_="axis", x=charts.WIDTH / 2, y=BOTTOM + 32.0))
    for line, (words, colour, dashes) in enumerate(legend[len(SIMPLE) :] + legend[: len(SIMPLE)]):
        height = BOTTOM + 54.0 + LINE * line
        look = {"stroke": colour, "class_": "run"} if colour else {"class_": "simple", "stroke_dasharray": dashes}
        parts.append(charts.tag("line", x1=float(LEFT), x2=LEFT + 22.0, y1=height - 4, y2=height - 4, **look))
        parts.append(charts.tag("text", words, class_="name plain", x=LEFT + 30.0, y=height))
    return charts.chart(BOTTOM + 58 + LINE * len(legend), f"Test {lead.chart} by what an arm learns from", *parts)


def through(rows, column, amount, scales, **look):
    """Return a line through the places of rows."""
    x, y = scales
    points = [(charts.shown(x(row[amount])), charts.shown(y(row[column]))) for row in rows]
    path = "M" + "L".join(f"{across} {down}" for across, down in points)
    return charts.tag("path", d=path, data_through="", **look)


def start_line(name, means, seeds, colour, scales, lead):
    """Return one start's groups: the line through its means, and a dot for each seed."""
    x, y = scales
    where = {"curve": name, "start": means[0]["start"]}
    words = f"{charts.unbraced(means[0]['start'])}, {{amount|integer}} {name}"

    def dot(column, size):
        def made(row):
            return "circle", {"cx": x(row["amount"]), "cy": y(row[column]), "r": size}, None

        return made

    line = through(means, "mean", "amount", scales, class_="run", stroke=colour)
    return [
        charts.group(
            dot("mean", 2), means, f"{words}: mean of {{n_seeds}} seeds {{mean{lead.says}",
            {"cx": "amount", "cy": "mean"}, x=x, y=y, where=where, before=line, fill=colour,
        ),
        charts.group(
            dot(lead.test, charts.DOT), seeds, f"{words}, seed {{seed}}: {{{lead.test}{lead.says}",
            {"cx": "amount", "cy": lead.test}, x=x, y=y, where=where, fill=colour,
        ),
    ]  # fmt: skip


def simple_line(rows, model, dashes, by_reviews, scales, lead):
    """Return a simple model's group: a line through its accuracies, or of all reviews one across the chart."""
    x, y = scales
    words = f"{{features}}, {{n_train|integer}} labelled reviews: {{{lead.test}{lead.says}"

    def dot(row):
        return "circle", {"cx": x(row["n_train"]), "cy": y(row[lead.test]), "r": 2}, None

    def across(row):
        height = y(row[lead.test])
        attributes = {"x1": float(LEFT), "x2": float(RIGHT), "y1": height, "y2": height}
        return "line", attributes | {"class": "simple", "stroke-dasharray": dashes}, None

    if by_reviews:
        line = through(rows, lead.test, "n_train", scales, class_="simple", stroke_dasharray=dashes)
        return charts.group(
            dot, rows, words, {"cx": "n_train", "cy": lead.test}, x=x, y=y, where={"baseline": model},
            before=line, class_="simple-dots",
        )  # fmt: skip
    at = {"y1": lead.test, "y2": lead.test}
    return charts.group(across, rows, words, at, y=y, where={"baseline": model})
