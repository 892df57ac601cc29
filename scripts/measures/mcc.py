"""Matthews' correlation coefficient: 0 for answers that tell nothing of the classes, whatever their shares."""

import math

from measures._jackknife import confusion, leave_one_out_of_counts

LABEL, UNIT, HIGHER_IS_BETTER = "Matthews' correlation", "", True


def of_counts(counts):
    """Return the correlation of classes and answers, -1 to 1; 0 where either never varies.

    Args:
        counts: (K, K) texts by class (row) and answer (column).

    Source: Gorodkin 2004, Computational Biology and Chemistry 28(5), for K classes; scikit-learn's `matthews_corrcoef`.
    """
    # As Python's integers: products of sums over 100,000 texts do not fit into 64 bits when squared.
    of_class, of_answer = ([int(n) for n in counts.sum(axis=axis)] for axis in (1, 0))
    n, right = int(counts.sum()), int(counts.trace())
    covariance = right * n - sum(a * b for a, b in zip(of_class, of_answer, strict=True))
    spread = (n * n - sum(a * a for a in of_class)) * (n * n - sum(b * b for b in of_answer))
    return covariance / math.sqrt(spread) if spread else 0.0


def value(labels, answers, probabilities):
    """Return the correlation of a run."""
    return of_counts(confusion(labels, answers, probabilities.shape[1]))


def items(labels, answers, probabilities):
    """Return jackknife pseudo-values: no mean over texts is a correlation."""
    return leave_one_out_of_counts(of_counts, labels, answers, probabilities.shape[1])
