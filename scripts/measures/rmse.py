"""The root of the mean squared distance of numbers from their labels."""

import numpy as np

LABEL, UNIT, HIGHER_IS_BETTER = "RMSE", "", False
TASKS = ("regression",)


def value(labels, answers, probabilities):
    """Return the root of the mean squared distance."""
    return float(np.sqrt(np.mean((np.asarray(labels) - answers) ** 2)))


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values: a root of a mean is no mean over texts."""
    squares, n = (np.asarray(labels) - answers) ** 2, len(labels)
    without = np.sqrt(np.maximum(squares.sum() - squares, 0) / max(n - 1, 1))
    return n * value(labels, answers, probabilities) - (n - 1) * without
