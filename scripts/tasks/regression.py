"""A number for each text or pair of texts."""

import math

LABEL = "a number for each text"
MEASURE, PROBLEM = "pearson", "regression"
LOSS, LOSS_UNIT = "mse_loss", "squared distance from the label, mean over examples"
BASELINES = ("mean", "tfidf_words", "tfidf_characters")
NAMED, COUNTED, EMPTY = False, False, False
NEEDED = ()
WANTED = "finite numbers"
# Texts are drawn by so many bins of their numbers, each with as many texts.
BINS = 10


def number_of(cell):
    """Return the number in a cell or a line.

    Raises:
        ValueError: of what is wanted.
    """
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in cell:
        raise ValueError("no finite number, such as 3.5 (with a point)")
    return number


def reader(labels):
    """Return a function of a line of `*.label` that gives its value, or raises a ValueError of what is wanted."""
    return number_of


def lacking(values, n_labels):
    """Return nothing: there are no labels to lack."""
    return []


def strata(values, n_labels):
    """Return the bin of each text by its number's rank, from 0, and how many bins there are; equal numbers share one.

    A bin has two texts or more, so that each split gets its share.
    """
    import numpy as np

    n_bins = max(1, min(BINS, len(values) // 2))
    first = np.searchsorted(np.sort(values), values)
    return (first * n_bins // max(len(values), 1)).tolist(), n_bins


def balance(values, labels):
    """Yield (what, its value) for the audit."""
    import numpy as np

    yield from (
        (f"{name} of the numbers", float(value(values)))
        for name, value in (("mean", np.mean), ("standard deviation", np.std), ("least", np.min), ("largest", np.max))
    )


def counts(values, n_labels):
    """Return what the manifest says of a split's labels."""
    return {what.replace(" of the numbers", "").replace(" ", "_"): value for what, value in balance(values, ())}


def array(values):
    """Return (n,) float64."""
    import numpy as np

    return np.asarray(values, dtype=np.float64)


def outputs(labels):
    """Return the fields of a model's configuration that count and name what it gives."""
    return {"num_labels": 1, "problem_type": PROBLEM}


def compared(logits, labels):
    """Return what `LOSS` compares: its mean is the squared distance of a text."""
    return logits[:, 0], labels.to(logits.dtype)


def answers(logits):
    """Return the number of each text, a float tensor (n,)."""
    return logits[:, 0]


def probabilities(logits):
    """Return None: a number has none."""
    return None


def right(given, labels):
    """Return that no answer is right: a number is near or far."""
    return labels != labels


def fits(columns):
    """Tell whether predictions with these columns are numbers."""
    return columns == ["id", "label", "prediction"]


def columns(n_outputs):
    """Return the names of the columns of probabilities: there are none."""
    return ()


def cells(array):
    """Return the cell of each text of an array."""
    return [str(float(number)) for number in array]


def shown(value, labels):
    """Return a text's number."""
    return value


def said(cell, labels):
    """Return the score of an answer, its number, or raise a ValueError of what is wanted."""
    return [number_of(str(cell))]


def are_right(scores):
    """Return (n,): whether each text's number is finite."""
    import numpy as np

    return np.isfinite(scores).all(axis=1)


def given(scores):
    """Return the answers (n,), and None: a number has no probability."""
    return scores[:, 0], None
