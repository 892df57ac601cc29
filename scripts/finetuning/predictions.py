"""A run's answers to the test reviews: predictions of the chosen epoch, and accuracy of every kept epoch."""

import numpy as np

import tasks
from common.errors import StudyError
from common.files import atomic_path, read_json, read_tsv, write_tsv
from finetuning.prediction_files import HISTORY, write_rows
from finetuning.scoring import summarize
from measures import DEFAULT, leading, load


def write_predictions(path, logits, labels, problem=None):
    """Write a classifier's answer to each review.

    Args:
        path: TSV, see `finetuning.prediction_files.write_rows`.
        logits: float32 (n, classes).
        labels: n labels.
        problem: the model's `problem_type`.
    """
    kind = tasks.of_problem(problem)
    write_rows(path, labels, kind.answers(logits).tolist(), kind.probabilities(logits.float()), kind)


def write_test_curve(path, history, score_epoch, selected, predictions, tensorboard):
    """Write the accuracy on test after every epoch: for figures and TensorBoard only, made after training.

    Where another measure leads the study, its values come after those of accuracy.

    Args:
        path: TSV: the columns of `history.tsv`; split is test, metric accuracy (fraction) or the leading measure.
        history: the run's `history.tsv`: it lists the epochs.
        score_epoch: function of an epoch (1-based) that returns logits float32 (n, classes) and n labels.
        selected: the run's `selected.json`: the chosen epoch, and the leading measure.
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
    choice, rows, led = read_json(selected), [], []
    lead = leading(choice)
    more = None if lead == DEFAULT else lead
    for epoch, update in epochs:
        place = {"epoch": epoch, "update": update, "split": "test"}
        found = answered(predictions, more) if epoch == choice["epoch"] else summarize(*score_epoch(epoch), more)
        rows.append(place | {"metric": "accuracy", "value": found["accuracy"]})
        led += [place | {"metric": lead, "value": found[lead]}] if more else []
    write_tsv(path, rows + led, HISTORY)
    with atomic_path(tensorboard) as temporary:
        curves = Curves(temporary)
        for row in rows:
            curves.measure("test", row["update"], accuracy=row["value"])
        curves.close()


def answered(predictions, measure=None):
    """Return the accuracy of what `write_predictions` wrote, and the value of a measure.

    Args:
        predictions: its path.
        measure: name of a measure, or None.
    """
    rows = read_tsv(predictions)
    found = {"accuracy": sum(row["label"] == row["prediction"] for row in rows) / len(rows)}
    if measure:
        names = [name for name in rows[0] if name.startswith("probability")]
        probabilities = np.array([[float(row[name]) for name in names] for row in rows])
        if len(names) == 1:
            probabilities = np.hstack([1 - probabilities, probabilities])
        labels, answers = (np.array([int(row[name]) for row in rows]) for name in ("label", "prediction"))
        found[measure] = load(measure).value(labels, answers, probabilities)
    return found
