"""Read the page's charts as their reader does, and measure every mark against the row that it names.

Nothing of `charts.py`, which draws them, is used.
"""

import math
import re
from fractions import Fraction
from urllib.parse import unquote

from report.recompute import FORMS, Unsound, evaluate, number, parse

# The axis of each attribute of a mark, and True where it is a length from the axis's 0.
AXES = {"cx": "x", "x1": "x", "x2": "x", "cy": "y", "y1": "y", "y2": "y", "width": "x", "height": "y"}
LENGTHS = ("width", "height")
# Coordinates are written with two decimals.
ROUNDING = Fraction(51, 10000)
MARKS = ("circle", "rect")


class Pictures:
    """The contents of the page's charts.

    Attributes:
        groups: [{"where", the group's attributes, "marks": [{"tag", "title", attributes}], "path": str or None}].
        ticks: [{"where", attributes, "texts": [(attributes, text)]}].
        stray: [(where, text)]: numbers and marks that name no source.
    """

    def __init__(self):
        """Start with nothing read."""
        self.groups, self.ticks, self.stray = [], [], []
        self._stack, self._group, self._ticks, self._text, self._label = [], None, None, None, None

    def start(self, tag, found, where):
        """Enter an element of a chart."""
        self._stack.append((tag, found))
        if "data-says" in found:
            self._group = found | {"where": where, "marks": [], "path": None, "depth": len(self._stack)}
            self.groups.append(self._group)
        elif "data-ticks" in found:
            self._ticks = found | {"where": where, "texts": [], "depth": len(self._stack)}
            self.ticks.append(self._ticks)
        elif ("data-row" in found or "data-values" in found) and self._group is not None:
            self._group["marks"].append(found | {"title": "", "label": self._label})
            self._label = None
        elif "data-through" in found and self._group is not None:
            self._group["path"] = found.get("d", "")
        elif tag in MARKS and "key" not in found.get("class", ""):
            self.stray.append((where, f"a {tag} without a row"))
        if tag == "a" and self._group is not None:
            self._label = found.get("aria-label")
        elif any(character.isdecimal() for character in found.get("aria-label") or ""):
            self.stray.append((where, found["aria-label"]))
        if tag in ("text", "title"):
            self._text = [where, found, ""]

    def data(self, text):
        """Add to the text of this place."""
        if self._text is not None:
            self._text[2] += text

    def end(self, tag):
        """Leave an element."""
        while self._stack and self._stack[-1][0] != tag:
            self._stack.pop()
        depth = len(self._stack)
        if self._stack:
            self._stack.pop()
        if self._text is not None and tag in ("text", "title"):
            self._close_text(tag)
        for name in ("_group", "_ticks"):
            inside = getattr(self, name)
            if inside is not None and inside["depth"] == depth:
                setattr(self, name, None)

    def _close_text(self, tag):
        where, found, text = self._text
        self._text = None
        if tag == "title" and self._group is not None and self._group["marks"]:
            self._group["marks"][-1]["title"] += text
        elif found.get("class") == "says" and self._group is not None and self._group["marks"]:
            self._group["marks"][-1]["written"] = text
        elif self._ticks is not None:
            self._ticks["texts"].append((found, text))
        # An arm's name is no number, even if it has digits.
        elif any(character.isdecimal() for character in text) and "name" not in (found.get("class") or "").split():
            self.stray.append((where, text))


def faults(pictures, sources):
    """Yield the faults of the page's charts, in words.

    Args:
        pictures: `Pictures`.
        sources: `recompute.Sources`.
    """
    for where, text in pictures.stray:
        yield f"{text!r} ({where}) is drawn without a record"
    for group in pictures.groups:
        try:
            _check_group(group, sources)
        except (Unsound, KeyError, ValueError) as error:
            name = unquote(group.get("data-file") or "computed numbers")
            yield f"the chart of {name} ({group['where']}) is not what the file says: {error}"
    for ticks in pictures.ticks:
        try:
            _check_ticks(ticks)
        except (Unsound, KeyError, ValueError) as error:
            yield f"the axis of a chart ({ticks['where']}) is wrong: {error}"


