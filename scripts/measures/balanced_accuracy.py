"""The mean over classes of the share of their texts that are answered rightly."""

import numpy as np

from measures._jackknife import confusion

LABEL, UNIT, HIGHER_IS_BETTER = "balanced accuracy", "share", True


def value(labels, answers, probabilities):
    """Return the mean of the classes' recall; a class without a text has none and is left out.

    Source: scikit-learn's `balanced_accuracy_score`.
    """
    counts = confusion(labels, answers, probabilities.shape[1])
    texts = counts.sum(axis=1)
    return float(np.mean(np.diag(counts)[texts > 0] / texts[texts > 0]))


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values with the classes that occur held fixed.

    Without text i of class k, of n texts, its recall r changes by (right_i - r) / (n - 1), so the pseudo-value is
    value + (N - 1) / (K (n - 1)) · (right_i - r). A class with one text keeps it.
    """
    counts = confusion(labels, answers, probabilities.shape[1])
    texts = counts.sum(axis=1)
    recall = np.diag(counts) / np.maximum(texts, 1)
    weights = (len(labels) - 1) / ((texts > 0).sum() * np.maximum(texts - 1, 1))
    return value(labels, answers, probabilities) + weights[labels] * (np.equal(labels, answers) - recall[labels])
