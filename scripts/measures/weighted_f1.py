"""The mean over classes of F1, each class weighted by its texts."""

import numpy as np

from measures._jackknife import confusion, leave_one_out_of_counts

LABEL, UNIT, HIGHER_IS_BETTER = "weighted F1", "share", True


def of_counts(counts):
    """Return the mean of F1 = 2 · right / (texts + answers), weighted by texts; 0 for a class with neither.

    Args:
        counts: (K, K) texts by class (row) and answer (column).

    Source: scikit-learn's `f1_score`, average="weighted", zero_division=0.
    """
    texts = counts.sum(axis=1)
    sums = counts.sum(axis=0) + texts
    each = np.divide(2 * np.diag(counts), sums, out=np.zeros(len(counts)), where=sums > 0)
    return float(np.average(each, weights=texts))


def value(labels, answers, probabilities):
    """Return the weighted F1 of a run."""
    return of_counts(confusion(labels, answers, probabilities.shape[1]))


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values: no mean over texts is an F1."""
    return leave_one_out_of_counts(of_counts, labels, answers, probabilities.shape[1])
