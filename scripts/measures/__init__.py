"""The measures of answers: each has a file, which is found by its place; no list names them.

A measure leads a study (`measure`), chooses the epoch of a run (`finetuning.select_by`) or compares arms beside the
leading one (`finetuning.measures`): the file `scripts/measures/<name>.py`. Snakemake, which may lack NumPy, asks for
names only.

Required:
    LABEL (str): its name for readers, within a sentence.
    UNIT (str): `share` is printed in per cent and differences in points, anything else unchanged; empty where there is
    none. HIGHER_IS_BETTER (bool). value(labels, answers, probabilities): the score of a run, a float.

Optional:
    EXACT (bool): items are 0 and 1 and their mean is the value, so that exact tests of shares hold.
    BOUNDS (tuple): least and greatest value; without it 0 and 1 of a share, none of another.
    TASKS (tuple): kinds of labels that it is for, see `tasks`; without it classification.
    items(labels, answers, probabilities): (N,) values of single texts, whose mean estimates `value`; without it they
        are jackknife pseudo-values, which takes N calls of `value`.

A guest's measures are in `scripts/<room>/measures/`, and only questions name them; they have ON (the items that the
score is over), and their guest defines the arguments of `value` and `items`.

`labels` and `answers` are (N,) integers from 0, `probabilities` (N, K) of the K classes; of another kind of labels what
`tasks` has as arrays: numbers (N,) without probabilities, or 0 and 1 and the probability of each label (N, K).
"""

import ast
import functools
import glob
import importlib
import os
import re

import tasks

# This measure leads a study that names none.
DEFAULT = "accuracy"
# Every training records these for each epoch; another measure only where it chooses the epoch or leads the study.
RECORDED = (DEFAULT, "loss")
FOLDER = os.path.dirname(os.path.abspath(__file__))


@functools.cache
def names():
    """Return the names of the measures of classification, sorted."""
    return _in(FOLDER)


def _in(folder):
    return sorted(
        name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py") and name[0] not in "_."
    )


@functools.cache
def of_guests():
    """Return {measure: room} of the measures that guests score by, which are in their rooms."""
    folders = sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(FOLDER)), "*", "measures", "")))
    return {name: folder.split(os.sep)[-3] for folder in folders for name in _in(folder)}


@functools.cache
def load(name):
    """Return the module of a measure; a measure of classification without values of single texts gets pseudo-values."""
    room = of_guests().get(name)
    measure = importlib.import_module(f"{room}.measures.{name}" if room else f"{__name__}.{name}")
    if not hasattr(measure, "items"):
        jackknife = importlib.import_module(f"{__name__}._jackknife")
        measure.items = functools.partial(jackknife.leave_one_out, measure.value)
    return measure


def file(name):
    """Return the path of a measure's file."""
    room = of_guests().get(name)
    return (
        os.path.join(os.path.dirname(FOLDER), room, "measures", f"{name}.py")
        if room
        else os.path.join(FOLDER, f"{name}.py")
    )


def leading(settings):
    """Return the name of the measure that leads a study.

    Args:
        settings: all settings of the study, or a row of its runs.tsv.
    """
    return settings.get("measure") or DEFAULT


def bounds(measure):
    """Return the least and greatest value of a measure's module; None where it has none."""
    return getattr(measure, "BOUNDS", (0.0, 1.0) if measure.UNIT == "share" else None)


class Lead:
    """The leading measure of a study, for its tables and figures.

    Attributes:
        name, label, unit: of the measure; `percent` where it is printed in per cent.
        higher: whether higher is better.
        exact: whether exact tests of shares hold.
        counted: whether answers are right or wrong, so that there is an accuracy beside it.
        valid, test: columns of a run's values; another measure than accuracy has them beside those of accuracy.
        bounds: of its values; None: it has none.
    """

    def __init__(self, settings=None):
        """Take the name from settings or from a row of runs.tsv; None: what leads where nothing is said."""
        self.name = leading(settings if settings is not None else {})
        measure = load(self.name)
        self.label, self.unit, self.higher = measure.LABEL, measure.UNIT, measure.HIGHER_IS_BETTER
        self.percent, self.exact = self.unit == "share", getattr(measure, "EXACT", False)
        self.counted = counted(self.name)
        ours = self.name == DEFAULT
        self.valid, self.test = ("valid_accuracy", "test_accuracy") if ours else ("valid_score", "test_score")
        # Column of tables by epoch.
        self.curve = self.name if ours else "score"
        self.bounds = bounds(measure)

    @property
    def scale(self):
        """Return the factor of a value where it is printed."""
        return 100 if self.percent else 1

    @property
    def axis(self):
        """The label with its unit, for axes."""
        unit = "%" if self.percent else self.unit
        return f"{self.label} ({unit})" if unit else self.label

    @property
    def apart(self):
        """The unit of differences, in parentheses after a blank; empty where there is none."""
        unit = "points" if self.percent else self.unit
        return f" ({unit})" if unit else ""

    def text(self, value):
        """Return a value as it is printed: per cent with two decimals, or as it is with three; `` for None or ``."""
        return "" if value in (None, "") else f"{self.scale * float(value):.{2 if self.percent else 3}f}"

    def worth(self, value):
        """Return a value such that more is better."""
        return value if self.higher else -value

    def columns(self, row):
        """Return the columns of a row that a table has where another measure than accuracy leads."""
        if self.name == DEFAULT:
            return {}
        return {"measure": self.name, "valid_score": row["valid_score"], "test_score": row["test_score"]}


def capitalised(label):
    """Return a label with a capital at its beginning, as a sentence opens."""
    return label[:1].upper() + label[1:]


def unrecorded(*wanted):
    """Return which of these measures, each once, a history has only on demand; None is none."""
    return [name for name in dict.fromkeys(wanted) if name and name not in RECORDED]


def best(name):
    """Return the best value of a measure in words, such as `highest macro-F1`."""
    measure = load(name)
    return f"{'highest' if measure.HIGHER_IS_BETTER else 'lowest'} {measure.LABEL}"


@functools.cache
def tasks_of(name):
    """Return the kinds of labels that a measure is for; its file is read and not run, since it may need NumPy."""
    with open(file(name), encoding="utf-8") as handle:
        found = re.search(r"^TASKS = (.+)$", handle.read(), re.MULTILINE)
    return ast.literal_eval(found[1]) if found else (tasks.DEFAULT,)


def counted(name):
    """Tell whether the answers that a measure scores are right or wrong, so that there is an accuracy beside it."""
    return any(tasks.load(task).COUNTED for task in tasks_of(name))
