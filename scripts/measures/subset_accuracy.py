"""The share of texts whose labels are all right, none more and none less."""

import numpy as np

LABEL, UNIT, HIGHER_IS_BETTER = "subset accuracy", "share", True
TASKS = ("multilabel",)
# Each text counts 0 or 1, and their mean is the value.
EXACT = True


def value(labels, answers, probabilities):
    """Return the share of whole sets."""
    return float(items(labels, answers, probabilities).mean())


def items(labels, answers, probabilities):
    """Return 1 for each text whose set is right and 0 for each other."""
    return np.equal(labels, answers).all(axis=1).astype(float)
