"""Compute a printed number again from its record: the files are read anew, without the page's builder."""

import csv
import json
import os
import re
from fractions import Fraction
from urllib.parse import unquote

from common.files import read_json, read_lines
from common.machine import settings_hash, study_settings

CELL = re.compile(r"([^|();]*)\|(\d*)\|([^|();]*)")
CALL = re.compile(r"([a-z_]+)((?:,[^,();|]*)*)\((.*)\)", re.DOTALL)
MINUS = "\N{MINUS SIGN}"


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
        """Return a row of a table by its line, or an object of JSON Lines.

        Raises:
            Unsound: there is no such line.
        """
        rows, place = self.read(name), line - (1 if name.endswith(".jsonl") else 2)
        if not 0 <= place < len(rows):
            raise Unsound(f"{name} has no line {line}")
        return rows[place]

    def cell(self, name, line, column):
        """Return the text of a cell or a leaf.

        Raises:
            Unsound: there is none.
        """
        node = self.row(name, int(line)) if line else self.read(name)
        if line and not name.endswith(".jsonl"):
            if node.get(column) is None:
                raise Unsound(f"{name} has no column {column}")
            return node[column]
        found = descend(node, column)
        if not found:
            raise Unsound(f"{name} has no {column}")
        return shown_setting(found[0]) if name == "config" else str(found[0])

    def selected(self, name, wanted):
        """Return the rows of a table in which each `COLUMN=TEXT` of `wanted` is true."""
        rows = self.read(name)
        for column, text in (part.split("=", 1) for part in wanted):
            rows = [row for row in rows if row.get(column) == text]
        return rows


def descend(node, place):
    """Return [the node at a dotted place], or an empty list; keys may hold dots themselves."""
    if place == "":
        return [node]
    if isinstance(node, list):
        found = re.match(r"\[(\d+)\]\.?", place)
        inside = found and int(found[1]) < len(node)
        return descend(node[int(found[1])], place[found.end() :]) if inside else []
    for key in node if isinstance(node, dict) else ():
        rest = place.removeprefix(str(key))
        if place.startswith(str(key)) and (rest == "" or rest[0] in ".["):
            found = descend(node[key], rest.removeprefix("."))
            if found:
                return found
    return []


