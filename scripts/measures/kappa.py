"""Cohen's kappa: agreement of answers and classes beyond that of chance with the same shares."""

import numpy as np

from measures._jackknife import confusion, leave_one_out_of_counts

LABEL, UNIT, HIGHER_IS_BETTER = "Cohen's kappa", "", True


def of_counts(counts):
    """Return 1 - disagreement / disagreement expected by chance, at most 1; 0 where chance leaves none.

    Args:
        counts: (K, K) texts by class (row) and answer (column).

    Source: Cohen 1960, Educational and Psychological Measurement 20(1); scikit-learn's `cohen_kappa_score`.
    """
    there = counts.sum(axis=0) + counts.sum(axis=1) > 0
    counts = counts[np.ix_(there, there)]
    answers, texts = counts.sum(axis=0), counts.sum(axis=1)
    expected, apart = np.outer(answers, texts) / counts.sum(), 1 - np.eye(len(counts), dtype=int)
    chance = np.sum(apart * expected)
    return float(1 - np.sum(apart * counts) / chance) if chance else 0.0


def value(labels, answers, probabilities):
    """Return the kappa of a run."""
    return of_counts(confusion(labels, answers, probabilities.shape[1]))


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values: no mean over texts is a kappa."""
    return leave_one_out_of_counts(of_counts, labels, answers, probabilities.shape[1])
