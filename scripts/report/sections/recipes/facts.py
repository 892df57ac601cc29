"""What validation chose of each start's recipes."""

from analysis.looks import PALETTE
from finetuning.recipes import OWN, SAME
from report import charts
from report.inputs import Table
from report.shown import unshown

CHAPTER, PLACE = "Results", 20
COLOURS = {"pretrained": PALETTE[0], "random": PALETTE[1]}
# Left, right; accuracies from, to; differences from, to; all of the panel.
LEFT, RIGHT, TOP, MIDDLE, BELOW, BOTTOM, HEIGHT = 44, charts.WIDTH - 10, 26, 190, 232, 330, 372
# Between the two starts' dots at one rate, in units of the view box.
APART = 4


def facts(study):
    """What validation chose of each start's recipes.

    Returns:
        dict: `alone`, the starts that are told by themselves; `starts`, every two starts by their own recipes, where
        there are such; `pairs`, two starts that share recipes, with whether their difference depends on the recipe.
        None: no start has several.
    """
    if not study.has("recipes", "recipe_runs"):
        return None
    table, differing = study.table("recipes"), ("recipe_differences", "recipe_interactions")
    found = {"pairs": [], "starts": None, "n_valid": table.rows[0]["n_valid"]}
    if study.has(*differing, "recipe_figure"):
        tables = {name: study.table(name) for name in ("recipes", *differing, "recipe_runs")}
        names = dict.fromkeys(row["pair"] for row in tables["recipe_differences"].rows)
        found |= {
            "pairs": [one_pair(study, pair, tables) for pair in names],
            "drawing": study.drawing(study.path("recipe_figure")),
            "runs_href": tables["recipe_runs"].href,
            "n_tests": study.count(study.path("recipe_differences")),
        }
    if study.has("recipe_starts"):
        found |= {"starts": study.table("recipe_starts"), "n_starts": study.count(study.path("recipe_starts"))}
    told = {one["pair"] for one in found["pairs"]}
    rest = [row for row in table.rows if row["pair"] not in told]
    return found | {"alone": alone(study, rest), "arms": Table(rest, table.href)}


def alone(study, rows):
    """Return each start's own recipe: the row that validation chose, and how many recipes there were.

    Args:
        study: the study's files.
        rows: of recipes.tsv.
    """
    return [
        {
            "best": row,
            "n_tried": study.count(study.path("recipes"), start=row["start"]),
            "arms": {other["arm"] for other in rows if other["start"] == row["start"]},
        }
        for row in rows
        if row["best"] == "true"
    ]


def one_pair(study, pair, tables):
    """Return what is said of one pair of starts.

    Args:
        study: the study's files.
        pair: name of the pair.
        tables: {input: `Table`}.
    """
    arms, differing, interacting, seeds = (
        [row for row in table.rows if row["pair"] == pair] for table in tables.values()
    )
    shared = [row for row in differing if row["comparison"] == SAME]
    best = {row["init"]: row for row in arms if row["best"] == "true"}
    own = next(row for row in differing if row["comparison"] == OWN)
    return {
        "pair": pair,
        "answer": judge(interacting),
        "lowest": min(shared, key=lambda row: float(row["difference"])),
        "highest": max(shared, key=lambda row: float(row["difference"])),
        "n_twos": study.count(study.path("recipe_interactions"), pair=pair),
        "best": best,
        "tied": [row for row in best.values() if row["n_tied"] != "1"],
        "own": own | {"reason": unshown(own)},
        "panels": panels(arms, shared, seeds),
        "arms": Table(arms, tables["recipes"].href),
        "differences": Table(shared, tables["recipe_differences"].href),
        "interactions": Table(interacting, tables["recipe_interactions"].href),
    }


def judge(interacting):
    """Return whether the difference depends on the recipe: name of the answer, its CSS class, the two that show it.

    It does where the joint interval of what two recipes' differences differ by leaves 0 out; of several, the two
    recipes that are furthest apart are named.

    Args:
        interacting: rows of recipes/interactions.tsv of one pair of starts.
    """
    if not interacting:
        return {"name": "single", "class": "open"}
    if not all(row["joint_low"] for row in interacting):
        return {"name": "undecided", "class": "open"}
    apart = [row for row in interacting if float(row["joint_low"]) > 0 or float(row["joint_high"]) < 0]
    if not apart:
        return {"name": "not_shown", "class": "open"}
    return {"name": "depends", "class": "shown", "two": max(apart, key=lambda row: abs(float(row["interaction"])))}


def panels(arms, shared, seeds):
    """Return (epochs, chart) for each number of epochs, all with the same axes."""
    rates = sorted({float(row["peak_lr"]) for row in arms})
    x = charts.LogScale(rates[0] / 1.5, rates[-1] * 1.5, LEFT, RIGHT)
    accuracies = [row["test_accuracy"] for row in seeds] + [row["mean"] for row in arms]
    y = charts.Scale(*charts.padded(accuracies), MIDDLE, TOP)
    ends = [row[name] for row in shared for name in ("difference", "joint_low", "joint_high") if row[name]]
    z = charts.Scale(*charts.padded([*ends, 0]), BOTTOM, BELOW)
    found = []
    for epochs in sorted({row["epochs"] for row in arms}, key=int):
        of = [[row for row in rows if row["epochs"] == epochs] for rows in (arms, shared, seeds)]
        found.append((of[0][0]["epochs"], panel(*of, rates, (x, y, z))))
    return found