def _scale(text):
    *words, kind = text.split() if text.endswith(" log") else [*text.split(), ""]
    size = (lambda value: Fraction(math.log10(value))) if kind else (lambda value: value)
    low, start, high, end = map(number, words)
    low, high = size(low), size(high)
    return lambda value: start + (size(value) - low) * (end - start) / (high - low)


def _near(drawn, exact, what):
    if abs(number(drawn) - exact) > ROUNDING:
        raise Unsound(f"{what} lies at {drawn}, it should at {float(exact):.2f}")


def _check_ticks(ticks):
    axis = ticks["data-ticks"]
    place = _scale(ticks[f"data-{axis}"])
    for found, text in ticks["texts"]:
        _near(found[axis], place(number(text) / number(ticks["data-unit"])), f"tick {text}")


def _rows(group, at, sources):
    """Return the row of each mark of a group: of its file, or computed again from the mark's records.

    Raises:
        Unsound: the file has rows that should have a mark and have none, or the reverse; a group of computed numbers
            is empty.
    """
    if "data-file" not in group:
        if not group["marks"]:
            raise Unsound("it has no mark")
        records = [dict(part.split("=", 1) for part in mark["data-values"].split()) for mark in group["marks"]]
        return [{name: evaluate(parse(record), sources) for name, record in row.items()} for row in records]
    name = unquote(group["data-file"])
    wanted = [part.split("=", 1) for part in group["data-where"].split(";") if part]
    wanted = [(column, unquote(text)) for column, text in wanted]
    places = {
        line
        for line, row in enumerate(sources.read(name), start=2)
        if all(row[column] == text for column, text in wanted) and all(row[column] for column in at.values())
    }
    if {int(mark["data-row"]) for mark in group["marks"]} != places:
        raise Unsound(f"it has marks for {len(group['marks'])} of the {len(places)} rows that it names")
    return [sources.row(name, int(mark["data-row"])) for mark in group["marks"]]


def _check_group(group, sources):
    at = dict(pair.split("=") for pair in group["data-at"].split())
    scales = {axis: _scale(group[f"data-{axis}"]) for axis in "xy" if group.get(f"data-{axis}")}
    rows = _rows(group, at, sources)
    for mark, row in zip(group["marks"], rows, strict=True):
        for attribute, column in at.items():
            axis = AXES[attribute]
            exact = scales[axis](number(row[column]))
            if attribute in LENGTHS:
                exact = abs(exact - scales[axis](0))
            _near(mark[attribute], exact, f"line {mark.get('data-row', 'of none')}, {column},")
        _check_title(mark["title"], group["data-says"], row, rows)
        for words in (mark["label"], mark.get("written")):
            if words not in (None, mark["title"]):
                raise Unsound(f"{words!r} is told of what {mark['title']!r} is shown of")
    if group["path"] is not None:
        through = re.findall(r"[ML]([\d.-]+) ([\d.-]+)", group["path"])
        if through != [(mark["cx"], mark["cy"]) for mark in group["marks"]]:
            raise Unsound("its line does not go through its marks")


def _check_title(title, words, row, rows):
    parts = re.split(r"{(\w+)(/sum)?(?:\|([\w,]+))?}", words)
    # Words, column, True where its share is meant, format; and again.
    pattern = "(.*?)".join(map(re.escape, parts[::4]))
    found = re.fullmatch(pattern, title)
    if not found:
        raise Unsound(f"{title!r} is not in the form {words!r}")
    for printed, column, share, form in zip(found.groups(), parts[1::4], parts[2::4], parts[3::4], strict=True):
        name, *options = (form or "text").split(",")
        if name not in FORMS:
            raise Unsound(f"{name} is no format")
        value = row[column]
        if share:
            value = number(value) / sum(number(other[column]) for other in rows)
        FORMS[name](printed, value, *options)
