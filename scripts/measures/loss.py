"""Cross entropy, to which confident wrong answers contribute most."""

import numpy as np

LABEL, UNIT, HIGHER_IS_BETTER = "loss", "nats", False
# It means nothing of answers without probabilities.
PROBABILITIES = True


def value(labels, answers, probabilities):
    """Return the mean of -log of the probability of the right class, in nats."""
    return float(items(labels, answers, probabilities).mean())


def items(labels, answers, probabilities):
    """Return -log of the probability of each text's right class; one below the least of float32 counts as that."""
    given = np.take_along_axis(np.asarray(probabilities, dtype=float), np.asarray(labels)[:, None], axis=1)[:, 0]
    return -np.log(np.maximum(given, np.finfo(np.float32).tiny))
