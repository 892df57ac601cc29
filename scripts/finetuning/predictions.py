"""A run's answers to the test reviews: predictions of the chosen epoch, and accuracy of every kept epoch."""

import torch

from common.errors import StudyError
from common.files import atomic_path, read_json, read_tsv, write_tsv
from finetuning.prediction_files import HISTORY, write_rows
from finetuning.scoring import summarize


def write_predictions(path, logits, labels):
    """Write a classifier's answer to each review.

    Args:
        path: TSV, see `finetuning.prediction_files.write_rows`.
        logits: float32 (n, classes).
        labels: n labels, numbers from 0.
    """
    write_rows(path, labels, logits.argmax(dim=1).tolist(), torch.softmax(logits.float(), dim=1))


def write_test_curve(path, history, score_epoch, selected, predictions, tensorboard):
    """Write the accuracy on test after every epoch: for figures and TensorBoard only, made after training.

    Args:
        path: TSV: the columns of `history.tsv`; split is test, metric accuracy (fraction).
        history: the run's `history.tsv`: it lists the epochs.
        score_epoch: function of an epoch (1-based) that returns logits float32 (n, classes) and n labels.
        selected: the run's `selected.json`: the chosen epoch.
        predictions: predictions of that epoch, from `write_predictions`: it is not scored a second time.
        tensorboard: folder to write, with `test/accuracy` by update. It is separate from the training's, which is
            finished.

    Raises:
        StudyError: the history is empty.
    """
    from training.loss_curves import Curves

    epochs = sorted({(int(row["epoch"]), int(row["update"])) for row in read_tsv(history)})
    if not epochs:
        raise StudyError(f"{history} is empty: train the run again")
    chosen, rows = read_json(selected)["epoch"], []
    for epoch, update in epochs:
        if epoch == chosen:
            answers = [row["label"] == row["prediction"] for row in read_tsv(predictions)]
            accuracy = sum(answers) / len(answers)
        else:
            accuracy = summarize(*score_epoch(epoch))["accuracy"]
        rows.append({"epoch": epoch, "update": update, "split": "test", "metric": "accuracy", "value": accuracy})
    write_tsv(path, rows, HISTORY)
    with atomic_path(tensorboard) as temporary:
        curves = Curves(temporary)
        for row in rows:
            curves.measure("test", row["update"], accuracy=row["value"])
        curves.close()
