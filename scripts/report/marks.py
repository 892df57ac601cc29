"""Measure every mark of the page's charts against the row that it names; nothing of `charts.py`, which draws them."""

import math
import re
from fractions import Fraction
from urllib.parse import unquote

from report.records import Unsound, evaluate, number, parse, printed_as

# The axis of each attribute of a mark, and those that are lengths from the axis's 0.
AXES = {"cx": "x", "x1": "x", "x2": "x", "cy": "y", "y1": "y", "y2": "y", "width": "x", "height": "y"}
LENGTHS = ("width", "height")
# Coordinates are written with two decimals.
ROUNDING = Fraction(51, 10000)


class Charts:
    """The contents of the page's charts.

    Attributes:
        groups: [(where, attributes, marks, the line's `d` or None)]; marks: [attributes, `title`, `label` and
            `written` among them].
        ticks: [(where, attributes, [(attributes, text)])].
        stray: [(where, text)]: numbers and marks that name no source.
    """

    def __init__(self):
        """Start with nothing read."""
        self.groups, self.ticks, self.stray = [], [], []

    def add(self, svg, where):
        """Read a chart."""
        known = set()
        for group in svg.iter("g"):
            if "data-says" in group.attrib:
                self.groups.append((where, group.attrib, *_marks(group, known)))
            elif "data-ticks" in group.attrib:
                self.ticks.append((where, group.attrib, [(text.attrib, text.text or "") for text in group]))
                known.update(group)
        for element in svg.iter():
            kinds, spoken = element.get("class", "").split(), element.get("aria-label", "")
            if element in known:
                continue
            if element.tag in ("circle", "rect") and "key" not in kinds:
                self.stray.append((where, f"a {element.tag} without a row"))
            # An arm's name is no number, even if it has digits.
            texts = [element.text or ""] if element.tag in ("text", "title") and "name" not in kinds else []
            for text in (*texts, spoken):
                if any(character.isdecimal() for character in text):
                    self.stray.append((where, text))


def _marks(group, known):
    """Return (marks, line) of a group; its elements become known."""
    marks, line = [], None
    for part in group:
        mark = part[0] if part.tag == "a" and len(part) else part
        if "data-row" in mark.attrib or "data-values" in mark.attrib:
            titles = mark.findall("title")
            title = "".join(text.text or "" for text in titles)
            marks.append(mark.attrib | {"title": title, "label": part.get("aria-label") if part is not mark else None})
            known.update([part, mark, *titles])
        elif part.get("class") == "says" and marks:
            marks[-1]["written"] = part.text or ""
            known.add(part)
        elif "data-through" in part.attrib:
            line = part.get("d", "")
    return marks, line


def faults(charts, sources):
    """Yield the faults of the page's charts, in words.

    Args:
        charts: `Charts`.
        sources: `records.Sources`.
    """
    for where, text in charts.stray:
        yield f"{text!r} ({where}) is drawn without a record"
    for where, group, marks, line in charts.groups:
        try:
            _check_group(group, marks, line, sources)
        except (Unsound, KeyError, ValueError) as error:
            name = unquote(group.get("data-file") or "computed numbers")
            yield f"the chart of {name} ({where}) is not what the file says: {error}"
    for where, found, texts in charts.ticks:
        try:
            axis = found["data-ticks"]
            place = _scale(found[f"data-{axis}"])
            for tick, text in texts:
                _near(tick[axis], place(number(text) / number(found["data-unit"])), f"tick {text}")
        except (Unsound, KeyError, ValueError) as error:
            yield f"the axis of a chart ({where}) is wrong: {error}"


def _scale(text):
    *words, kind = text.split() if text.endswith(" log") else [*text.split(), ""]
    size = (lambda value: Fraction(math.log10(value))) if kind else (lambda value: value)
    low, start, high, end = map(number, words)
    low, high = size(low), size(high)
    return lambda value: start + (size(value) - low) * (end - start) / (high - low)


def _near(drawn, exact, what):
    if abs(number(drawn) - exact) > ROUNDING:
        raise Unsound(f"{what} is at {drawn}, it should be at {float(exact):.2f}")


def _rows(group, marks, at, sources):
    """Return the row of each mark of a group: of its file, or computed again from the mark's records.

    Raises:
        Unsound: the file has rows that should have a mark and have none, or the reverse; a group of computed numbers
            is empty.
    """
    if "data-file" not in group:
        if not marks:
            raise Unsound("it has no mark")
        records = [dict(part.split("=", 1) for part in mark["data-values"].split()) for mark in marks]
        return [{name: evaluate(parse(record), sources) for name, record in row.items()} for row in records]
    name = unquote(group["data-file"])
    wanted = [part.split("=", 1) for part in group["data-where"].split(";") if part]
    places = {
        line
        for line, row in enumerate(sources.read(name), start=2)
        if all(row[column] == unquote(text) for column, text in wanted) and all(row[column] for column in at.values())
    }
    if {int(mark["data-row"]) for mark in marks} != places:
        raise Unsound(f"it has marks for {len(marks)} of the {len(places)} rows that it names")
    return [sources.row(name, mark["data-row"]) for mark in marks]


def _check_group(group, marks, line, sources):
    at = dict(pair.split("=") for pair in group["data-at"].split())
    scales = {axis: _scale(group[f"data-{axis}"]) for axis in "xy" if group.get(f"data-{axis}")}
    rows = _rows(group, marks, at, sources)
    for mark, row in zip(marks, rows, strict=True):
        for attribute, column in at.items():
            scale = scales[AXES[attribute]]
            exact = scale(number(row[column]))
            if attribute in LENGTHS:
                exact = abs(exact - scale(0))
            _near(mark[attribute], exact, f"line {mark.get('data-row', 'of none')}, {column},")
        _check_title(mark["title"], group["data-says"], row, rows)
        for said in (mark["label"], mark.get("written")):
            if said not in (None, mark["title"]):
                raise Unsound(f"{said!r} is not the title {mark['title']!r} of its mark")
    if line is not None and re.findall(r"[ML]([\d.-]+) ([\d.-]+)", line) != [(m["cx"], m["cy"]) for m in marks]:
        raise Unsound("its line does not go through its marks")


def _check_title(title, words, row, rows):
    parts = re.split(r"{(\w+)(/sum)?(?:\|([\w,]+))?}", words)
    # The parts are words, a column, its `/sum` where its share is meant, a format; and again.
    found = re.fullmatch("(.*?)".join(map(re.escape, parts[::4])), title)
    if not found:
        raise Unsound(f"{title!r} is not in the form {words!r}")
    for printed, column, share, form in zip(found.groups(), parts[1::4], parts[2::4], parts[3::4], strict=True):
        name, *options = (form or "text").split(",")
        value = row[column]
        if share:
            value = number(value) / sum(number(other[column]) for other in rows)
        printed_as(printed, value, name, options)
