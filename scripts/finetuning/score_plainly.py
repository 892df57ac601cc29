"""Score the test texts with a framework that has no rules: its `score` sees no label."""

import importlib

import numpy as np

import tasks
from common.entry import run
from common.files import atomic_path, read_lines
from data.reviews import POLARITY
from finetuning.prediction_files import checked_scores


def main(model, reviews, framework, probabilities, classes=POLARITY, threads=1, hours=None, task=tasks.DEFAULT):
    """Write the scores of the texts.

    Args:
        model: folder that the run's training wrote.
        reviews: file of the test split.
        framework: its name.
        probabilities: `.npy` to write: float64 (n, outputs), see `tasks`, in the order of the file.
        classes: names of the classes in order.
        threads: CPU threads.
        hours: of a framework whose arms say how long a job may take; None: it is not asked.
        task: kind of the labels.

    Raises:
        StudyError: see `finetuning.prediction_files.checked_scores`.
    """
    texts = read_lines(reviews)
    limits = {} if hours is None else {"hours": hours, "threads": threads}
    limits |= {} if task == tasks.DEFAULT else {"task": task}
    found = importlib.import_module(f"frameworks.{framework}.score").score(model, texts, len(classes), **limits)
    with atomic_path(probabilities) as temporary, open(temporary, "wb") as handle:
        np.save(handle, checked_scores(found, texts, classes, framework, task))


if __name__ == "__main__":
    run(main, snakemake)
