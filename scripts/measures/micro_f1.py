"""F1 of all labels of all texts together, which frequent labels move most."""

import numpy as np

LABEL, UNIT, HIGHER_IS_BETTER = "micro-F1", "share", True
TASKS = ("multilabel",)


def of_counts(right, given):
    """Return 2 · right / (labels and answers); 0 where there is neither.

    Source: scikit-learn's `f1_score`, average="micro", zero_division=0.
    """
    return np.divide(2.0 * right, given, out=np.zeros(np.shape(given)), where=np.asarray(given) > 0)


def counts(labels, answers):
    """Return labels given rightly and labels plus answers, of each text (N,)."""
    labels, answers = (np.asarray(side, dtype=np.int64) for side in (labels, answers))
    return (labels * answers).sum(axis=1), labels.sum(axis=1) + answers.sum(axis=1)


def value(labels, answers, probabilities):
    """Return the micro-F1 of a run."""
    right, given = counts(labels, answers)
    return float(of_counts(right.sum(), given.sum()))


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values: no mean over texts is an F1."""
    (right, given), n = counts(labels, answers), len(labels)
    return n * value(labels, answers, probabilities) - (n - 1) * of_counts(right.sum() - right, given.sum() - given)
