"""Numbers that count as typed: each form that digits take, and what is a name or an address."""

import pytest

from tools.typed_numbers import typed_number


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("The gain is -93.2 points.", "-93.2"),
        ("The gain is \N{MINUS SIGN}93.2 points.", "\N{MINUS SIGN}93.2"),
        ("a 95-point gain", "95-point"),
        ("accuracy of .95", ".95"),
        ("[95.2 %](runs.tsv)", "95.2"),
        ("![95 seeds](figures/arms.png)", "95"),
        ("`95.2`", "95.2"),
        ("    95.2 in a block of code", "95.2"),
        ("95pp", "95pp"),
        ("9e1 %", "9e1"),
        ("\N{VULGAR FRACTION ONE HALF} of them", "\N{VULGAR FRACTION ONE HALF}"),
        ("&frac12; of them", "\N{VULGAR FRACTION ONE HALF}"),
        ("&#57;5 %", "95"),
        ("p<0.05", "0.05"),
        ("n=5", "5"),
        ("\N{PLUS-MINUS SIGN}1.2", "\N{PLUS-MINUS SIGN}1.2"),
        ("**95** %", "95"),
        ("_95_ %", "95"),
        ("the best\N{EM DASH}95.2 %\N{EM DASH}is", "95.2"),
        ("and\N{HORIZONTAL ELLIPSIS}95", "95"),
        ("accuracy\N{FULLWIDTH EQUALS SIGN}95", "95"),
        ("~95 %", "95"),
        ("$95$ %", "95"),
        ("\\95 %", "95"),
        ("\uff19\uff15 %", "\uff19\uff15"),
        ("\u0669\u0665 %", "\u0669\u0665"),
        ("two to 3", "3"),
        ("(1\N{EN DASH}2)", "1\N{EN DASH}2"),
        ("# 2 of them", "2"),
        ("| 95.2 |", "95.2"),
        ("<b>95</b>", "95"),
        ("a|95", "95"),
        ("1.5 is no list", "1.5"),
        ("[95]: is no definition 3", "3"),
    ],
)
def test_it_is_a_typed_number(line, number):
    assert typed_number(line) == number


@pytest.mark.parametrize(
    "line",
    [
        "BLOOM-560m, GPT2 and macro-F1 on an H100, utf-8, seed2",
        "![Arms](figures/seed1/arms2.png)",
        '[Runs](runs3.tsv "title")',
        "[runs]: https://example.org/2024/runs.tsv",
        "See https://example.org/2024 and <https://example.org/3>.",
        '<img src="a.png" width="50">',
        "1. first",
        "  12) twelfth",
        "ninety-five, one half",
        "<!-- 95 -->",
        "",
    ],
)
def test_it_is_none(line):
    assert typed_number(line) is None


@pytest.mark.parametrize(
    ("before", "line", "typed"),
    [
        ("The mean of five seeds is", "95. It is high.", "95"),
        ("", "95. It is high.", None),
        ("94. The first.", "95. The second.", None),
        ("- a point", "2. The second.", None),
        ("## Heading", "2. The second.", None),
        # A list may interrupt a paragraph with its first number alone.
        ("Two things:", "1. The first.", None),
    ],
)
def test_a_wrapped_line_that_begins_with_a_number_is_no_list(before, line, typed):
    assert typed_number(line, before) == typed
