"""The columns of a table of texts that a study asks for, by name or by number."""

import difflib
import itertools
import unicodedata

from common.errors import StudyError

# A message names up to this many columns of a file.
SHOWN_COLUMNS = 20


def numbered(columns):
    """Return whether columns are given by their numbers: the file has no header."""
    return any(isinstance(column, int) for column in columns)


def as_asked(cells, columns):
    """Return the names of a header; one that is a wanted column in another Unicode form is written as that is."""
    asked = {unicodedata.normalize("NFC", column): column for column in columns}
    names = [cell.strip() for cell in cells]
    return [name if name in columns else asked.get(unicodedata.normalize("NFC", name), name) for name in names]


def check_names(path, names, columns):
    """Refuse a header that lacks a wanted column or has one twice."""
    for column in columns:
        if names.count(column) != 1:
            found = f"the column {column!r} twice" if column in names else f"no column {column!r}"
            raise StudyError(
                f"{path} has {found}; its columns are {listed(names)}{'' if column in names else hint(names, column)}"
            )


def hint(names, column):
    """Return what to do where a header lacks a column: the name that was meant, or numbers for a file without a header.

    A first row of another kind than names is data: a name has at most three words and is no number.
    """
    near = difflib.get_close_matches(str(column).casefold(), [str(name).casefold() for name in names], n=1)
    if near:
        meant = next(name for name in names if str(name).casefold() == near[0])
        return f". Did you mean {meant!r}?"
    data = [str(name) for name in names if len(str(name).split()) > 3 or str(name).replace(".", "", 1).isdigit()]
    return ". If this first row is data, the file has no header: give columns by number, from 1" if data else ""


def listed(names):
    """Return the first names of columns in words."""
    shown = [f"{name!r:.40}" for name in itertools.islice(names, SHOWN_COLUMNS)]
    more = f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(shown) + more or "none"


def is_header(cells, names):
    """Return whether a row is the header again: its names in any order and case, with or without a byte order mark."""

    def bare(cells):
        return sorted(cell.removeprefix("\ufeff").strip().strip('"').casefold() for cell in cells)

    return bare(cells) == bare(names)
