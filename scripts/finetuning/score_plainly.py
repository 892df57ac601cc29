"""Score the test texts with a framework that has no rules: its `score` sees no label."""

import importlib

import numpy as np

from common.entry import run
from common.files import atomic_path, read_lines
from data.reviews import POLARITY
from finetuning.prediction_files import checked_probabilities


def main(model, reviews, framework, probabilities, classes=POLARITY, threads=1, hours=None):
    """Write the probabilities of the classes.

    Args:
        model: folder that the run's training wrote.
        reviews: file of the test split.
        framework: its name.
        probabilities: `.npy` to write: float64 (n, classes), in the order of the file.
        classes: names of the classes in order.
        threads: CPU threads.
        hours: of a framework whose arms say how long a job may take; None: it is not asked.

    Raises:
        StudyError: see `finetuning.prediction_files.checked_probabilities`.
    """
    texts = read_lines(reviews)
    limits = {} if hours is None else {"hours": hours, "threads": threads}
    found = importlib.import_module(f"frameworks.{framework}.score").score(model, texts, len(classes), **limits)
    with atomic_path(probabilities) as temporary, open(temporary, "wb") as handle:
        np.save(handle, checked_probabilities(found, texts, classes, framework))


if __name__ == "__main__":
    run(main, snakemake)
