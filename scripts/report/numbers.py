"""Printed numbers with their records: the source of each, and its format.

A record is written into the page as the attribute `data-of` of the element that holds the number, so that
`check_report` can read the file again and compare. Its grammar, in which no part holds a space:

    record = source, where the text of a cell is printed as it stands, or FORMAT[,OPTION...](source)
    source = cell, a number, or FORMULA(source;...)
    cell   = FILE|LINE|COLUMN of a table, FILE||PLACE of a JSON file or of the settings (FILE `config`)

FORMAT is the name of a filter of `formats.py`; `check_report` knows each again in its own words, and each formula too.
In the page FILE, COLUMN and PLACE are their places, from 0, in the list `record-names` of its head, which is shorter.
"""

import collections
import re
import statistics
from urllib.parse import quote

from markupsafe import Markup, escape

# Formulas over numbers, as the builder computes them.
ARITHMETIC = {
    "ratio": lambda a, b: a / b,
    "difference": lambda a, b: a - b,
    "sum": lambda *values: sum(values),
    "mean": lambda *values: statistics.mean(values),
    "minimum": min,
    "maximum": max,
    "t_low": lambda level, *values: interval(level, values)[0],
    "t_high": lambda level, *values: interval(level, values)[1],
}
CELL = re.compile(r"([^|;(), ]+)\|(\d*)\|([^|;(), ]+)")
RECORDED = re.compile(r'<span data-of="([^"]*)">(.*?)</span>', re.DOTALL)


def quoted(part):
    """Return a part of a record, without the signs of the grammar, of HTML and of white space."""
    return quote(str(part), safe="/.[]_-=+:")


def names_of(records):
    """Return the files and columns that records name, the most frequent first."""
    found = collections.Counter()
    for record in records:
        for file, _, column in CELL.findall(record):
            found.update((file, column))
    return [name for name, _ in found.most_common()]


def in_short(record, places):
    """Return a record with the places of files and columns, of {name: place}, instead of their names."""
    return CELL.sub(lambda found: f"{places[found[1]]}|{found[2]}|{places[found[3]]}", record)


def in_full(record, names):
    """Return a record with the names of its files and columns; a place that the list lacks stays, and names nothing."""

    def name(place):
        return names[int(place)] if place.isdecimal() and int(place) < len(names) else place

    return CELL.sub(lambda found: f"{name(found[1])}|{found[2]}|{name(found[3])}", record)


class Recorded(str):
    """A text that the page prints and that knows its record; markup makes an element of it, other uses the text.

    Attributes:
        record: as in this module's grammar.
    """

    def __html__(self):
        """Return the text as HTML: with its record if it has a digit."""
        text = escape(str(self))
        return Markup(f'<span data-of="{self.record}">{text}</span>') if has_digit(self) else text


class Value(Recorded):
    """The text of one cell of a table or one leaf of a JSON file, and its place.

    Attributes:
        path: the file, relative to the results folder; `config` for the study's settings.
        row: line of a table, from 2 on, or of JSON Lines, from 1 on; None in a tree.
        column: its column, or its dotted place in a tree.
        key: the last part of that place.
    """

    def __new__(cls, text, path, row, column, key=None):
        """Keep the text as the file has it: a filter decides how it is printed."""
        self = super().__new__(cls, text)
        self.path, self.row, self.column, self.key = path, row, column, column if key is None else key
        return self

    @property
    def record(self):
        """Return its cell."""
        return f"{quoted(self.path)}|{'' if self.row is None else self.row}|{quoted(self.column)}"


class Key(Recorded):
    """The name of a value in its tree, as the page prints it.

    Attributes:
        record: the value's cell, as a formula.
    """

    def __new__(cls, value):
        """Keep the place in the settings, counted from 1 in lists; of another tree the last part alone."""
        ours = value.path == "config"
        text = re.sub(r"\[(\d+)\]", lambda found: f"[{int(found[1]) + 1}]", value.column) if ours else value.key
        self = super().__new__(cls, text)
        self.record = f"key({value.record})"
        return self


class Derived(Recorded):
    """A number that is computed from values, and how.

    Attributes:
        record: the formula over its sources.
    """

    def __new__(cls, value, formula, *sources):
        """Keep a number as text; a source is a `Value`, a `Derived`, or text of the formula's own."""
        self = super().__new__(cls, value)
        parts = [source.record if isinstance(source, Recorded) else quoted(source) for source in sources]
        self.record = f"{formula}({';'.join(parts)})"
        return self


class Printed(Recorded):
    """A `Value` or `Derived` as a filter prints it."""

    def __new__(cls, text, name, options, value):
        """Print `value` as `text`, by the filter of this name with these options."""
        self = super().__new__(cls, text)
        self.record = f"{','.join([name, *map(str, options)])}({value.record})"
        return self


def interval(level, values):
    """Return Student's interval of a mean over at least two seeds."""
    # It is computed here because SciPy takes as long to start as the page takes to build; the report takes its
    # intervals from files.
    from analysis.intervals import t_interval

    return t_interval(values, level)


def derive(formula, *values):
    """Return a `Derived` of a formula of `ARITHMETIC` over values and texts of numbers; empty where one is."""
    if any(value == "" for value in values):
        return ""
    value = ARITHMETIC[formula](*map(float, values))
    return Derived(int(value) if value.is_integer() else repr(value), formula, *values)


def has_digit(text):
    """Return whether a text holds a number: those alone need records."""
    return any(character.isdecimal() for character in text)


def printing(name, show):
    """Return a filter that prints as `show` does and records that it was this one.

    Args:
        name: name of the filter, as records have it.
        show: function of a value and options that returns text.
    """

    def printed(value, *options):
        text = show(value, *options)
        return Printed(text, name, options, value) if isinstance(value, Recorded) else text

    return printed


def in_attribute(name, text):
    """Return an HTML attribute with the plain text of `text`, and the records of its numbers in `data-NAME`.

    The latter holds START+LENGTH RECORD for each, the place counted in characters of the plain text.
    """
    plain, records = "", []
    rest = str(escape(text))
    while found := RECORDED.search(rest):
        plain += Markup(rest[: found.start()]).unescape()
        number = Markup(found[2]).unescape()
        records.append(f"{len(plain)}+{len(number)} {Markup(found[1]).unescape()}")
        plain, rest = plain + number, rest[found.end() :]
    plain += Markup(rest).unescape()
    places = Markup(' data-{}="{}"').format(name, " ".join(records)) if records else ""
    return Markup('{}="{}"{}').format(Markup(name), plain, places)
