"""Read a run's predictions on test: each text has one, and nothing else has."""

import os

from common.files import read_json
from finetuning.given_predictions import read_given


def score(folder, texts, n_classes):
    """Return probabilities (texts, n_classes).

    Raises:
        StudyError: see `finetuning.given_predictions.read_given`.
    """
    given = read_json(os.path.join(folder, "given.json"))
    return read_given(os.path.join(folder, given["file"]), texts, given["classes"], given["seed"], given["path"])
