"""Look up a record of the page in the files, which are read again without the page's builder.

`numbers.py` has the grammar of records.
"""

import csv
import itertools
import json
import os
import re
from decimal import Decimal
from fractions import Fraction
from urllib.parse import unquote

from common.files import read_json, read_lines
from common.machine import settings_hash, study_settings

CELL = re.compile(r"([^|();]*)\|(\d*)\|([^|();]*)")
CALL = re.compile(r"([a-z_]+)((?:,[^,();|]*)*)\((.*)\)", re.DOTALL)
MINUS, THIN = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"


class Unsound(Exception):
    """A record that its sources do not bear out; the message says why."""


class Sources:
    """The files that records may name, read once each."""

    def __init__(self, paths, folder, settings, commit):
        """Know the files.

        Args:
            paths: files of the study.
            folder: the page's folder, to which records are relative.
            settings: the resolved config, which records call `config`.
            commit: the source's commit, or an empty string.
        """
        self.paths = {os.path.relpath(path, folder).replace(os.sep, "/"): path for path in paths}
        self.settings, self.commit = settings, commit
        # Settings are compared in the form of a JSON file, whatever types the configuration's reader made.
        self._read = {"config": json.loads(json.dumps(settings))}

    def read(self, name):
        """Return a table as a list of dicts of strings, JSON Lines as a list, a JSON file as it is.

        Raises:
            Unsound: it is no input of the check.
        """
        if name not in self._read:
            if name not in self.paths:
                raise Unsound(f"{name} is not among the inputs of the check")
            path = self.paths[name]
            if name.endswith(".json"):
                self._read[name] = read_json(path)
            elif name.endswith(".jsonl"):
                self._read[name] = [json.loads(text) for text in read_lines(path)]
            else:
                with open(path, encoding="utf-8-sig", newline="") as handle:
                    self._read[name] = list(csv.DictReader(handle, delimiter="\t"))
        return self._read[name]

    def row(self, name, line):
        """Return a row of a table by its line, or an object of JSON Lines; without a line the whole file.

        Raises:
            Unsound: there is no such line.
        """
        rows = self.read(name)
        if not line:
            return rows
        place = int(line) - (1 if name.endswith(".jsonl") else 2)
        if not 0 <= place < len(rows):
            raise Unsound(f"{name} has no line {line}")
        return rows[place]

    def leaf(self, name, line, column):
        """Return (value, last key) of a cell or of a leaf at a dotted place.

        Raises:
            Unsound: there is none.
        """
        node = self.row(name, line)
        if line and not name.endswith(".jsonl"):
            found = (node[column], column) if node.get(column) is not None else None
        else:
            found = descend(node, column, column)
        if not found:
            raise Unsound(f"{name} has no {column}")
        return found

    def cell(self, name, line, column):
        """Return the text of a cell or leaf; a setting without paths of one machine, lists and the like as JSON."""
        value, _ = self.leaf(name, line, column)
        if name != "config":
            return str(value)
        if isinstance(value, str):
            return os.path.basename(value) if os.path.isabs(value) else value
        return json.dumps(value, ensure_ascii=False)

    def selected(self, name, wanted):
        """Return the rows of a table in which each `COLUMN=TEXT` of `wanted` is true."""
        wanted = [part.split("=", 1) for part in wanted]
        return [row for row in self.read(name) if all(row.get(column) == text for column, text in wanted)]


def descend(node, place, key):
    """Return (the node at a dotted place, its last key), or None; keys may hold dots themselves."""
    if place == "":
        return node, key
    if isinstance(node, list):
        found = re.match(r"\[(\d+)\]\.?", place)
        inside = found and int(found[1]) < len(node)
        return descend(node[int(found[1])], place[found.end() :], found[0]) if inside else None
    for name in node if isinstance(node, dict) else ():
        rest = place.removeprefix(str(name))
        if place.startswith(str(name)) and (rest == "" or rest[0] in ".["):
            found = descend(node[name], rest.removeprefix("."), str(name))
            if found:
                return found
    return None


def number(text):
    """Return a text as an exact number.

    Raises:
        Unsound: it is none.
    """
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise Unsound(f"{text!r} is no number") from error


def parse(record):
    """Return a record as nested tuples: (`cell`, file, line, column), (`words`, text) or (name, options, parts).

    Raises:
        Unsound: it does not follow the grammar.
    """
    if cell := CELL.fullmatch(record):
        return "cell", unquote(cell[1]), cell[2], unquote(cell[3])
    if call := CALL.fullmatch(record):
        depth, parts = 0, [""]
        for sign in call[3]:
            depth += (sign == "(") - (sign == ")")
            if sign == ";" and not depth:
                parts.append("")
            else:
                parts[-1] += sign
        return call[1], call[2].split(",")[1:], [parse(part) for part in parts] if call[3] else []
    if re.search(r"[|();]", record):
        raise Unsound(f"its record {record!r} cannot be read")
    return "words", unquote(record)


def evaluate(node, sources):
    """Return the text or the number (Fraction) in a parsed record's source.

    Raises:
        Unsound: a source is missing, or the formula unknown.
    """
    if node[0] == "cell":
        return sources.cell(*node[1:])
    if node[0] == "words":
        return node[1]
    name, _, parts = node
    if name in NAMED:
        return NAMED[name](sources, *parts)
    if name not in FORMULAS:
        raise Unsound(f"its formula {name} is unknown")
    return FORMULAS[name](*(number(evaluate(part, sources)) for part in parts))


