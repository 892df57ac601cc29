"""The share of right answers."""

import numpy as np

LABEL, UNIT, HIGHER_IS_BETTER = "accuracy", "share", True
# Each text counts 0 or 1, and their mean is the value.
EXACT = True


def value(labels, answers, probabilities):
    """Return the share of answers that equal their label."""
    return float(items(labels, answers, probabilities).mean())


def items(labels, answers, probabilities):
    """Return 1 for each right answer and 0 for each wrong one."""
    return np.equal(labels, answers).astype(float)
