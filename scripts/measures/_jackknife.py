"""Values of single texts for scores that are no mean over texts: jackknife pseudo-values."""

import numpy as np


def leave_one_out(value, labels, answers, probabilities):
    """Return (N,) jackknife pseudo-values: N times the score of all texts minus N - 1 times that without each.

    Args:
        value: function of labels, answers and probabilities.

    Source: Efron and Tibshirani 1993, An Introduction to the Bootstrap, section 11.5.
    """
    n = len(labels)
    kept = ~np.eye(n, dtype=bool)
    without = [value(labels[rest], answers[rest], probabilities[rest]) for rest in kept]
    return n * value(labels, answers, probabilities) - (n - 1) * np.asarray(without, dtype=float)


def confusion(labels, answers, n_classes):
    """Return (K, K) numbers of texts by class (row) and answer (column)."""
    counts = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(counts, (labels, answers), 1)
    return counts


def leave_one_out_of_counts(value, labels, answers, n_classes):
    """Return the result of `leave_one_out` for a score that depends on the confusion alone, in K² calls.

    Args:
        value: function of the (K, K) confusion.
    """
    counts, n = confusion(labels, answers, n_classes), len(labels)
    cells = {}
    for cell in zip(*np.nonzero(counts), strict=True):
        rest = counts.copy()
        rest[cell] -= 1
        cells[cell] = n * value(counts) - (n - 1) * value(rest)
    return np.array([cells[cell] for cell in zip(labels, answers, strict=True)], dtype=float)