def panel(arms, shared, seeds, rates, scales):
    """Return one panel: above both starts' seeds and means, below the differences."""
    x, y, z = scales
    parts = [
        charts.rate_ticks(x, rates, TOP, MIDDLE),
        charts.vertical_ticks(y, LEFT, RIGHT, 100),
        charts.rate_ticks(x, rates, BELOW, BOTTOM),
        charts.vertical_ticks(z, LEFT, RIGHT, 100),
        charts.tag("line", class_="majority", x1=float(LEFT), x2=float(RIGHT), y1=z(0), y2=z(0)),
        charts.tag("text", "pretrained minus random (points)", class_="name plain", x=float(LEFT), y=BELOW - 6.0),
        charts.tag("text", "learning rate", class_="axis", x=charts.WIDTH / 2, y=BOTTOM + 32.0),
    ]
    for place, (init, side) in enumerate((("pretrained", -APART), ("random", APART))):
        # Beside each other, each exact on an axis of its own.
        beside = charts.LogScale(x.low, x.high, x.start + side, x.end + side)
        own = [[row for row in rows if row["init"] == init] for rows in (arms, seeds)]
        parts += start(*own, COLOURS[init], (beside, y))
        key = LEFT + 6.0 + 120 * place
        parts.append(charts.tag("circle", class_="key", cx=key, cy=10.0, r=charts.DOT, fill=COLOURS[init]))
        parts.append(charts.tag("text", init, class_="name plain", x=key + 10, y=14.0))
    parts += gaps(shared, (x, z))
    return charts.chart(HEIGHT, "Test accuracy and the difference between starts by learning rate", *parts)


def start(arms, seeds, colour, scales):
    """Return one start's groups: the line through its means, and a dot for each seed."""
    x, y = scales
    arms = sorted(arms, key=lambda row: float(row["peak_lr"]))
    if not arms:
        return []
    where = {"start": arms[0]["start"], "epochs": arms[0]["epochs"]}
    name = charts.unbraced(arms[0]["start"])
    recipe = "learning rate {peak_lr|rate}, {epochs} epochs"

    def dot(size):
        def made(row):
            value = row["test_accuracy"] if "test_accuracy" in row else row["mean"]
            return "circle", {"cx": x(row["peak_lr"]), "cy": y(value), "r": size}, None

        return made

    points = [(charts.shown(x(row["peak_lr"])), charts.shown(y(row["mean"]))) for row in arms]
    line = charts.tag(
        "path", class_="run", d="M" + "L".join(f"{a} {b}" for a, b in points), stroke=colour, data_through=""
    )
    means = charts.group(
        dot(2), arms,
        f"{name}, {recipe}: mean of {{n_seeds}} seeds {{mean|percent}} %, validation {{valid_mean|percent}} %",
        {"cx": "peak_lr", "cy": "mean"}, x=x, y=y, where=where, before=line, fill=colour,
    )  # fmt: skip
    dots = charts.group(
        dot(charts.DOT), seeds, f"{name}, {recipe}, seed {{seed}}: {{test_accuracy|percent}} %",
        {"cx": "peak_lr", "cy": "test_accuracy"}, x=x, y=y, where=where, fill=colour,
    )  # fmt: skip
    return [means, dots]


def gaps(shared, scales):
    """Return the differences' groups: the joint intervals, the intervals, the differences."""
    if not shared:
        return []
    x, z = scales
    where = {name: shared[0][name] for name in ("pair", "comparison", "epochs")}
    words = "learning rate {peak_lr|rate}, {epochs} epochs: "

    def span(low, high, look):
        def made(row):
            across = x(row["peak_lr"])
            return "line", {"x1": across, "x2": across, "y1": z(row[low]), "y2": z(row[high]), "class": look}, None

        return made

    def dot(row):
        return "circle", {"cx": x(row["peak_lr"]), "cy": z(row["difference"]), "r": charts.DOT}, None

    measured = [row for row in shared if row["low"]]
    found = [
        charts.group(
            span(low, high, look), measured, f"{words}{kind} {{{low}|points}} to {{{high}|points}} points",
            {"x1": "peak_lr", "x2": "peak_lr", "y1": low, "y2": high}, x=x, y=z, where=where,
        )
        for low, high, look, kind in (
            ("joint_low", "joint_high", "joint", "joint interval"), ("low", "high", "mean", "interval")
        )
    ]  # fmt: skip
    at = {"cx": "peak_lr", "cy": "difference"}
    says = f"{words}{{difference|points}} points"
    return [*found, charts.group(dot, shared, says, at, x=x, y=z, where=where, class_="gap")]
