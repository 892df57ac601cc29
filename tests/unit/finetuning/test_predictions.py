"""The test curve: every epoch is scored but the chosen one, whose predictions there are."""

import pytest
import torch

from common.errors import StudyError
from common.files import read_tsv, write_json, write_tsv
from finetuning.prediction_files import HISTORY
from finetuning.predictions import write_predictions, write_test_curve
from support.curves import curves

LABELS = [0, 1, 1, 0]
# How many of the four reviews an epoch gets right.
RIGHT = {1: 1, 2: 4, 3: 3}


def logits_of(epoch):
    answers = [label if i < RIGHT[epoch] else 1 - label for i, label in enumerate(LABELS)]
    return torch.nn.functional.one_hot(torch.tensor(answers), 2).float()


def write_history(path, epochs):
    keys = {"split": "valid", "metric": "accuracy", "value": 0.5}
    write_tsv(path, ({"epoch": epoch, "update": 10 * epoch, **keys} for epoch in epochs), HISTORY)


def test_the_chosen_epoch_is_taken_from_its_predictions_and_the_others_are_scored(tmp_path):
    write_history(tmp_path / "history.tsv", RIGHT)
    write_json(tmp_path / "selected.json", {"epoch": 2, "update": 20})
    write_predictions(tmp_path / "predictions.tsv", logits_of(2), LABELS)
    scored = []

    def score_epoch(epoch):
        scored.append(epoch)
        return logits_of(epoch), LABELS

    names = ("curve.tsv", "history.tsv", "selected.json", "predictions.tsv")
    curve, history, selected, predictions = (str(tmp_path / name) for name in names)
    write_test_curve(curve, history, score_epoch, selected, predictions, tmp_path / "tensorboard")
    assert scored == [1, 3]
    rows = [(row["epoch"], row["update"], row["split"], float(row["value"])) for row in read_tsv(curve)]
    assert rows == [(str(n), str(10 * n), "test", RIGHT[n] / 4) for n in (1, 2, 3)]
    # TensorBoard has the same points, by update, and no other curve.
    assert curves(tmp_path / "tensorboard") == {"test/accuracy": {10 * n: RIGHT[n] / 4 for n in (1, 2, 3)}}


def test_an_empty_history_is_said_to_be_empty(tmp_path):
    write_history(tmp_path / "history.tsv", [])
    with pytest.raises(StudyError, match="is empty: train the run again"):
        write_test_curve("curve.tsv", str(tmp_path / "history.tsv"), None, "selected.json", "predictions.tsv", "board")
