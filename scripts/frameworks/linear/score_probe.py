"""Score the features of the test texts with a run's linear model; it sees no label."""

import numpy as np

from common.entry import run
from common.files import atomic_path
from frameworks.linear.probes import predict


def main(model, features, probabilities):
    """Write the probabilities of the classes.

    Args:
        model: what `frameworks.linear.fit_probe` wrote.
        features: `.npy` of the test split.
        probabilities: `.npy` to write: float64 (n, classes).
    """
    with np.load(model) as arrays, atomic_path(probabilities) as temporary, open(temporary, "wb") as handle:
        np.save(handle, predict(dict(arrays), np.load(features)))


if __name__ == "__main__":
    run(main, snakemake)
