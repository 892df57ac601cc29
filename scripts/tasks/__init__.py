"""The kinds of labels that a study's texts may have (`data.task`), each in a file of its own, found where it is.

A kind says how a label is read and written, how texts are drawn by it, what a model has to learn, and what its answers
are. Snakemake, which may lack NumPy, reads the facts only, so a kind imports NumPy where it computes, and no PyTorch.

Facts:
    LABEL (str): what a text has, for readers.
    MEASURE (str): the measure that leads a study which names none.
    BASELINES (tuple): the simple models that there are for it, the constant one first.
    LOSS (str): the function of `torch.nn.functional` that its models minimize, of what `compared` returns.
    LOSS_UNIT (str): its unit, and over what it is a mean.
    PROBLEM (str or None): Transformers' `problem_type` of its models.
    NAMED (bool): whether `data.labels` names its labels.
    COUNTED (bool): whether an answer is right or wrong, so that there is an accuracy.
    EMPTY (bool): whether a cell of a table may be empty.
    NEEDED (tuple): splits in which each label must occur.
    WANTED (str): what the scores are that other people's trainers give a text, for messages.

Trainers of other people give scores, (n, outputs): the probability of each label, or a number. `shown` is a label as
they read it, `said` the scores of an answer as they write it, `are_right` and `settled` check them, and `given` is what
`measures` take.

Values in Python are what `value_of` returns; a line of `*.label` and a cell of the predictions is `str` of it. Arrays
(`array`) have a row for each text.
"""

import functools
import importlib
import os

DEFAULT = "classification"
# The most that rounded probabilities, or those of float32, may miss 1 by.
ROUNDING = 1e-4
FOLDER = os.path.dirname(os.path.abspath(__file__))


@functools.cache
def names():
    """Return the names of the kinds, the default first."""
    found = sorted(name.removesuffix(".py") for name in os.listdir(FOLDER) if name.endswith(".py") and name[0] != "_")
    return sorted(found, key=lambda name: name != DEFAULT)


def load(name):
    """Return the module of a kind of labels."""
    return importlib.import_module(f"{__name__}.{name}")


def name_of(config):
    """Return the kind of a study's labels."""
    return config["data"].get("task", DEFAULT)


def of_problem(problem):
    """Return the kind whose models have a `problem_type`; Transformers names classification only once it is used."""
    return next((load(name) for name in names() if load(name).PROBLEM == problem), load(DEFAULT))


def of_columns(columns):
    """Return the kind whose predictions have these columns: classification, where no other kind's fit."""
    return next((load(name) for name in names()[1:] if load(name).fits(list(columns))), load(DEFAULT))


def share_of_largest(counts):
    """Return the share of a split's texts that have its largest class or commonest set of labels; None of numbers.

    Args:
        counts: entry of the split in data/manifest.json.
    """
    if "least" in counts:
        return None
    sizes = counts.get("n_by_class") or counts.get("n_by_set")
    return max(sizes or (counts["n_positive"], counts["n"] - counts["n_positive"])) / counts["n"]
