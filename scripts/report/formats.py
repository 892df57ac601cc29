"""Formats of values on the page: filters of sentences, and formats of tables' columns."""

import re

from markupsafe import Markup, escape

from analysis.verdicts import p_text, points
from common.arms import arm_label, percent
from report.numbers import printing
from study.grids import written

ABSENT = "–"


def integer(value):
    """Return a whole number with thin spaces between thousands."""
    return f"{int(float(value)):,}".replace(",", "\u202f") if value != "" else ""


def decimals(value, places):
    """Return a number with fixed decimals."""
    return f"{float(value):.{places}f}" if value != "" else ""


def signed(value, places):
    """Return a difference with fixed decimals, its sign and a true minus sign."""
    return f"{float(value):+.{places}f}".replace("-", "\N{MINUS SIGN}") if value != "" else ""


def significant(value, digits):
    """Return a number with significant digits."""
    return f"{float(value):.{digits}g}" if value != "" else ""


def p_value(value):
    """Return a p-value with two significant digits, never as 0."""
    return "< 0.0001" if value != "" and float(value) < 1e-4 else significant(value, 2)


def prefix(value, length):
    """Return the first signs of a text, such as a hash."""
    return value[:length]


def word(value, place):
    """Return one of a text's words, counted from 0."""
    return value.split()[place]


def moment(value):
    """Return a time in UTC as `2026-01-02 10:00:00`."""
    return value.removesuffix("+00:00").replace("T", " ")


def gibibytes(value):
    """Return MiB as whole GiB."""
    return f"{float(value) / 1024:.0f}"


def best_of_k(value):
    """Return `1=0.71 2=0.73` as `1: 71.00, 2: 73.00`."""
    parts = [part.split("=") for part in value.replace(";", " ").replace(",", " ").split() if "=" in part]
    return ", ".join(f"{k}: {percent(accuracy)}" for k, accuracy in parts)


def joined(form, *parts):
    """Return a text with `{}` filled in; what is recorded stays so."""
    return Markup(form).format(*parts)


def series(items, word="and"):
    """Return `a`, `a and b` or `a, b and c`, or with another word."""
    items = [escape(item) for item in items]
    return items[0] if len(items) == 1 else joined("{} {} {}", Markup(", ").join(items[:-1]), word, items[-1])


def run_name(arm, seed):
    """Return the run's name, as `common.arms.run_label` has it."""
    return joined("{}/seed{}", arm, seed)


def line(text):
    """Return text on one line; a space that must not break stays as it is."""
    return Markup(re.sub(r"[ \n]+", " ", escape(text)).strip(" "))


# These print a number and record themselves with the text.
PRINTERS = {
    "percent": percent,
    "integer": integer,
    # A look's level of 0.9967 is not rounded to 100 %.
    "level": lambda value: f"{100 * float(value):.4g}",
    "decimals": decimals,
    "signed": signed,
    "significant": significant,
    "p_value": p_value,
    "p_text": lambda value: p_text(float(value)),
    "points": lambda value: points(float(value)),
    "prefix": prefix,
    "word": word,
    "part": lambda value, place: value.split("\t")[place],
    "moment": moment,
    "gibibytes": gibibytes,
    "best_of_k": best_of_k,
    "rate": lambda value: written(float(value)) if value != "" else "",
}
# Templates may use these filters. They alone print numbers; a new one needs its reading in check_report.
FILTERS = {name: printing(name, show) for name, show in PRINTERS.items()} | {
    "series": series,
    "line": line,
    "arm": lambda row: arm_label(row["arm"]),
    "run": lambda row: run_name(row["arm"], row["seed"]),
}


def sort_key(text):
    """Return a text to sort by; a decimal fraction has six digits, which is more than the page prints."""
    return f"{float(text):.6g}" if re.fullmatch(r"-?\d+\.\d+", text) else text


def cell(text, sort=None, colour=None, code=False, href=None, lang=None):
    """Return a table cell.

    Args:
        text: what is shown; None or an empty string shows a dash.
        sort: number or text to sort by, when it is not the text.
        colour: `#RRGGBB` of a swatch before the text (an arm's).
        code: show in a fixed-width face (hashes, settings).
        href: link target relative to the results folder.
        lang: language of the text when it is not the page's, such as `fr`.
    """
    if text is None or text == "":
        text = ABSENT
    return {
        "text": text if hasattr(text, "__html__") else str(text),
        "sort": None if sort is None or sort == "" else sort_key(str(sort)),
        "colour": colour,
        "code": code,
        "href": href,
        "lang": lang,
    }


def sorted_by_value(show):
    """Return the column format of a filter: sorted by the file's value."""
    return lambda value, *options: cell(show(value, *options), sort=value)


def interval(low, high):
    """Show an interval of fractions in per cent; a dash where there is none."""
    show = FILTERS["percent"]
    return cell(joined("{} to {}", show(low), show(high)) if low else "", sort=low)


def plain_range(low, high):
    """Show an interval of values that are no shares; a dash where there is none."""
    show = FILTERS["decimals"]
    return cell(joined("{} to {}", show(low, 3), show(high, 3)) if low else "", sort=low)


def pair(arm, other, between):
    """Show two arms."""
    return cell(joined("{} {} {}", arm_label(arm), between, arm_label(other)))


# The formats of a table's columns: {format: (alignment, function of the column's values and options)}. `number` is
# right-aligned, `wide` wraps freely.
FORMATS = {
    "text": ("", cell),
    "wide": ("wide", cell),
    "code": ("", lambda value: cell(value, code=True)),
    "code_wide": ("wide", lambda value: cell(value, code=True)),
    "otherwise": ("wide", lambda text, words: cell(text or words)),
    "number": ("number", cell),
    **{
        name: ("number", sorted_by_value(FILTERS[name]))
        for name in ("integer", "percent", "decimals", "significant", "p_value", "rate", "points")
    },
    "interval": ("number", interval),
    "range": ("number", plain_range),
    "share": ("number", lambda part, whole: cell(joined("{} of {}", part, whole))),
    "best_of_k": ("wide", lambda value: cell(FILTERS["best_of_k"](value))),
    "yes_no": ("", lambda value: cell({"true": "yes", "false": "no"}.get(value, value))),
    "flag": ("", lambda value, word: cell(word if value == "true" else " ")),
    # The arm's colour, which the page knows, is added.
    "arm": ("", lambda arm, colour: cell(arm_label(arm), colour=colour)),
    "arm_name": ("", lambda arm: cell(arm_label(arm))),
    "pair": ("", pair),
    "run": ("", lambda arm, seed: cell(run_name(arm, seed))),
    "link": ("", lambda text, href: cell(text, href=href)),
    "link_wide": ("wide", lambda text, href: cell(text, href=href)),
    "link_code": ("", lambda text, href: cell(text, code=True, href=href)),
    "link_code_wide": ("wide", lambda text, href: cell(text, code=True, href=href)),
    "foreign": ("wide", lambda text, lang: cell(text, lang=lang)),
}
