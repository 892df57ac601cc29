"""The files of a run that any framework can write: predictions and history, without PyTorch."""

import numpy as np

import tasks
from common.errors import StudyError
from common.files import write_tsv
from finetuning.given_predictions import ROUNDING

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


def checked_probabilities(found, texts, classes, framework):
    """Return the checked result of a framework's `score` as float64 (n, classes).

    Args:
        found: (n, classes), each row a probability for each class.
        texts: n texts.
        classes: names of the classes in order.
        framework: its name, for messages.

    Raises:
        StudyError: another shape, a number outside 0 to 1, or rows that do not sum to 1.
    """
    found = np.asarray(found, dtype=np.float64)
    place = f"scripts/frameworks/{framework}/score.py"
    if found.shape != (len(texts), len(classes)):
        raise StudyError(
            f"{place}: score returned an array of shape {found.shape}; return one row for each of the {len(texts)} "
            f"texts and one column for each of the {len(classes)} classes"
        )
    # A number that is not finite fails both comparisons.
    right = ((found >= 0) & (found <= 1)).all(axis=1) & (np.abs(found.sum(axis=1) - 1) <= ROUNDING)
    if not right.all():
        row = int(np.argmin(right))
        raise StudyError(
            f"{place}: score returned {found[row].tolist()} for text {row + 1}; return probabilities that sum to 1"
        )
    return found


def summarise(probabilities, labels):
    """Return loss (nats, mean per text), accuracy (share) and n_correct; of answers without probabilities no loss.

    A true class of probability 0 counts as the smallest positive float, so that the loss stays finite.

    Args:
        probabilities: float64 (n, classes).
        labels: n numbers from 0.
    """
    labels = np.asarray(labels)
    right = int((probabilities.argmax(axis=1) == labels).sum())
    if hard(probabilities):
        return {"accuracy": right / len(labels), "n_correct": right}
    of_class = np.maximum(probabilities[np.arange(len(labels)), labels], np.finfo(np.float64).tiny)
    return {"loss": float(-np.log(of_class).mean()), "accuracy": right / len(labels), "n_correct": right}


def hard(probabilities):
    """Tell whether probabilities (n, classes) are all 0 or 1: answers that came without any."""
    return bool(((probabilities == 0) | (probabilities == 1)).all())
