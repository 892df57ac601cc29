"""ROUGE-L of answers against references: agreement in the longest common subsequence of words."""

import statistics

from qa.answers import rouge_l

LABEL, UNIT, HIGHER_IS_BETTER, ON = "ROUGE-L", "share", True, "held-out questions"
NEEDS = ("answer", "reference")


def value(rows):
    """Return the mean F1 over answers, 0 to 1."""
    return statistics.fmean(items(rows))


def items(rows):
    """Return the F1 of each answer."""
    return [rouge_l([row["answer"]], [row["reference"]]) for row in rows]
