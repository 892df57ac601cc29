"""Tabulate the difference of pretrained and random by recipe, and how these differences differ."""

import itertools

import numpy as np

from analysis import inference
from analysis.arm_pairs import OPTIONS
from analysis.scored import read_runs
from common.entry import run
from common.frames import read_frame
from study.tables import write_table


def compare(arms, pretrained, random, options, joint):
    """Return the difference of pretrained and random on test, with its intervals.

    Args:
        arms: {name: its runs}.
        pretrained, random: names of the two arms.
        options: dict with the keys of `OPTIONS`.
        joint: intervals that have to hold together, each by Bonferroni at 1 - (1 - level) / joint.
    """
    correct = [np.stack([one["correct"] for one in arms[name]]) for name in (pretrained, random)]
    levels = options["level"], 1 - (1 - options["level"]) / joint
    (low, high), ends = (inference.difference_interval(*correct, level) or (None, None) for level in levels)
    return {
        "arm_a": pretrained,
        "arm_b": random,
        "n_seeds_a": len(correct[0]),
        "n_seeds_b": len(correct[1]),
        "n_test": correct[0].shape[1],
        "difference": inference.mean_difference(*correct),
        "level": options["level"],
        "low": low,
        "high": high,
        "joint_low": ends[0],
        "joint_high": ends[1],
    }


def shared_recipes(recipes):
    """Return {pair: {(epochs, lr): {init: arm}}} of the recipes that both starts have, in order.

    Args:
        recipes: {name: pair, init, lr, epochs}.
    """
    found = {}
    for name, facts in recipes.items():
        cells = found.setdefault(facts["pair"], {})
        cells.setdefault((facts["epochs"], facts["lr"]), {})[facts["init"]] = name
    return {
        pair: {cell: names for cell, names in sorted(cells.items()) if len(names) == 2} for pair, cells in found.items()
    }


def interactions(arms, recipes, options):
    """Return the rows of recipes/interactions.tsv: for every two shared recipes the difference of their differences.

    The joint intervals hold together over all two recipes of a pair (Bonferroni).

    Args:
        arms: {name: its runs}.
        recipes: as in `shared_recipes`.
        options: dict with the keys of `OPTIONS`.
    """
    rows = []
    for pair, shared in shared_recipes(recipes).items():
        twos = list(itertools.combinations(shared.items(), 2))
        correct = {
            cell: [np.stack([one["correct"] for one in arms[names[init]]]) for init in ("pretrained", "random")]
            for cell, names in shared.items()
        }
        for (a, _), (b, _) in twos:
            first, second = correct[a], correct[b]
            gaps = [inference.mean_difference(*one) for one in (first, second)]
            low, high = inference.interaction_interval(first, second, options["level"]) or (None, None)
            together = 1 - (1 - options["level"]) / len(twos)
            joint_low, joint_high = inference.interaction_interval(first, second, together) or (None, None)
            rows.append(
                {
                    "pair": pair,
                    **{f"{name}_a": value for name, value in zip(("epochs", "peak_lr"), a, strict=True)},
                    **{f"{name}_b": value for name, value in zip(("epochs", "peak_lr"), b, strict=True)},
                    "difference_a": gaps[0],
                    "difference_b": gaps[1],
                    "interaction": gaps[0] - gaps[1],
                    "level": options["level"],
                    "low": low,
                    "high": high,
                    "joint_low": joint_low,
                    "joint_high": joint_high,
                }
            )
    return rows


def differences(arms, recipes, options):
    """Return the rows of recipes/differences.tsv: every shared recipe of each pair.

    The joint intervals hold together over the shared recipes of a pair.

    Args:
        arms, recipes, options: as in `interactions`.
    """
    rows = []
    for pair, shared in shared_recipes(recipes).items():
        for (epochs, lr), names in shared.items():
            place = {"pair": pair, "peak_lr": lr, "epochs": epochs}
            rows.append(place | compare(arms, names["pretrained"], names["random"], options, len(shared)))
    return rows


def main(runs, predictions, run_keys, recipes, differing, interacting, options=OPTIONS):
    """Write the tables.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of the predictions.
        recipes: what `finetuning.recipes.compared_recipes` returns.
        differing, interacting: TSV files to write: of the folder recipes differences.tsv and interactions.tsv.
        options: dict with the keys of `OPTIONS`.

    Raises:
        StudyError: see `analysis.scored.load_runs`.
    """
    arms = {arm.arm: its for arm, its in read_runs(read_frame(runs), predictions, run_keys).items()}
    write_table(differing, "recipe_differences", differences(arms, recipes, options))
    write_table(interacting, "recipe_interactions", interactions(arms, recipes, options))


if __name__ == "__main__":
    run(main, snakemake)
