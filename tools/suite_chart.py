"""The forest plot of one question: its difference on each set, and their mean."""

from report import charts

ROW, TOP = 34.0, 8.0


def forest(row, on_sets, pages, share):
    """Return the chart: for each set a dot and its interval, below them the mean over sets and what it leaves possible.

    Args:
        row: of the suite's questions.tsv, as `Value`s.
        on_sets: the rows of its sets.tsv.
        pages: {study: link to its page}.
        share: whether differences are shares, shown in points.
    """
    margins = [sign * float(row["equal_within"]) for sign in (1, -1) if row["equal_within"] != ""]
    ends = [one[f"score_difference{end}"] for one in on_sets for end in ("", "_low", "_high")]
    ends += [row[name] for name in ("score_difference", "low", "high", "others_low", "others_high")]
    values = [float(value) for value in ends if value != ""] + [0.0, *margins]
    x = charts.Scale(*charts.padded(values), 8, charts.WIDTH - 8)
    form, unit = ("|points}", " points") if share else ("|decimals,3}", "")
    places = {one["study"]: TOP + ROW * place for place, one in enumerate(on_sets)}
    bottom = TOP + ROW * len(on_sets)
    names = [charts.tag("text", one["study"], class_="name", x=10.0, y=places[one["study"]] + 12) for one in on_sets]
    shown = Marks(x, form, unit)
    parts = shown.drawn(
        on_sets,
        "{study}",
        ("score_difference", "score_difference_low", "score_difference_high"),
        lambda one: places[one["study"]] + 22,
        {"question": row["question"]},
        pages,
    )
    below = [("Mean over these sets", ("score_difference", "low", "high"))]
    if row["others_low"] != "":
        below.append(("Mean over sets like these", ("score_difference", "others_low", "others_high")))
    for name, columns in below:
        names.append(charts.tag("text", name, class_="name", x=10.0, y=bottom + 18))
        parts += shown.drawn([row], name, columns, lambda _, y=bottom + 28: y, {"question": row["question"]}, {})
        bottom += ROW + 4
    lines = [limit(x, 0.0, bottom, "joint"), *(limit(x, end, bottom, "majority") for end in margins)]
    axis = charts.horizontal_ticks(x, TOP - 4, bottom + 6, unit=100 if share else 1)
    label = "difference, points" if share else "difference"
    text = charts.tag("text", label, class_="axis", x=charts.WIDTH / 2, y=bottom + 36.0)
    return charts.chart(bottom + 42, "Difference on each set and over sets", axis, *lines, *names, *parts, text)


def limit(x, value, bottom, kind):
    """Return a vertical line at a number that bounds what is claimed: 0, or a margin."""
    return charts.tag("line", class_=kind, x1=x(value), x2=x(value), y1=TOP - 4, y2=bottom)


class Marks:
    """Draws dots with their intervals on one axis."""

    def __init__(self, x, form, unit):
        """Keep the axis, and how numbers are written."""
        self.x, self.form, self.unit = x, form, unit

    def drawn(self, rows, name, columns, height, where, pages):
        """Return the spans and dots of rows of one file.

        Args:
            rows: `Value`s.
            name: what a mark's title begins with.
            columns: of the difference and of the ends of its interval.
            height: function of a row.
            where: {column: text} that selects the rows in their file.
            pages: {study: link}; {}: none.
        """
        middle, low, high = columns
        said = f"{name}: {{{middle}{self.form}{self.unit}"

        def dot(one):
            attributes = {"cx": self.x(one[middle]), "cy": height(one), "r": charts.DOT, "class": "gap"}
            return "circle", attributes, pages.get(one.get("study"))

        def span(one):
            attributes = {"x1": self.x(one[low]), "x2": self.x(one[high]), "y1": height(one), "y2": height(one)}
            # The mean's is thicker than that of a set.
            look = {"class": "span"} if pages else {"stroke-width": 6, "opacity": 0.55}
            return "line", attributes | look | {"stroke": "currentColor"}, None

        with_ends = [one for one in rows if one[low] != ""]
        of_span = f"{said} (interval {{{low}{self.form} to {{{high}{self.form})"
        return [
            charts.group(span, with_ends, of_span, {"x1": low, "x2": high}, x=self.x, where=where),
            charts.group(dot, rows, said, {"cx": middle}, x=self.x, where=where),
        ]