def shown_setting(value):
    """Return a setting as the page has it: no path of one machine, lists and the like as JSON."""
    if isinstance(value, str):
        return os.path.basename(value) if os.path.isabs(value) else value
    return json.dumps(value, ensure_ascii=False)


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
        Unsound: it does not follow the grammar of `records.py`.
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
    """Return the text or the number (Fraction) that a parsed record's source stands for.

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
    sources.cell(name, line, column)
    if name == "config":
        return re.sub(r"\[(\d+)\]", lambda found: f"[{int(found[1]) + 1}]", column)
    # The last key, which may contain dots, is the one whose parent has it.
    node = sources.row(name, int(line)) if line else sources.read(name)
    for place in [match.end() for match in re.finditer(r"\.", column)]:
        parent = descend(node, column[: place - 1])
        if parent and isinstance(parent[0], dict) and column[place:] in parent[0]:
            return column[place:]
    return column


# Formulas over files.
NAMED = {
    "count": lambda sources, file, *wanted: Fraction(len(sources.selected(file[1], [part[1] for part in wanted]))),
    "distinct": lambda sources, file, column, *wanted: Fraction(
        len({row[column[1]] for row in sources.selected(file[1], [part[1] for part in wanted])})
    ),
    "key": _key,
    "commit": lambda sources: sources.commit,
    "settings_hash": lambda sources: settings_hash(study_settings(sources.settings)),
}


def rounded(printed, exact, unit):
    """Raise unless a printed number is the exact one, rounded to a multiple of `unit`; half may go either way."""
    if abs(number(printed) - exact) > unit / 2 * (1 + Fraction(1, 10**9)):
        raise Unsound(f"it should be {float(exact):.10g}")


def is_decimals(printed, value, places="2", scale=1):
    """Check fixed decimals."""
    places = int(places)
    if not re.fullmatch(rf"-?\d+\.\d{{{places}}}" if places else r"-?\d+", printed):
        raise Unsound(f"it should have {places} decimals")
    exact = scale * number(value)
    if exact and (exact < 0) != printed.startswith("-"):
        raise Unsound(f"it should be {float(exact):.10g}")
    rounded(printed, exact, Fraction(1, 10**places))


def is_significant(printed, value, digits):
    """Check significant digits, which are as many as asked for or fewer, zeros at the end being left out."""
    exact, digits = number(value), int(digits)
    if not (found := re.fullmatch(r"-?(\d+(?:\.\d+)?)(e[+-]\d+)?", printed)):
        raise Unsound("it is no number with significant digits")
    if found[2] or "." in found[1]:
        shown = found[1].replace(".", "").lstrip("0")
        if len(shown) > digits or ("." in found[1] and found[1].endswith("0")):
            raise Unsound(f"it should have {digits} significant digits")
    size = Fraction(0)
    if exact:
        power = int(f"{float(abs(exact)):.16e}".split("e")[1]) if float(exact) else -400
        size = Fraction(10) ** (power - digits + 1)
    rounded(printed, exact, size)


def is_p_value(printed, value):
    """Check a p-value, which is never shown as 0."""
    if number(value) < Fraction(1, 10**4):
        if printed != "< 0.0001":
            raise Unsound("it should be < 0.0001")
    else:
        is_significant(printed, value, 2)


def is_p_text(printed, value):
    """Check `p = 6.3e-05`."""
    if not printed.startswith("p = "):
        raise Unsound("it should begin with p =")
    is_significant(printed.removeprefix("p = "), value, 2)


def is_points(printed, value):
    """Check a difference in percentage points, with its sign."""
    if printed[:1] not in ("+", MINUS):
        raise Unsound("it should have a sign")
    is_decimals(printed.replace(MINUS, "-").removeprefix("+"), value, scale=100)


def is_integer(printed, value):
    """Check a whole number with thin spaces between thousands."""
    whole = printed.replace("\u202f", "").removeprefix("-")
    if not whole.isdecimal() or not re.fullmatch(r"-?\d{1,3}(\u202f\d{3})*", printed):
        raise Unsound("it is no whole number with thin spaces between thousands")
    if abs(number(value)) // 1 != int(whole) or (number(value) <= -1) != printed.startswith("-"):
        raise Unsound(f"it should be {float(number(value)):.10g}")


def is_best_of_k(printed, value):
    """Check `1: 71.00, 2: 73.00`."""
    pairs = [part.split("=") for part in value.split()]
    shown = [part.split(": ") for part in printed.split(", ")]
    if [k for k, _ in pairs] != [part[0] for part in shown]:
        raise Unsound(f"it should be that of {value}")
    for (_, accuracy), part in zip(pairs, shown, strict=True):
        is_decimals(part[-1], accuracy, scale=100)


def is_rate(printed, value):
    """Check a learning rate, which is shown whole: 2.5e-4."""
    if not re.fullmatch(r"[1-9](\.\d*[1-9])?e(0|-?[1-9]\d*)", printed) or number(printed) != number(value):
        raise Unsound(f"it should be {value} as a digit and a power of ten")


def is_text(printed, value):
    """Check a text, white space apart."""
    value = str(value)
    if " ".join(printed.split()) != " ".join(value.split()):
        raise Unsound(f"it should be {value[:60]!r}")


# The promise of each filter of the page about its text.
FORMS = {
    "text": is_text,
    "percent": lambda printed, value, places="2": is_decimals(printed, value, places, 100),
    "integer": is_integer,
    "decimals": is_decimals,
    "significant": is_significant,
    "p_value": is_p_value,
    "p_text": is_p_text,
    "points": is_points,
    "prefix": lambda printed, value, length: is_text(printed, value[: int(length)]),
    "word": lambda printed, value, place: is_text(printed, value.split()[int(place)]),
    "part": lambda printed, value, place: is_text(printed, value.split("\t")[int(place)]),
    "moment": lambda printed, value: is_text(printed, value.replace("+00:00", "").replace("T", " ")),
    "gibibytes": lambda printed, value: is_decimals(printed, number(value) / 1024, 0),
    "best_of_k": is_best_of_k,
    "rate": is_rate,
}


def check(printed, record, sources):
    """Compare a printed text with what its record names.

    Args:
        printed: what the page shows.
        record: as in `records.py`.
        sources: `Sources`.

    Raises:
        Unsound: they differ, or the record leads nowhere.
    """
    node = parse(record)
    form, options = "text", []
    if node[0] in FORMS:
        form, options, (node,) = node
    try:
        value = evaluate(node, sources)
        if form == "text" and isinstance(value, Fraction) and value.denominator != 1:
            # The form is Python's.
            rounded(printed, value, abs(value) / 10**15)
        else:
            FORMS[form](printed, value, *options)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise Unsound(f"its record {record!r} cannot be followed ({error})") from error


def sources_of(record):
    """Return [(file, line, column)] of a record, and its formula as text, empty for a cell as it stands."""
    cells = []

    def walk(node):
        if node[0] == "cell":
            cells.append(node[1:])
        elif node[0] in ("count", "distinct"):
            words = [part[1] for part in node[2]]
            cells.append((words[0], "", ", ".join(words[1:])))
        elif node[0] != "words":
            for part in node[2]:
                walk(part)

    node = parse(record)
    walk(node)
    names = []
    while node[0] not in ("cell", "words"):
        names.append(" ".join([node[0], *node[1]]))
        if len(node[2]) != 1:
            break
        node = node[2][0]
    return cells, " of ".join(names)
