"""Read a run's predictions on test: each text has one, and nothing else has."""

import os

import tasks
from common.files import read_json
from finetuning.given_predictions import read_given


def score(folder, texts, n_classes, task=tasks.DEFAULT):
    """Return scores (texts, outputs), see `tasks`.

    Raises:
        StudyError: see `finetuning.given_predictions.read_given`.
    """
    given = read_json(os.path.join(folder, "given.json"))
    path = os.path.join(folder, given["file"])
    return read_given(path, texts, given["classes"], given["seed"], given["path"], task)