def _t_bound(level, values, side):
    """Return a bound of Student's interval, by SciPy's own test of one sample; within 0 and 1."""
    from scipy import stats

    values = [float(value) for value in values]
    if len(set(values)) == 1:
        return Fraction(values[0])
    bound = getattr(stats.ttest_1samp(values, 0).confidence_interval(float(level)), side)
    return min(max(Fraction(bound), Fraction(0)), Fraction(1))


# Formulas over numbers.
FORMULAS = {
    "ratio": lambda a, b: a / b,
    "difference": lambda a, b: a - b,
    "sum": lambda *values: sum(values),
    "mean": lambda *values: sum(values) / len(values),
    "minimum": lambda *values: min(values),
    "maximum": lambda *values: max(values),
    "t_low": lambda level, *values: _t_bound(level, values, "low"),
    "t_high": lambda level, *values: _t_bound(level, values, "high"),
}


def _key(sources, cell):
    _, name, line, column = cell
    _, key = sources.leaf(name, line, column)
    return re.sub(r"\[(\d+)\]", lambda found: f"[{int(found[1]) + 1}]", column) if name == "config" else key


def _rows(sources, file, *wanted):
    return sources.selected(file[1], [part[1] for part in wanted])


# Formulas over files.
NAMED = {
    "count": lambda sources, *parts: Fraction(len(_rows(sources, *parts))),
    "distinct": lambda sources, file, column, *wanted: Fraction(
        len({row[column[1]] for row in _rows(sources, file, *wanted)})
    ),
    "key": _key,
    "commit": lambda sources: sources.commit,
    "settings_hash": lambda sources: settings_hash(study_settings(sources.settings)),
}


def texts(value, form, scale=1):
    """Return the texts that a number may be printed as in one of Python's formats: half may go either way."""
    exact = float(scale * number(value))
    found = {format(exact * nudge, form) for nudge in (1 - 1e-12, 1, 1 + 1e-12)}
    return found | {f"-{text}" for text in found if not exact}


def _best_of_k(value):
    pairs = [part.split("=") for part in value.split()]
    parts = [{f"{k}: {text}" for text in texts(accuracy, ".2f", 100)} for k, accuracy in pairs]
    return {", ".join(shown) for shown in itertools.product(*parts)}


def _rate(value):
    _, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    first, *rest = map(str, digits)
    return {f"{first}{'.' if rest else ''}{''.join(rest)}e{exponent + len(rest)}"}


# The texts that each filter of the page may print of a value.
FORMS = {
    "text": lambda value: {str(value)},
    "percent": lambda value, places="2": texts(value, f".{places}f", 100),
    "integer": lambda value: {f"{int(number(value)):,}".replace(",", THIN)},
    "decimals": lambda value, places: texts(value, f".{places}f"),
    "level": lambda value: texts(value, ".4g", 100),
    "signed": lambda value, places: {text.replace("-", MINUS) for text in texts(value, f"+.{places}f")},
    "significant": lambda value, digits: texts(value, f".{digits}g"),
    "p_value": lambda value: {"< 0.0001"} if number(value) < Fraction(1, 10**4) else texts(value, ".2g"),
    "p_text": lambda value: {f"p = {text}" for text in texts(value, ".2g")},
    "points": lambda value: {text.replace("-", MINUS) for text in texts(value, "+.2f", 100)},
    "prefix": lambda value, length: {value[: int(length)]},
    "word": lambda value, place: {value.split()[int(place)]},
    "part": lambda value, place: {value.split("\t")[int(place)]},
    "moment": lambda value: {value.replace("+00:00", "").replace("T", " ")},
    "gibibytes": lambda value: texts(value, ".0f", Fraction(1, 1024)),
    "best_of_k": _best_of_k,
    "rate": _rate,
}


def printed_as(printed, value, form="text", options=()):
    """Compare a printed text with a value as a filter shows it.

    Raises:
        Unsound: they differ.
    """
    if form == "text" and isinstance(value, Fraction) and value.denominator != 1:
        # The form is Python's.
        right = abs(number(printed) - value) <= abs(value) / 10**15
        wanted = {repr(float(value))}
    else:
        wanted = FORMS[form](value, *options)
        right = printed in wanted or form == "text" and printed.split() == str(value).split()
    if not right:
        raise Unsound(f"it should be {min(wanted)[:60]}")


def check(printed, record, sources):
    """Compare a printed text with what its record names.

    Args:
        printed: what the page shows.
        record: as `numbers.py` writes it.
        sources: `Sources`.

    Raises:
        Unsound: they differ, or the record leads nowhere.
    """
    node = parse(record)
    form, options = "text", []
    if node[0] in FORMS:
        form, options, (node,) = node
    try:
        printed_as(printed, evaluate(node, sources), form, options)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise Unsound(f"its record {record!r} cannot be followed ({error})") from error


def sources_of(record):
    """Return [(file, line, column)] of a record, and its formula as text, empty for an unchanged cell."""
    cells, names = [], []

    def walk(node):
        if node[0] == "cell":
            cells.append(node[1:])
        elif node[0] in ("count", "distinct"):
            file, *wanted = (part[1] for part in node[2])
            cells.append((file, "", ", ".join(wanted)))
        elif node[0] != "words":
            for part in node[2]:
                walk(part)

    node = parse(record)
    walk(node)
    while node[0] not in ("cell", "words"):
        names.append(" ".join([node[0], *node[1]]))
        if len(node[2]) != 1:
            break
        node = node[2][0]
    return cells, " of ".join(names)
