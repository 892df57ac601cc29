"""Spearman's correlation: Pearson's of the ranks of numbers and labels."""

import numpy as np

from measures.pearson import value as pearson

LABEL, UNIT, HIGHER_IS_BETTER = "Spearman's correlation", "", True
TASKS = ("regression",)
BOUNDS = (-1.0, 1.0)


def ranks(values):
    """Return ranks from 1; equal values share the mean of theirs."""
    values = np.asarray(values, dtype=float)
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") + 1) / 2


def value(labels, answers, probabilities):
    """Return the correlation of a run.

    Source: scipy's `spearmanr`.
    """
    return pearson(ranks(labels), ranks(answers), probabilities)


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values.

    Without a text those above it lose one rank, those equal to it half of one.
    """
    sides, n = [np.asarray(side, dtype=float) for side in (labels, answers)], len(labels)
    ranked = [ranks(side) for side in sides]
    without = np.empty(n)
    for i in range(n):
        left = [np.delete(r - (s > s[i]) - 0.5 * (s == s[i]), i) for r, s in zip(ranked, sides, strict=True)]
        without[i] = pearson(*left, None) if n > 1 else 0.0
    return n * value(labels, answers, probabilities) - (n - 1) * without
