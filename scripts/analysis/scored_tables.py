"""Runs of any task, scored elsewhere: the input of comparisons of arms, read from two tables."""

import numpy as np

from common.errors import StudyError
from common.files import read_tsv


def read_scored(scores, items, measure, is_fixed):
    """Return the same as `analysis.answer_questions.scored`, for one measure.

    Args:
        scores: TSV of arm, seed, measure, score.
        items: TSV of arm, seed, measure, id, item_score: values whose mean estimates the score.
        measure: its name.
        is_fixed: function of an arm's name: whether no seed changes it.

    Returns:
        dict: {arm: (scores of its runs, (S, N) values, whether no seed changes it)}; empty where none has the measure.

    Raises:
        StudyError: two runs have values of other texts.
    """
    values, texts = {}, {}
    for row in read_tsv(items):
        if row["measure"] == measure:
            values.setdefault((row["arm"], row["seed"]), []).append(float(row["item_score"]))
            texts.setdefault((row["arm"], row["seed"]), []).append(row["id"])
    for run, its in texts.items():
        if its != next(iter(texts.values())):
            raise StudyError(f"{items}: {'/'.join(run)} has values of other texts than {'/'.join(next(iter(texts)))}")
    found = {}
    for row in read_tsv(scores):
        if row["measure"] == measure:
            run_scores, run_items = found.setdefault(row["arm"], ([], []))
            run_scores.append(float(row["score"]))
            run_items.append(values[row["arm"], row["seed"]])
    return {arm: (its, np.array(run_items), is_fixed(arm)) for arm, (its, run_items) in found.items()}
