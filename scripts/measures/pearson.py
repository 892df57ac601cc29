"""Pearson's correlation of numbers with their labels: 1 on a rising line."""

import numpy as np

LABEL, UNIT, HIGHER_IS_BETTER = "Pearson's correlation", "", True
TASKS = ("regression",)
BOUNDS = (-1.0, 1.0)


def of_sums(xx, yy, xy):
    """Return the correlation of sums of squares and products about the means; 0 where a side never varies."""
    spread = np.sqrt(xx) * np.sqrt(yy)
    return np.divide(xy, spread, out=np.zeros(np.shape(xy)), where=spread > 0)


def value(labels, answers, probabilities):
    """Return the correlation of a run.

    Source: scipy's `pearsonr`.
    """
    x, y = (np.asarray(side, dtype=float) for side in (labels, answers))
    if (x == x[0]).all() or (y == y[0]).all():
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return float(np.clip(x @ y, -1, 1))


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values: no mean over texts is a correlation.

    Without a text at distance d from the mean of n a sum of squares about the mean is less by d² · n / (n - 1).
    """
    n = len(labels)
    x, y = (np.asarray(side, dtype=float) - np.mean(side) for side in (labels, answers))
    share = n / max(n - 1, 1)
    without = of_sums(np.maximum(x @ x - share * x * x, 0), np.maximum(y @ y - share * y * y, 0), x @ y - share * x * y)
    return n * value(labels, answers, probabilities) - (n - 1) * without
