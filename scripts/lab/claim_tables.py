"""The evidence for claims: rows of tables, numbers as printed, curves; and the words of a verdict."""

import re

from common.errors import StudyError

HOLDS, FAILS, NOT_SETTLED = "holds", "fails", "not settled"
TRANSCRIBED, UNDECIDED = "transcribed", "cannot be decided"
VERDICTS = (HOLDS, FAILS, NOT_SETTLED, UNDECIDED, TRANSCRIBED)
# A number as printed: sign, digits, decimals, exponent; not part of a word such as mC4 or a date.
NUMBER = re.compile(r"(?<![\w.])[+\-\u2212]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w]|\.\d)")
# The sources of statements, a report or others, such as a reader; and their names on the page.
PARTS = {"report": "reports", "other source": "others"}


def part_of(claim):
    """Return whose statement a claim is, a key of `PARTS`."""
    return "report" if claim["source"].startswith("report ") else "other source"


def printed_as(value, text):
    """Return whether `value` is printed as `text`: equal when rounded to the text's decimals (half either way)."""
    text = text.replace("\N{MINUS SIGN}", "-")
    if "e" in text:
        digits = len(text.split("e")[0].replace(".", "").lstrip("+-"))
        return float(f"{value:.{digits - 1}e}") == float(text)
    decimals = len(text.split(".")[1]) if "." in text else 0
    return abs(value - float(text)) <= 0.5 * 10**-decimals + 1e-9


def select(tables, claim, where=None):
    """Return the rows of the claim's table that equal its `where`, key by key (as strings).

    Raises:
        StudyError: the table or one of its columns does not exist.
    """
    name, where = claim["table"], claim["where"] if where is None else where
    if name not in tables:
        raise StudyError(f"claim {claim['id']}: table {name!r} does not exist (there are {', '.join(sorted(tables))})")
    rows = tables[name]
    for column in where:
        if rows and column not in rows[0]:
            raise StudyError(f"claim {claim['id']}: {name} has no column {column!r}")
    return [row for row in rows if all(row[column] == str(value) for column, value in where.items())]


def column_of(rows, column):
    """Return a column as floats, or None when a value is missing or there is no row."""
    values = [row.get(column, "") for row in rows]
    return [float(value) for value in values] if values and all(value != "" for value in values) else None


def print_factor(column):
    """Return the factor from a table's value to the printed one: accuracies are printed in per cent."""
    shares = ("accuracy", "mean", "low", "high", "min", "max", "difference", "interaction", "margin")
    return 100 if column.split("_")[-1] in shares else 1


def curves(rows, split="valid"):
    """Return {(arm or None, framework, init, seed): {update: accuracy}} of a split from rows of history.tsv."""
    found = {}
    for row in rows:
        if (row["split"], row["metric"]) == (split, "accuracy"):
            run = row.get("arm"), row["framework"], row["init"], row["seed"]
            found.setdefault(run, {})[int(row["update"])] = float(row["value"])
    return found
