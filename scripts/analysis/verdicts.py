"""The form of differences and p values in sentences."""

import re


def points(value, sign=True):
    """Return a fraction as percentage points, two decimals, with a true minus sign."""
    return f"{value * 100:{'+' if sign else ''}.2f}".replace("-", "\N{MINUS SIGN}")


def p_text(p):
    """Return a p value with two significant digits, as in 'p = 0.29' and 'p = 8.5e-05'."""
    return f"p = {p:.2g}"


def without_names(text, names):
    """Return a text without these names, where they are whole words: an arm called 1 does not change 1.5 and 1e-05."""
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.+\-\u2212])(?:{words})(?!\w|\.\d)", "", text) if words else text
