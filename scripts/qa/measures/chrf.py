"""chrF of answers against references: agreement in runs of one to six characters."""

from qa.answers import chrf
from qa.pseudo_values import leave_one_out

LABEL, UNIT, HIGHER_IS_BETTER, ON = "chrF", "points", True, "held-out questions"
NEEDS = ("answer", "reference")


def value(rows):
    """Return chrF over all answers together, 0 to 100."""
    return chrf([row["answer"] for row in rows], [row["reference"] for row in rows])[0]


def items(rows):
    """Return jackknife pseudo-values: chrF of a corpus is no mean over its answers."""
    return leave_one_out(value, rows)
