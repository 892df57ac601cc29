"""The name and colour of each arm on the page."""

from analysis.looks import looks_of
from common.arms import arm_label


def label_of(row):
    """Return the name for readers of a row's arm."""
    return arm_label(row["arm"])


def anchor_of(run):
    """Return the id of a run's row in the table of runs."""
    return f"run-{run['arm']}-{run['seed']}"


def coloured(rows, colours):
    """Return {arm: (place, name for readers, colour)} of the arms of `rows`, in order of first appearance."""
    names = list(dict.fromkeys(row["arm"] for row in rows))
    looks = looks_of(names, colours)
    return {name: (place, arm_label(name), looks[name][0]) for place, name in enumerate(names)}
