"""The forest plot of the questions: for each its difference, interval and margin; those of one unit share an axis."""

from report import charts

WIDTH, HEIGHT, AXIS = 320, 28, 18


def forest(rows, label):
    """Return the chart of each question, in order: numbers are below the last one of each unit.

    Args:
        rows: questions as `report.asked.answered` returns them.
        label: what a chart shows, without numbers.
    """
    units = [row["unit"] or row["measure"] for row in rows]
    scales = {unit: scale_of([row for row, its in zip(rows, units, strict=True) if its == unit]) for unit in units}
    last = {unit: place for place, unit in enumerate(units)}
    return [
        drawn(row, scales[unit], last[unit] == place, label)
        for place, (row, unit) in enumerate(zip(rows, units, strict=True))
    ]


def scale_of(rows):
    """Return the axis of questions of one unit; 0 and every margin are on it."""
    ends = [row[name] for row in rows for name in ("score_difference", *interval_of(row)) if row[name]]
    margins = [sign * float(row["equal_within"]) for row in rows if row["equal_within"] for sign in (-1, 1)]
    return charts.Scale(*charts.padded([*ends, *margins, 0]), 8, WIDTH - 8)


def interval_of(row):
    """Return the columns of a question's interval; a question of one seed has none."""
    return ("score_difference_low", "score_difference_high") if row["score_difference_low"] else ()


def drawn(row, x, with_axis, label):
    """Return the chart of one question."""
    middle, where = HEIGHT / 2, {"ask": row["ask"], "contrast": row["contrast_cell"], "measure": row["measure"]}
    form, unit = ("|points", " points") if row["share"] else ("|decimals,3", row["unit"])

    def line(left, right, **look):
        return lambda one: ("line", {"x1": left(one), "x2": right(one), "y1": middle, "y2": middle, **look}, None)

    def dot(one):
        return "circle", {"cx": x(one["score_difference"]), "cy": middle, "r": charts.DOT}, None

    def at(column):
        return lambda one: x(one[column])

    margin = charts.group(
        line(lambda one: x(-float(one["equal_within"])), at("equal_within"), class_="margin"),
        [row] if row["equal_within"] else [],
        f"equal within {{equal_within{form.replace('points', 'percent')}}}{unit}",
        {"x2": "equal_within"}, x=x, where=where,
    )  # fmt: skip
    span = charts.group(
        line(at("score_difference_low"), at("score_difference_high"), class_="mean"),
        [row] if interval_of(row) else [],
        f"{{level|percent,0}} % interval {{score_difference_low{form}}} to {{score_difference_high{form}}}{unit}",
        {"x1": "score_difference_low", "x2": "score_difference_high"}, x=x, where=where,
    )  # fmt: skip
    value = charts.group(
        dot, [row], f"{{score_difference{form}}}{unit}", {"cx": "score_difference"}, x=x, where=where, class_="gap"
    )
    zero = charts.tag("line", class_="majority", x1=x(0), x2=x(0), y1=0.0, y2=float(HEIGHT))
    axis = charts.horizontal_ticks(x, 0, HEIGHT, unit=100 if row["share"] else 1) if with_axis else ""
    height = HEIGHT + (AXIS if with_axis else 0)
    return charts.chart(height, label, axis, margin, zero, span, value, width=WIDTH)
