"""Tabulate learning curves: test accuracy by labelled reviews, or by updates of pretraining."""

from analysis.intervals import LEVEL
from analysis.scored import items_of, lead_of, mean_interval, read_runs, scores_of
from common.arms import summarise
from common.entry import run
from common.frames import read_frame
from finetuning.learning_curves import UPDATES
from study.tables import write_table


def with_amounts(points, runs, updates):
    """Return the points in the order of their curves, with the amounts that the settings leave open.

    Args:
        points: what `finetuning.learning_curves.learning_points` returns.
        runs: frame of runs.tsv (text).
        updates: updates of the whole pretraining; None where no arm starts from an earlier one.
    """
    sizes = dict(zip(runs["arm"], map(int, runs["n_train"]), strict=True))
    known = {}
    for point in points:
        whole = updates if point["curve"] == UPDATES else sizes[point["arm"]]
        amount = whole if point["amount"] is None else point["amount"]
        # An arm may also ask for the last update by its number.
        known.setdefault((point["curve"], point["start"], amount), point | {"amount": amount})
    places = {whose: place for place, whose in enumerate(dict.fromkeys((p["curve"], p["start"]) for p in points))}
    return sorted(known.values(), key=lambda point: (places[point["curve"], point["start"]], point["amount"]))


def by_point(points, arms):
    """Return the rows of learning_curves/means.tsv."""
    rows = []
    for point in points:
        runs = arms[point["arm"]]
        facts, n_test = summarise(scores_of(runs)), items_of(runs).shape[1]
        low, high = mean_interval(runs, LEVEL)
        kept = {name: facts[name] for name in ("n_seeds", "mean", "sd_ddof1", "min", "max")}
        rows.append(point | {"n_test": n_test, **kept, "level": LEVEL, "low": low, "high": high})
    return rows


def by_run(points, arms):
    """Return the rows of learning_curves/runs.tsv."""
    kept = ("seed", "valid_accuracy", "test_accuracy")
    return [
        point | {name: one[name] for name in kept} | lead_of(arms[point["arm"]]).columns(one)
        for point in points
        for one in arms[point["arm"]]
    ]


def main(runs, predictions, pretraining, run_keys, points, means, seeds):
    """Write the tables.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        pretraining: list of checkpoint/pretraining.tsv where arms start from earlier updates; else empty.
        run_keys: (arm, seed) of each of them.
        points: what `finetuning.learning_curves.learning_points` returns.
        means, seeds: TSV files to write: learning_curves/means.tsv and learning_curves/runs.tsv.

    Raises:
        StudyError: see `analysis.scored.load_runs`.
    """
    table = read_frame(runs)
    by_arm = read_runs(table, predictions, run_keys)
    updates = read_frame(*pretraining)["update"].astype(int).max() if pretraining else None
    arms, points = {arm.arm: its for arm, its in by_arm.items()}, with_amounts(points, table, updates)
    write_table(means, "learning_curve_means", by_point(points, arms))
    write_table(seeds, "learning_curve_runs", by_run(points, arms))


if __name__ == "__main__":
    run(main, snakemake)
