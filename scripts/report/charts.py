"""Charts of the page as inline SVG: each mark names its row, so that `check_report` can measure it against the file.

A group of marks says where its numbers lie, in attributes that `marks.py` reads again:

    data-file   file of the group's marks; data-where: `COLUMN=TEXT;...`, the rows that it must have a mark for
    data-at     `ATTRIBUTE=COLUMN ...`: which attribute of a mark is which number
    data-x      `VALUE PLACE VALUE PLACE`: two numbers and where they lie, ` log` behind them on a logarithmic axis;
                data-y likewise
    data-says   the title of every mark, with `{COLUMN|FORMAT,OPTION}` for a number, `{COLUMN/sum|FORMAT}` for its share
                of the group's sum; a text of class `says` after a mark has the same words

A mark has `data-row`, the line of the file. Where numbers are computed and lie in no file, the group has no
`data-file`, and a mark has `data-values`, `COLUMN=RECORD ...` with the grammar of `numbers.py`. The page's own colours
and words are CSS; no library draws here.
"""

import math
import re

from markupsafe import Markup, escape

from report.formats import FILTERS
from report.numbers import Value, quoted
from study.grids import written as rate

# The width of a whole chart, in units of its view box: a phone shows 350 pixels of page.
WIDTH = 420
DOT = 4.4


class Scale:
    """The places of numbers along an axis."""

    def __init__(self, low, high, start, end):
        """Place `low` at `start` and `high` at `end`."""
        self.low, self.high, self.start, self.end = float(low), float(high), start, end

    def __call__(self, value):
        """Return the place of a number."""
        return self.start + (float(value) - self.low) * (self.end - self.start) / (self.high - self.low)

    @property
    def record(self):
        """Return two numbers and their places."""
        return f"{self.low!r} {self.start} {self.high!r} {self.end}"

    def ticks(self, wanted=5):
        """Return about so many round numbers within the axis."""
        rough = (self.high - self.low) / wanted
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * size for size in (1, 2, 2.5, 5, 10) if power * size >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [round(place * step, 12) for place in range(first, math.floor(self.high / step + 1e-9) + 1)]


class LogScale(Scale):
    """The places of positive numbers along a logarithmic axis."""

    def __call__(self, value):
        """Return the place of a number."""
        low, high = math.log10(self.low), math.log10(self.high)
        return self.start + (math.log10(float(value)) - low) * (self.end - self.start) / (high - low)

    @property
    def record(self):
        """Return two numbers and their places, and the kind of axis."""
        return f"{super().record} log"


def padded(values, share=0.06):
    """Return (low, high) around numbers, with room at both ends."""
    values = [float(value) for value in values]
    low, high = min(values), max(values)
    room = (high - low or abs(high) or 1) * share
    return low - room, high + room


def shown(number):
    """Return a coordinate as text."""
    return f"{number:.2f}".rstrip("0").rstrip(".").replace("-0", "0" if number > -0.005 else "-0", 1)


