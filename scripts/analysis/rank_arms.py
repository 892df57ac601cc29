"""Group the arms that nothing separates, the leading group first, and estimate each arm's chance to be the best."""

import itertools

import numpy as np

from analysis import inference
from analysis.arm_pairs import OPTIONS, bootstrap
from analysis.scored import read_runs, sharing
from common.arms import ARM
from common.entry import run
from common.frames import read_frame
from study.tables import write_table


def grouped(order, separated):
    """Return {arm: number of its group, from 1}.

    The first arm of the order leads the first group: it and every arm that nothing separates from it. The next arm that
    is in no group leads the next one. Two arms of a group may be separated from each other, but not from its leader.

    Args:
        order: arms, the highest mean first.
        separated: function of two arms.
    """
    groups = {}
    for number in itertools.count(1):
        left = [arm for arm in order if arm not in groups]
        if not left:
            return groups
        groups |= {arm: number for arm in left if arm == left[0] or not separated(left[0], arm)}


def best_shares(values):
    """Return the share of resamples in which each arm has the highest accuracy; arms that share it share the resample.

    Args:
        values: (arms, resamples) accuracies.
    """
    values = np.round(values, 12)
    best = values == values.max(axis=0)
    return (best / best.sum(axis=0)).mean(axis=1)


def rank(arms, options):
    """Return the rows of statistics/groups.tsv, the leading group first, the highest mean first within a group.

    The intervals are simultaneous: Bonferroni's level for all pairs of arms, whichever of them lead a group.

    Args:
        arms: what `analysis.scored.load_runs` returns.
        options: dict with the keys of `OPTIONS`.
    """
    correct = {arm: np.stack([one["correct"] for one in its]) for arm, its in arms.items()}
    level = 1 - (1 - options["level"]) / (len(arms) * (len(arms) - 1) / 2)
    order = sorted(arms, key=lambda arm: -correct[arm].mean(dtype=float))
    intervals = {}

    def interval(first, second):
        if (first, second) not in intervals:
            found = inference.difference_interval(correct[first], correct[second], level, options.get("paired", False))
            intervals[first, second] = found or (None, None)
        return intervals[first, second]

    def separated(first, second):
        low, high = interval(first, second)
        return low is not None and not low <= 0 <= high

    groups = grouped(order, separated)
    drawn = bootstrap(arms, options)
    shares = dict(zip(drawn, best_shares(np.stack(list(drawn.values()))), strict=True))
    rows = []
    for arm in sorted(order, key=groups.get):
        leader = order[0]
        low, high = interval(leader, arm) if arm != leader else (None, None)
        row = dict(zip(ARM, arm, strict=True)) | {"group": groups[arm], "n_seeds": len(correct[arm])}
        row |= {"mean": float(correct[arm].mean(dtype=float)), "leader": leader.arm, "level": level}
        row |= {"difference": inference.mean_difference(correct[leader], correct[arm]), "low": low, "high": high}
        rows.append(row | {"best_share": float(shares[arm])})
    return rows


def main(runs, predictions, run_keys, groups, options=OPTIONS):
    """Write the groups.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of them.
        groups: TSV file to write.
        options: dict with the keys of `OPTIONS`.
    """
    frame = read_frame(runs)
    write_table(groups, "groups", rank(read_runs(frame, predictions, run_keys), options | sharing(frame)))


if __name__ == "__main__":
    run(main, snakemake)
