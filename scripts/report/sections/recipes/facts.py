"""The recipes that validation chose for each start."""

from analysis.looks import PALETTE
from report import charts
from report.inputs import Table

CHAPTER, PLACE = "Results", 20
# A grid may vary these columns of recipes.tsv.
VARIED = {"peak_lr": "learning rate", "epochs": "number of epochs"}
COLOURS = {"pretrained": PALETTE[0], "random": PALETTE[1]}
# Places in the panel: left, right; accuracies from, to; differences from, to.
LEFT, RIGHT, TOP, MIDDLE, BELOW, BOTTOM, HEIGHT = 44, charts.WIDTH - 10, 26, 190, 232, 330, 372
# The distance between the two starts' dots at one rate, in units of the view box.
APART = 4


def facts(study):
    """The recipes that validation chose for each start.

    Returns:
        dict: `varied`, what the recipes differ in; `arms`, every start that is in no pair; `pairs`, two starts that
        share recipes. None: no start has several recipes.
    """
    if not study.has("recipes", "recipe_runs"):
        return None
    table, differing = study.table("recipes"), ("recipe_differences", "recipe_interactions")
    varied = [name for column, name in VARIED.items() if len({float(row[column]) for row in table.rows}) > 1]
    found = {"pairs": [], "n_valid": table.rows[0]["n_valid"], "arms": table, "varied": varied}
    if study.has(*differing, "recipe_figure"):
        tables = {name: study.table(name) for name in ("recipes", *differing, "recipe_runs")}
        names = dict.fromkeys(row["pair"] for row in tables["recipe_differences"].rows)
        found |= {
            "pairs": [one_pair(pair, tables, study.lead) for pair in names],
            "drawing": study.drawing(study.path("recipe_figure")),
            "runs_href": tables["recipe_runs"].href,
        }
    paired = {one["pair"] for one in found["pairs"]}
    return found | {"alone": Table([row for row in table.rows if row["pair"] not in paired], table.href)}


def one_pair(pair, tables, lead):
    """Return the tables of one pair of starts, its panels, and the row that validation chose of each start.

    Args:
        pair: name of the pair.
        tables: {input: `Table`}.
        lead: `report.leading.Shown`.
    """
    arms, shared, interacting, seeds = ([row for row in table.rows if row["pair"] == pair] for table in tables.values())
    return {
        "pair": pair,
        "best": {row["init"]: row for row in arms if row["best"] == "true"},
        "panels": panels(arms, shared, seeds, lead),
        "arms": Table(arms, tables["recipes"].href),
        "differences": Table(shared, tables["recipe_differences"].href),
        "interactions": Table(interacting, tables["recipe_interactions"].href),
    }


def panels(arms, shared, seeds, lead):
    """Return (epochs, chart) for each number of epochs, all with the same axes."""
    rates = sorted({float(row["peak_lr"]) for row in arms})
    x = charts.LogScale(rates[0] / 1.5, rates[-1] * 1.5, LEFT, RIGHT)
    values = [row[lead.test] for row in seeds] + [row["mean"] for row in arms]
    y = charts.Scale(*charts.padded(values), MIDDLE, TOP)
    ends = [row[name] for row in shared for name in ("difference", "joint_low", "joint_high") if row[name]]
    z = charts.Scale(*charts.padded([*ends, 0]), BOTTOM, BELOW)
    found = []
    for epochs in sorted({row["epochs"] for row in arms}, key=int):
        of_epochs = [[row for row in rows if row["epochs"] == epochs] for rows in (arms, shared, seeds)]
        found.append((of_epochs[0][0]["epochs"], panel(*of_epochs, rates, (x, y, z), lead)))
    return found


def panel(arms, shared, seeds, rates, scales, lead):
    """Return one panel: above both starts' seeds and means, below the differences."""
    x, y, z = scales
    parts = [
        charts.rate_ticks(x, rates, TOP, MIDDLE),
        charts.vertical_ticks(y, LEFT, RIGHT, lead.scale),
        charts.rate_ticks(x, rates, BELOW, BOTTOM),
        charts.vertical_ticks(z, LEFT, RIGHT, lead.scale),
        charts.tag("line", class_="majority", x1=float(LEFT), x2=float(RIGHT), y1=z(0), y2=z(0)),
        charts.tag("text", f"pretrained minus random{lead.apart}", class_="name plain", x=float(LEFT), y=BELOW - 6.0),
        charts.tag("text", "learning rate", class_="axis", x=charts.WIDTH / 2, y=BOTTOM + 32.0),
    ]
    for place, (init, side) in enumerate((("pretrained", -APART), ("random", APART))):
        # They are side by side, each exact on a separate axis.
        beside = charts.LogScale(x.low, x.high, x.start + side, x.end + side)
        of_start = [[row for row in rows if row["init"] == init] for rows in (arms, seeds)]
        parts += start(*of_start, COLOURS[init], (beside, y), lead)
        key = LEFT + 6.0 + 120 * place
        parts.append(charts.tag("circle", class_="key", cx=key, cy=10.0, r=charts.DOT, fill=COLOURS[init]))
        parts.append(charts.tag("text", init, class_="name plain", x=key + 10, y=14.0))
    parts += gaps(shared, (x, z), lead)
    return charts.chart(HEIGHT, f"Test {lead.chart} and the difference between starts by learning rate", *parts)


def start(arms, seeds, colour, scales, lead):
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
            value = row[lead.test] if lead.test in row else row["mean"]
            return "circle", {"cx": x(row["peak_lr"]), "cy": y(value), "r": size}, None

        return made

    points = [(charts.shown(x(row["peak_lr"])), charts.shown(y(row["mean"]))) for row in arms]
    line = charts.tag(
        "path", class_="run", d="M" + "L".join(f"{a} {b}" for a, b in points), stroke=colour, data_through=""
    )
    means = charts.group(
        dot(2), arms,
        f"{name}, {recipe}: mean of {{n_seeds}} seeds {{mean{lead.says}, validation {{valid_mean{lead.says}",
        {"cx": "peak_lr", "cy": "mean"}, x=x, y=y, where=where, before=line, fill=colour,
    )  # fmt: skip
    dots = charts.group(
        dot(charts.DOT), seeds, f"{name}, {recipe}, seed {{seed}}: {{{lead.test}{lead.says}",
        {"cx": "peak_lr", "cy": lead.test}, x=x, y=y, where=where, fill=colour,
    )  # fmt: skip
    return [means, dots]


def gaps(shared, scales, lead):
    """Return the differences' groups: the joint intervals, the intervals, the differences."""
    if not shared:
        return []
    x, z = scales
    where = {name: shared[0][name] for name in ("pair", "epochs")}
    words = "learning rate {peak_lr|rate}, {epochs} epochs: "
    gap = "|points" if lead.percent else "|decimals,3"

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
            span(low, high, look), measured, f"{words}{kind} {{{low}{gap}}} to {{{high}{gap}}}{lead.between}",
            {"x1": "peak_lr", "x2": "peak_lr", "y1": low, "y2": high}, x=x, y=z, where=where,
        )
        for low, high, look, kind in (
            ("joint_low", "joint_high", "joint", "joint interval"), ("low", "high", "mean", "interval")
        )
    ]  # fmt: skip
    at = {"cx": "peak_lr", "cy": "difference"}
    says = f"{words}{{difference{gap}}}{lead.between}"
    return [*found, charts.group(dot, shared, says, at, x=x, y=z, where=where, class_="gap")]
