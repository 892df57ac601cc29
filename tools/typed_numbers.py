"""Numbers that somebody typed into a text whose numbers should come from files."""

import html
import re

# The target of a link or picture, an address, and a tag are no words of the text; nor is a list's numbering.
DESTINATION = re.compile(r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+(?:\"[^\"]*\"|'[^']*'))?\)")
DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*\S+")
ADDRESS = re.compile(r"<?\bhttps?://[^\s>)]+>?")
TAG = re.compile(r"</?[A-Za-z][^>]*>|<!--.*?-->")
LISTED = re.compile(r"^\s*\d{1,9}[.)](?=\s)")
MARKED = re.compile(r"^\s*[-*+](?=\s)")
# Possible characters between two numbers, or between a sign of comparison and a number, without a space.
BETWEEN = re.compile(
    r"[\s=<>\u2264\u2265\u2248~:;,!?/()\[\]{}\"'\u201c\u201d\u2018\u2019|*\\\u2014\u2015\u2026\uff1d\uff1a\uff08\uff0c]+"
)
# Characters that belong to the number after them.
SIGNS = ("-", "\u2212", "+", "\u00b1", ".")


def is_listed(line):
    """Return whether a line of Markdown is an entry of a numbered or marked list."""
    return bool(LISTED.match(line) or MARKED.match(line))


def typed_number(line, before=""):
    """Return the first number of a line of Markdown that begins a word, as it was typed; None where there is none.

    Digits of any script, with a sign, a point or a currency before them, fractions such as a half's own character, and
    whatever follows: 95-point, 9e1. Text of links, code and headings is read; addresses are not. A number inside a
    word, such as BLOOM-560m or macro-F1, belongs to a name. Numbers written in words are not looked for.

    Args:
        line: without names in braces.
        before: the line before it: a number at the start of a line that goes on with a paragraph is no list's, but
            for a 1.
    """
    words = html.unescape(line)
    paragraph = before.strip() and not is_listed(before) and not before.lstrip().startswith("#")
    goes_on = paragraph and not line.lstrip().startswith(("1.", "1)"))
    for pattern in (*([] if goes_on else [LISTED]), DEFINITION, DESTINATION, ADDRESS, TAG):
        words = pattern.sub(" ", words)
    for word in BETWEEN.split(words):
        start = next((place for place, sign in enumerate(word) if sign.isalnum()), None)
        if start is not None and word[start].isnumeric():
            end = max(place for place, sign in enumerate(word) if sign.isalnum())
            sign = word[start - 1 : start]
            return (sign if sign in SIGNS else "") + word[start : end + 1]
    return None
