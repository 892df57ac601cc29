"""Texts of public tables, and which of them share words with the reviews that a study measures by."""

import contextlib
import html
import re

from data.reviews import normalise
from data.text_tables import read_rows
from data.words import words_of

SHORTEST = 15  # characters; below it a text is a title or a mark
WORDS_IN_A_ROW = 10
# JSON can encode half a character, which no UTF-8 file can contain.
_NO_TEXT = re.compile("<[^<>]*>|[\ud800-\udfff]")


def runs_of(words):
    """Return every run of ten words of a text, joined; of a shorter text the whole."""
    last = max(1, len(words) - WORDS_IN_A_ROW + 1)
    return {" ".join(words[i : i + WORDS_IN_A_ROW]) for i in range(last)} if words else set()


def read_column(path, column):
    """Yield the texts of one column of a table; rows without one are passed over.

    Args:
        path: a CSV, TSV (with or without a header) or JSON Lines file, UTF-8.
        column: its name; of a table without a header its number, from 1.

    Raises:
        StudyError: see `data.text_tables.read_rows`.
    """
    for _, row in read_rows(path, [column], strict=False):
        if isinstance(row.get(column), str):
            yield row[column]


def plain(text):
    """Return a text without HTML tags, character references and half characters, in the canonical form of reviews."""
    with contextlib.suppress(ValueError):  # Python reads no number of more than 4300 digits
        text = html.unescape(text)
    return normalise(_NO_TEXT.sub(" ", text))


def take(texts, known, held_out):
    """Return the texts to keep of one table, and the numbers of the others.

    Args:
        texts: iterable of texts as the table has them.
        known: set of the texts taken before, as compared; grows.
        held_out: set of `runs_of` the reviews that no corpus may hold.

    Returns:
        tuple[list[str], dict]: texts; n_texts, n_short, n_repeated (there before), n_overlapping (sharing a run of ten
            words with a held-out review, or being one).
    """
    kept, counts = [], dict.fromkeys(("n_texts", "n_short", "n_repeated", "n_overlapping"), 0)
    for text in map(plain, texts):
        counts["n_texts"] += 1
        words = words_of(text)
        key = " ".join(words)
        if len(text) < SHORTEST or not words:
            counts["n_short"] += 1
        elif key in known:
            counts["n_repeated"] += 1
        elif not held_out.isdisjoint(runs_of(words)):
            counts["n_overlapping"] += 1
        else:
            known.add(key)
            kept.append(text)
    return kept, counts
