"""Tabulate the difference of pretrained and random by recipe, and how these differences differ."""

import itertools

from analysis.arm_pairs import OPTIONS
from analysis.scored import contrasted, items_of, read_runs, sharing
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
    runs = arms[pretrained], arms[random]
    levels = options["level"], 1 - (1 - options["level"]) / joint
    (difference, (low, high)), (_, ends) = (contrasted(runs, level, options.get("paired", False)) for level in levels)
    return {
        "arm_a": pretrained,
        "arm_b": random,
        "n_seeds_a": len(runs[0]),
        "n_seeds_b": len(runs[1]),
        "n_test": items_of(runs[0]).shape[1],
        "difference": difference,
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
        runs = {cell: [arms[names[init]] for init in ("pretrained", "random")] for cell, names in shared.items()}
        for (a, _), (b, _) in twos:
            gaps = [contrasted(runs[cell], options["level"])[0] for cell in (a, b)]
            both, levels = (*runs[a], *runs[b]), (options["level"], 1 - (1 - options["level"]) / len(twos))
            (interaction, (low, high)), (_, joint) = (
                contrasted(both, level, options.get("paired", False)) for level in levels
            )
            rows.append(
                {
                    "pair": pair,
                    **{f"{name}_a": value for name, value in zip(("epochs", "peak_lr"), a, strict=True)},
                    **{f"{name}_b": value for name, value in zip(("epochs", "peak_lr"), b, strict=True)},
                    "difference_a": gaps[0],
                    "difference_b": gaps[1],
                    "interaction": interaction,
                    "level": options["level"],
                    "low": low,
                    "high": high,
                    "joint_low": joint[0],
                    "joint_high": joint[1],
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
    frame = read_frame(runs)
    options = options | sharing(frame)
    arms = {arm.arm: its for arm, its in read_runs(frame, predictions, run_keys).items()}
    write_table(differing, "recipe_differences", differences(arms, recipes, options))
    write_table(interacting, "recipe_interactions", interactions(arms, recipes, options))


if __name__ == "__main__":
    run(main, snakemake)
