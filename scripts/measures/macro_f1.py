"""The mean over classes of F1, which a rare class moves as much as a frequent one."""

import numpy as np

from measures._jackknife import confusion, leave_one_out_of_counts

LABEL, UNIT, HIGHER_IS_BETTER = "macro-F1", "share", True


def of_counts(counts):
    """Return the mean over classes of F1 = 2 · right / (texts + answers); 0 for a class with neither.

    Args:
        counts: (K, K) texts by class (row) and answer (column).

    Source: scikit-learn's `f1_score`, average="macro", zero_division=0.
    """
    sums = counts.sum(axis=0) + counts.sum(axis=1)
    return float(np.divide(2 * np.diag(counts), sums, out=np.zeros(len(counts)), where=sums > 0).mean())


def value(labels, answers, probabilities):
    """Return the macro-F1 of a run."""
    return of_counts(confusion(labels, answers, probabilities.shape[1]))


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values: no mean over texts is an F1."""
    return leave_one_out_of_counts(of_counts, labels, answers, probabilities.shape[1])
