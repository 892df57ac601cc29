"""The files of a run that any framework can write: predictions and history, without PyTorch."""

import numpy as np

import measures
import tasks
from common.errors import StudyError
from common.files import write_tsv

COLUMNS = ("id", "label", "prediction", "probability")
HISTORY = ("epoch", "update", "split", "metric", "value")


def columns_of(n_classes):
    """Return the columns of a predictions file; with more than two classes, each has a probability."""
    if n_classes == 2:
        return COLUMNS
    return (*COLUMNS[:3], *(f"probability_{k}" for k in range(n_classes)))


def write_rows(path, labels, predictions, probabilities, kind=None):
    """Write a classifier's answer to each text.

    Args:
        path: TSV: `id` (line of the test file, from 0), `label`, `prediction`, and, for two classes, `probability` (of
            class 1), for more, `probability_0`, `probability_1`, ….
        labels, predictions: n numbers from 0.
        probabilities: (n, classes).
        kind: module of another kind of labels (`tasks`), whose columns it gives; its arrays take the place of these.
    """
    if kind not in (None, tasks.load(tasks.DEFAULT)):
        shown = np.empty((len(labels), 0)) if probabilities is None else np.asarray(probabilities, dtype=float)
        columns = (*COLUMNS[:3], *kind.columns(shown.shape[1]))
        cells = (kind.cells(np.asarray(values)) for values in (labels, predictions))
        rows = zip(range(len(labels)), *cells, shown.tolist(), strict=True)
        write_tsv(path, (dict(zip(columns, (*row, *values), strict=True)) for *row, values in rows), columns)
        return
    n_classes = probabilities.shape[1]
    columns = columns_of(n_classes)
    shown = (probabilities[:, 1:] if n_classes == 2 else probabilities).tolist()
    rows = zip(range(len(predictions)), map(int, labels), predictions, shown, strict=True)
    write_tsv(path, (dict(zip(columns, (*row, *values), strict=True)) for *row, values in rows), columns)


def checked_scores(found, texts, labels, framework, task=tasks.DEFAULT):
    """Return the checked result of a framework's `score` as float64 (n, outputs).

    Args:
        found: (n, outputs), each row a probability for each class or label, or a number.
        texts: n texts.
        labels: their names in order; none of numbers.
        framework: its name, for messages.
        task: kind of the labels.

    Raises:
        StudyError: another shape, or a row that is none of its kind.
    """
    found, kind = np.asarray(found, dtype=np.float64), tasks.load(task)
    place = f"scripts/frameworks/{framework}/score.py"
    wanted = f"for each of the {len(labels)} classes" if labels else "for its number"
    if found.shape != (len(texts), len(labels) or 1):
        raise StudyError(
            f"{place}: score returned an array of shape {found.shape}; return one row for each of the {len(texts)} "
            f"texts and one column {wanted}"
        )
    right = kind.are_right(found)
    if not right.all():
        row = int(np.argmin(right))
        raise StudyError(f"{place}: score returned {found[row].tolist()} for text {row + 1}; return {kind.WANTED}")
    return found


def summarise(scores, labels, task=tasks.DEFAULT, measure=measures.DEFAULT):
    """Return what a history says of scored texts: {metric: value}.

    Of classes loss (nats, mean per text), unless the answers came without probabilities; of what is right or wrong
    accuracy (share) and n_correct; and the leading measure. A true class of probability 0 counts as the smallest
    positive float, so that the loss stays finite.

    Args:
        scores: float64 (n, outputs).
        labels: n values as `tasks` has them.
        task: kind of the labels.
        measure: name of the measure that leads the study.

    Raises:
        StudyError: answers without probabilities have no value of that measure.
    """
    kind, found = tasks.load(task), {}
    truth, (answers, shares) = kind.array(labels), kind.given(scores)
    if task == tasks.DEFAULT and not hard(scores):
        of_class = np.maximum(scores[np.arange(len(truth)), truth], np.finfo(np.float64).tiny)
        found["loss"] = float(-np.log(of_class).mean())
    if kind.COUNTED:
        right = int((answers == truth).reshape(len(truth), -1).all(axis=1).sum())
        found |= {"accuracy": right / len(truth), "n_correct": right}
    if measure not in found:
        loaded = measures.load(measure)
        if getattr(loaded, "PROBABILITIES", False) and hard(scores):
            raise StudyError(
                f"the answers have no probabilities, which the measure {loaded.LABEL} needs; give them, or let another "
                "measure lead"
            )
        whole = truth.astype(np.int64) if truth.dtype.kind == "i" else truth
        found[measure] = loaded.value(whole, answers, shares)
    return found


def hard(probabilities):
    """Tell whether probabilities (n, classes) are all 0 or 1: answers that came without any."""
    return bool(((probabilities == 0) | (probabilities == 1)).all())
