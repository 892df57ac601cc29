"""The chart of seeds: for each arm a dot a seed, below them the mean and its interval."""

import dataclasses
from collections.abc import Callable

from report import charts
from report.leading import Shown

# The width of a bold letter of 13 pixels, rather too much.
LETTER = 7.5


@dataclasses.dataclass
class Strip:
    """One arm of one study.

    Attributes:
        name: for readers.
        place: the arm's number among the page's switches.
        colour: `#RRGGBB`.
        seeds: rows of runs.tsv.
        where: {column: text} that selects them in their file.
        spread: row with n_seeds, mean, t_low and t_high; None with one seed.
        spread_where: the same for that row's file; None where the row is computed from `seeds`.
        link: function of a run that returns where its dot leads; None: nowhere.
    """

    name: str
    place: int
    colour: str
    seeds: list
    where: dict
    spread: dict | None
    spread_where: dict | None = None
    link: Callable | None = None


def strip_chart(strips, label, share=None, lead=None, simple=()):
    """Return the chart of all strips.

    Args:
        strips: list of `Strip`.
        label: what it shows.
        share: the largest class's, drawn as a dotted line.
        lead: `report.leading.Shown`; None: that of a study that names none.
        simple: rows of baselines.tsv, each drawn as a dashed line.
    """
    lead = lead or Shown()
    values = [run[lead.test] for strip in strips for run in strip.seeds]
    values += [strip.spread[name] for strip in strips if strip.spread for name in ("t_low", "t_high")]
    values += [row[lead.test] for row in simple]
    x = charts.Scale(*charts.padded(values + ([share] if share else [])), 8, charts.WIDTH - 8)
    parts, top = [], 6.0
    for strip in strips:
        made, bottom = drawn(strip, x, top, lead)
        parts.append(made)
        top = bottom + 10
    line = charts.tag("line", class_="majority", x1=x(share), x2=x(share), y1=4.0, y2=top) if share else ""
    axis = charts.horizontal_ticks(x, 4, top, unit=lead.scale)
    unit = charts.tag("text", f"test {lead.axis}", class_=lead.axis_class, x=charts.WIDTH / 2, y=top + 30.0)
    return charts.chart(top + 36, label, axis, line, *baselines(simple, x, top, lead), *parts, unit)


def baselines(rows, x, bottom, lead):
    """Return the lines of the simple models, a group for each row of the file."""

    def line(row):
        at = x(row[lead.test])
        return "line", {"x1": at, "x2": at, "y1": 4.0, "y2": bottom, "class": "baseline"}, None

    words = f"{{features}}: {{{lead.test}{lead.says}"
    at = {"x1": lead.test, "x2": lead.test}
    return [charts.group(line, [row], words, at, x=x, where={"baseline": row["baseline"]}) for row in rows]


def drawn(strip, x, top, lead):
    """Return (a strip's part of the chart, its lower end)."""
    steps = dict(
        zip(
            (id(run) for run in strip.seeds),
            charts.spread([x(run[lead.test]) for run in strip.seeds]),
            strict=True,
        )
    )
    room = max(map(abs, steps.values())) * charts.DOT * 2
    middle = top + 22 + room
    name = charts.unbraced(strip.name)

    def dot(run):
        at = x(run[lead.test])
        attributes = {"cx": at, "cy": middle + steps[id(run)] * charts.DOT * 2, "r": charts.DOT, "fill": strip.colour}
        return "circle", attributes, strip.link and strip.link(run)

    def whisker(row):
        height = middle + room + 11.0
        attributes = {"x1": x(row["t_low"]), "x2": x(row["t_high"]), "y1": height, "y2": height, "stroke": strip.colour}
        return "line", attributes | {"class": "span"}, None

    def mean(row):
        attributes = {"x1": x(row["mean"]), "x2": x(row["mean"]), "y1": middle + room + 5.0, "y2": middle + room + 17.0}
        return "line", attributes | {"class": "mean"}, None

    dots = charts.group(
        dot, strip.seeds, f"{name}, seed {{seed}}: {{{lead.test}{lead.says}", {"cx": lead.test}, x=x,
        where=strip.where,
    )  # fmt: skip
    several = [strip.spread] if strip.spread else []
    spans = charts.group(
        whisker, several, f"{name}: t-interval of the mean {{t_low{lead.bare} to {{t_high{lead.says}",
        {"x1": "t_low", "x2": "t_high"}, x=x, where=strip.spread_where,
    )  # fmt: skip
    means = charts.group(
        mean, several, f"{name}: mean of {{n_seeds}} seeds {{mean{lead.says}", {"x1": "mean", "x2": "mean"}, x=x,
        where=strip.spread_where,
    )  # fmt: skip
    # The lines of the largest class and of simple models end at a name's plate.
    corners = f"M6 {charts.shown(top - 3)} h{charts.shown(LETTER * len(strip.name) + 8)} v18 H6 z"
    plate = charts.tag("path", class_="plate", d=corners)
    label = charts.tag("text", strip.name, class_="name", x=10.0, y=top + 10)
    return charts.tag("g", charts.joined([plate, label, spans, means, dots]), data_arm=strip.place), middle + room + 18
