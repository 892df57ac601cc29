"""Tabulate learning curves: test accuracy by labelled reviews, or by updates of pretraining."""

import numpy as np

from analysis.lib import inference
from analysis.lib.scored import load_runs
from common.arms import summarise
from common.entry import run
from common.frames import read_frame
from study.tables import write_table

LEVEL = 0.95


def with_amounts(points, runs):
    """Return the points in the order of their curves, the amounts that were not known read from the runs.

    Args:
        points: what `finetuning.lib.learning_curves.learning_points` returns.
        runs: frame of runs.tsv (text).
    """
    sizes = dict(zip(runs["arm"], runs["n_train"], strict=True))
    known = [point | {"amount": point["amount"]} for point in points]
    for point in known:
        if point["amount"] is None:
            point["amount"] = int(sizes[point["arm"]])
    places = {whose: place for place, whose in enumerate(dict.fromkeys((p["curve"], p["start"]) for p in known))}
    return sorted(known, key=lambda point: (places[point["curve"], point["start"]], point["amount"]))


def by_point(points, arms):
    """Return the rows of learning_curves/means.tsv."""
    rows = []
    for point in points:
        runs = arms[point["arm"]]
        facts, correct = summarise([one["test_accuracy"] for one in runs]), np.stack([one["correct"] for one in runs])
        low, high = inference.mean_interval(correct, LEVEL) or (None, None)
        kept = {name: facts[name] for name in ("n_seeds", "mean", "sd_ddof1", "min", "max")}
        rows.append(point | {"n_test": correct.shape[1], **kept, "level": LEVEL, "low": low, "high": high})
    return rows


def by_run(points, arms):
    """Return the rows of learning_curves/runs.tsv."""
    kept = ("seed", "valid_accuracy", "test_accuracy")
    return [point | {name: one[name] for name in kept} for point in points for one in arms[point["arm"]]]


def main(runs, predictions, run_keys, points, means, seeds):
    """Write the tables.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of them.
        points: what `finetuning.lib.learning_curves.learning_points` returns.
        means, seeds: TSV files to write: learning_curves/means.tsv and learning_curves/runs.tsv.

    Raises:
        StudyError: see `analysis.lib.scored.load_runs`.
    """
    table = read_frame(runs)
    of = load_runs(table, dict(zip(map(tuple, run_keys), predictions, strict=True)))
    arms, points = {arm.arm: its for arm, its in of.items()}, with_amounts(points, table)
    write_table(means, "learning_curves/means.tsv", by_point(points, arms))
    write_table(seeds, "learning_curves/runs.tsv", by_run(points, arms))


if __name__ == "__main__":
    run(main, snakemake)
