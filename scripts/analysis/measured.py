"""Runs scored by a measure, the input of its comparisons of arms."""

from typing import NamedTuple

import numpy as np

from analysis.prediction_tables import arrays_of, read_predictions
from common.arms import ARM, Arm
from common.errors import StudyError
from finetuning.prediction_files import hard


class Answered(NamedTuple):
    """A run's answers on test.

    Attributes:
        path: its predictions, for messages.
        labels, answers, probabilities: arrays, as `measures` has them.
    """

    path: str
    labels: np.ndarray
    answers: np.ndarray
    probabilities: np.ndarray

    def score(self, measure):
        """Return (score, (N,) values of single texts) by what `measures.load` returns.

        Raises:
            StudyError: the measure gives no number.
        """
        given = self.labels, self.answers, self.probabilities
        if getattr(measure, "PROBABILITIES", False) and hard(self.probabilities):
            raise StudyError(
                f"{self.path} has no probabilities, which the measure {measure.LABEL} needs; give them, or ask by "
                "another measure"
            )
        score, items = measure.value(*given), np.asarray(measure.items(*given), dtype=float)
        if items.shape != self.labels.shape[:1] or not np.isfinite([score, *items]).all():
            raise StudyError(
                f"{self.path}: the measure {measure.__name__.rpartition('.')[2]} gives {score!r} and {items.size} "
                f"values of {len(self.labels)} texts, not all of them numbers; mend {measure.__file__}"
            )
        return score, items


def read_answered(paths):
    """Return {run: its answers (`Answered`)}, each file read once.

    Args:
        paths: {run: path of its predictions}.

    Raises:
        StudyError: see `analysis.prediction_tables.read_predictions`; or two runs were not tested on the same texts.
    """
    found, first = {}, None
    for run, path in paths.items():
        found[run] = Answered(path, *arrays_of(read_predictions(path), path))
        first = first or found[run]
        if not np.array_equal(found[run].labels, first.labels):
            raise StudyError(f"{path} and {first.path} are not of the same test texts: evaluate the runs again")
    return found


def score_runs(runs, answered, measure):
    """Return the runs grouped by arm, in the order of the table.

    Args:
        runs: frame of runs.tsv (text).
        answered: what `read_answered` returns, by (arm, seed).
        measure: what `measures.load` returns.

    Returns:
        dict: {Arm: [{seed, score, items (N,)}]}

    Raises:
        StudyError: the measure gives no number.
    """
    arms = {}
    for row in runs.to_dict("records"):
        score, items = answered[row["arm"], row["seed"]].score(measure)
        arm = Arm(*(row[name] for name in ARM))
        arms.setdefault(arm, []).append({"seed": row["seed"], "score": score, "items": items})
    return arms
