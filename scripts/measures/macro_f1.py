"""The mean over classes of F1, which a rare class moves as much as a frequent one."""

import numpy as np

from measures._jackknife import confusion, leave_one_out_of_counts

LABEL, UNIT, HIGHER_IS_BETTER = "macro-F1", "share", True
TASKS = ("classification", "multilabel")


def of_counts(counts):
    """Return the mean over classes of F1 = 2 · right / (texts + answers); 0 for a class with neither.

    Args:
        counts: (K, K) texts by class (row) and answer (column).

    Source: scikit-learn's `f1_score`, average="macro", zero_division=0.
    """
    sums = counts.sum(axis=0) + counts.sum(axis=1)
    return float(np.divide(2 * np.diag(counts), sums, out=np.zeros(len(counts)), where=sums > 0).mean())


def sums(labels, answers):
    """Return, of sets of labels, 1 for each label given rightly, and the number of label and answer, (N, K) each."""
    labels, answers = (np.asarray(side, dtype=np.int64) for side in (labels, answers))
    return labels * answers, labels + answers


def of_sets(right, given):
    """Return the F1 of each label by how often it is given rightly and how often it is a label or an answer."""
    return np.divide(2.0 * right, given, out=np.zeros(np.shape(given)), where=given > 0)


def value(labels, answers, probabilities):
    """Return the macro-F1 of a run."""
    if labels.ndim == 2:
        return float(of_sets(*(side.sum(axis=0) for side in sums(labels, answers))).mean())
    return of_counts(confusion(labels, answers, probabilities.shape[1]))


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values: no mean over texts is an F1."""
    if labels.ndim == 2:
        n, without = len(labels), of_sets(*(side.sum(axis=0) - side for side in sums(labels, answers)))
        return n * value(labels, answers, probabilities) - (n - 1) * without.mean(axis=1)
    return leave_one_out_of_counts(of_counts, labels, answers, probabilities.shape[1])
