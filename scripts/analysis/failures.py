"""The failure rate of runs, and warnings where an interval or a claim errs too often."""

import statistics

import pandas

from analysis.inference import chance_p, exact_interval
from analysis.intervals import LEVEL
from common.arms import ARM
from study.tables import columns_of

# This share of failed runs would change a study's conclusions; fewer than 36 seeds without a failure cannot rule it
# out.
FAILURES = 0.1
# A class with a smaller share has too few texts for an interval over seeds to hold for other texts.
RARE = 0.1
WARNINGS = {
    "failed runs": "some runs failed: their share decides the mean, and a few seeds do not give it",
    "unseen failures": "no run failed, but so few seeds leave a failure rate of 10 % or more possible",
    "common start": "all seeds of an arm share a checkpoint or a draw of labels: another would shift them together",
    "classes alike": "the interval is over seeds alone, but a measure that weighs classes alike varies with the texts",
    "rare class": "the interval is over seeds alone, but other texts of a class below 10 % would move the measure",
}


def judge_learning(arms, majority_share, alpha):
    """Return learned.tsv as a frame.

    A run did not learn when its validation accuracy at the chosen epoch is not above the majority class's share by a
    one-sided exact binomial test. Where accuracy chose the epoch, it is a maximum: the test is lenient towards the run.
    A run without a validation result is no row.
    """
    table = pandas.DataFrame(
        [dict(zip(ARM, arm, strict=True)) | run for arm, runs in arms.items() for run in runs],
    ).rename(columns={"constant": "constant_on_test"})
    table = table[table["valid_accuracy"].notna()]
    n_correct = (table["valid_accuracy"] * table["n_valid"]).round().astype(int)
    p_values = [chance_p(n_right, n, majority_share) for n_right, n in zip(n_correct, table["n_valid"], strict=True)]
    table = table.assign(majority_share=majority_share, p_value=p_values)
    return table.assign(learned=table["p_value"] <= alpha)[columns_of("learned")]


def failure_rate(learned, accuracies, level=LEVEL):
    """Return how often runs failed, with the exact interval, and the mean of the runs that learned.

    Without a failure among n runs the interval still reaches 1 - ((1 - level) / 2) ** (1 / n): with three runs 71 %.

    Args:
        learned: booleans, one a run.
        accuracies: fractions, one a run.
        level: level of Clopper and Pearson's interval.

    Returns:
        dict: n_failed, n_seeds, rate, low, high (fractions), mean_learned (None where every run failed).

    Raises:
        ValueError: no run, or numbers of booleans and accuracies that differ.
    """
    if not len(learned) or len(learned) != len(accuracies):
        raise ValueError(f"{len(learned)} runs learned or not, {len(accuracies)} accuracies: give one of each per run")
    n, kept = len(learned), [value for one, value in zip(learned, accuracies, strict=True) if one]
    failed = n - len(kept)
    low, high = exact_interval(failed, n, level)
    return {
        "n_failed": failed,
        "n_seeds": n,
        "rate": failed / n,
        "low": low,
        "high": high,
        "mean_learned": statistics.fmean(kept) if kept else None,
    }


def warnings_of(arms, failed, common=False, shares=(), over_seeds=False):
    """Return the names of `WARNINGS` in which a claim or an interval errs more often than its level says.

    Simulated error of each: docs/method/simulations.md.

    Args:
        arms: list of (S, N) arrays of 0 and 1.
        failed: number of failed runs of each arm.
        common: True where all seeds of an arm share a checkpoint or a draw of labels, and the claim is about others.
        shares: shares of the classes, where a measure weighs classes alike.
        over_seeds: True where that measure's interval is over seeds alone.
    """
    found = []
    if any(failed):
        found.append("failed runs")
    if any(
        not fails and failure_rate([True] * len(arm), [1.0] * len(arm))["high"] > FAILURES
        for arm, fails in zip(arms, failed, strict=True)
    ):
        found.append("unseen failures")
    if common:
        found.append("common start")
    if over_seeds and len(shares):
        found.append("rare class" if min(shares) < RARE else "classes alike")
    return found