def tag(name, content=None, **attributes):
    """Return an SVG element; `_` in a name becomes `-`; one at its end is dropped.

    A text with a record is written without it: a drawing's numbers are checked as marks.
    """
    content = content if content is None or isinstance(content, Markup) else str(content)
    inside = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(shown(value) if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{inside}/>" if content is None else f"<{name}{inside}>{escape(content)}</{name}>")


def joined(parts):
    """Return elements one after another."""
    return Markup("").join(parts)


def says(words, row, rows):
    """Return a mark's title: `{COLUMN|FORMAT,OPTION}` replaced by what the page prints of the row.

    Args:
        words: words of the title.
        row: row of the mark.
        rows: rows of its group, for `{COLUMN/sum|FORMAT}`.
    """

    def fill(found):
        name, *options = (found[3] or "text").split(",")
        value = row[found[1]]
        if found[2]:
            value = float(value) / math.fsum(float(other[found[1]]) for other in rows)
        return str(value) if name == "text" else str(FILTERS[name](str(value), *map(int, options)))

    return re.sub(r"{(\w+)(/sum)?(?:\|([\w,]+))?}", fill, words)


def group(marks, rows, words, at, x=None, y=None, where=None, before="", written=None, **attributes):
    """Return a group of marks with the attributes that `check_report` measures.

    Args:
        marks: function of a row that returns (element, attributes, link or None).
        rows: rows of `Value`s of one file, or of computed numbers (`Derived`).
        words: as in `says`, without braces of its own.
        at: {attribute of a mark: column}.
        x, y: `Scale`s.
        where: {column: text} that selects these rows in the file; None: they are all of its rows.
        before: an element of the group below its marks, such as the line through them.
        written: function of a row that returns the attributes of a text beside its mark, which says what the mark's
            title says; None: there is none.
        attributes: further ones of the group.
    """
    if not rows:
        return Markup("")
    first = next(iter(at.values()))
    some, made = rows[0][first], []
    in_file = isinstance(some, Value)
    for row in rows:
        element, mark_attributes, link = marks(row)
        source = {"data_row": row[first].row} if in_file else {"data_values": recorded(row)}
        said = says(words, row, rows)
        mark = tag(element, tag("title", said), **mark_attributes, **source)
        made.append(tag("a", mark, href=link, aria_label=said) if link else mark)
        if written:
            made.append(tag("text", said, class_="says", **written(row)))
    return tag(
        "g",
        joined([before, *made]),
        data_file=quoted(some.path) if in_file else None,
        data_where=";".join(f"{column}={quoted(text)}" for column, text in (where or {}).items()) if in_file else None,
        data_at=" ".join(f"{attribute}={column}" for attribute, column in at.items()),
        data_x=x and x.record,
        data_y=y and y.record,
        data_says=words,
        **attributes,
    )


def recorded(row):
    """Return the records of a row of computed numbers."""
    return " ".join(f"{column}={number.record}" for column, number in row.items())


def spread(places, apart=2 * DOT + 0.4):
    """Return the number of sideways steps of each dot along an axis, so that no two overlap."""
    levels, steps = {}, [0] * len(places)
    for index in sorted(range(len(places)), key=lambda i: places[i]):
        level = 0
        while level in levels and places[index] - levels[level] < apart:
            level = -level + (level <= 0)
        levels[level], steps[index] = places[index], level
    return steps


def written(ticks, unit, decimals):
    """Return the labels of ticks: `unit` times each, with as many decimals as all need, at least `decimals`."""
    values = [tick * unit for tick in ticks]
    slack = 1e-6 * abs(values[-1] - values[0])
    while decimals < 12 and any(abs(round(value, decimals) - value) > slack for value in values):
        decimals += 1
    return [f"{value:.{decimals}f}" for value in values]


def horizontal_ticks(scale, top, bottom, unit=1, decimals=0, wanted=5):
    """Return grid lines and about `wanted` numbers below: see `written`."""
    ticks = scale.ticks(wanted)
    lines = [tag("line", class_="grid", x1=scale(v), x2=scale(v), y1=float(top), y2=float(bottom)) for v in ticks]
    texts = [
        tag("text", text, class_="tick", x=scale(v), y=bottom + 14.0)
        for v, text in zip(ticks, written(ticks, unit, decimals), strict=True)
    ]
    return joined([*lines, tag("g", joined(texts), data_ticks="x", data_unit=unit, data_x=scale.record)])


def rate_ticks(scale, rates, top, bottom, show=rate):
    """Return grid lines and numbers below, at the rates that were tried."""
    lines = [tag("line", class_="grid", x1=scale(v), x2=scale(v), y1=float(top), y2=float(bottom)) for v in rates]
    texts = [tag("text", show(v), class_="tick", x=scale(v), y=bottom + 14.0) for v in rates]
    return joined([*lines, tag("g", joined(texts), data_ticks="x", data_unit=1, data_x=scale.record)])


def amount_ticks(scale, amounts, top, bottom):
    """Return the same at whole numbers, from the largest on those that leave room for each other's digits."""
    kept = []
    for amount in sorted(amounts, reverse=True):
        if all(abs(scale(amount) - scale(other)) >= 34 for other in kept):
            kept.append(amount)
    return rate_ticks(scale, sorted(kept), top, bottom, lambda amount: f"{amount:.0f}")


def vertical_ticks(scale, left, right, unit=1, decimals=0):
    """Return grid lines and numbers to the left."""
    ticks = scale.ticks()
    lines = [tag("line", class_="grid", y1=scale(v), y2=scale(v), x1=float(left), x2=float(right)) for v in ticks]
    texts = [
        tag("text", text, class_="tick left", x=left - 5.0, y=scale(v), dy="0.35em")
        for v, text in zip(ticks, written(ticks, unit, decimals), strict=True)
    ]
    return joined([*lines, tag("g", joined(texts), data_ticks="y", data_unit=unit, data_y=scale.record)])


def chart(height, label, *parts, width=WIDTH):
    """Return the whole chart; `label`, which has no numbers, describes it."""
    return tag(
        "svg",
        joined(parts),
        class_="chart",
        viewBox=f"0 0 {width} {shown(float(height))}",
        role="group",
        aria_label=label,
    )


def unbraced(name):
    """Return an arm's name for a mark's words, in which braces would be read as columns."""
    return name.replace("{", "(").replace("}", ")")
