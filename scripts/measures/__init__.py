"""The measures that answers are scored by, each in a file of its own, found where it is: none is listed anywhere.

A measure chooses the epoch of a run (`finetuning.select_by`) or compares arms on test (`finetuning.measures`): the file
`scripts/measures/<name>.py`. Snakemake, which may lack NumPy, asks for names only.

Required:
    LABEL (str): its name for readers, within a sentence.
    UNIT (str): `share` is printed in per cent and differences in points, anything else as it is; empty where there is
        none.
    HIGHER_IS_BETTER (bool).
    value(labels, answers, probabilities): the score of a run, a float.

Optional:
    items(labels, answers, probabilities): (N,) values of single texts, whose mean estimates `value`; without it they
        are jackknife pseudo-values, which takes N calls of `value`.

`labels` and `answers` are (N,) integers from 0, `probabilities` (N, K) of the K classes.
"""

import functools
import importlib
import os

# What every training records of each epoch; another measure only where it chooses the epoch.
RECORDED = ("accuracy", "loss")
FOLDER = os.path.dirname(os.path.abspath(__file__))


@functools.cache
def names():
    """Return the names of the measures, sorted."""
    return sorted(name.removesuffix(".py") for name in os.listdir(FOLDER) if name.endswith(".py") and name[0] != "_")


@functools.cache
def load(name):
    """Return the module of a measure; one without values of single texts gets pseudo-values."""
    measure = importlib.import_module(f"{__name__}.{name}")
    if not hasattr(measure, "items"):
        jackknife = importlib.import_module(f"{__name__}._jackknife")
        measure.items = functools.partial(jackknife.leave_one_out, measure.value)
    return measure


def file(name):
    """Return the path of a measure's file."""
    return os.path.join(FOLDER, f"{name}.py")


def best(name):
    """Return the best value of a measure in words, such as `highest macro-F1`."""
    measure = load(name)
    return f"{'highest' if measure.HIGHER_IS_BETTER else 'lowest'} {measure.LABEL}"
