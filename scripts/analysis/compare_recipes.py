"""Choose each start's recipe on validation, and say how pretrained less random depends on the recipe."""

import itertools
from fractions import Fraction

import numpy as np

from analysis.lib import inference
from analysis.lib.intervals import t_interval
from analysis.lib.scored import compared, load_runs
from analysis.lib.verdicts import judge
from common.arms import summarise
from common.entry import run
from common.frames import read_frame
from finetuning.lib.recipes import OWN, SAME
from study.tables import write_table

# Significance, level of the intervals, power and half width that seeds are planned for, seed of random permutations.
OPTIONS = {"alpha": 0.05, "level": 0.95, "power": 0.8, "margin": 0.015, "seed": 1}


def valid_mean(runs):
    """Return the exact mean over seeds of validation accuracy at each run's chosen epoch."""
    return sum(Fraction(round(one["valid_accuracy"] * one["n_valid"]), one["n_valid"]) for one in runs) / len(runs)


def choose(arms, recipes):
    """Return {start: name of its best arm}. Nothing of test is read.

    The best has the highest mean validation accuracy; of equals the fewest epochs, then the lowest rate.

    Args:
        arms: {name: its runs, with valid_accuracy and n_valid}.
        recipes: {name: start, lr, epochs}.
    """
    best = {}
    for name, facts in recipes.items():
        rank = (-valid_mean(arms[name]), facts["epochs"], facts["lr"])
        if facts["start"] not in best or rank < best[facts["start"]][0]:
            best[facts["start"]] = rank, name
    return {start: name for start, (_, name) in best.items()}


def describe(arms, recipes, options):
    """Return the rows of recipes.tsv.

    Args:
        arms, recipes: as in `choose`; the runs with test_accuracy, too.
        options: dict with the keys of `OPTIONS`.
    """
    best, rows = choose(arms, recipes), []
    means = {name: valid_mean(arms[name]) for name in recipes}
    for name, facts in recipes.items():
        runs = arms[name]
        tested, valid = ([one[key] for one in runs] for key in ("test_accuracy", "valid_accuracy"))
        low, high = t_interval(tested, options["level"]) or (None, None)
        tied = [other for other in recipes if recipes[other]["start"] == facts["start"] and means[other] == means[name]]
        facts_of = summarise(tested)
        rows.append(
            {
                **identity(name, facts),
                "n_seeds": len(runs),
                "n_valid": runs[0]["n_valid"],
                "valid_mean": float(means[name]),
                "valid_sd_ddof1": summarise(valid)["sd_ddof1"],
                "best": best[facts["start"]] == name,
                "n_tied": len(tied),
                **{key: facts_of[key] for key in ("mean", "sd_ddof1", "min", "max")},
                "level": options["level"],
                "t_low": low,
                "t_high": high,
            }
        )
    return rows


def identity(name, facts):
    """Return the columns that say which arm a row is of."""
    return {
        "pair": facts["pair"],
        "start": facts["start"],
        "arm": name,
        "init": facts["init"],
        "peak_lr": facts["lr"],
        "epochs": facts["epochs"],
    }


def compare(arms, pretrained, random, options, joint=1):
    """Return pretrained less random on test, with its intervals and tests, before Holm's correction.

    Args:
        arms: {name: its runs}.
        pretrained, random: names of the two arms.
        options: dict with the keys of `OPTIONS`.
        joint: intervals that have to hold together, each by Bonferroni at 1 - (1 - level) / joint.
    """
    correct = (np.stack([one["correct"] for one in arms[name]]) for name in (pretrained, random))
    joint_low, joint_high = inference.difference_interval(*correct, 1 - (1 - options["level"]) / joint) or (None, None)
    return {
        "arm_a": pretrained,
        "arm_b": random,
        **compared(arms[pretrained], arms[random], options),
        "level": options["level"],
        "joint_low": joint_low,
        "joint_high": joint_high,
    }


def shared_recipes(recipes):
    """Return {pair: {(epochs, lr): {init: arm}}} of the recipes that both starts have, in order.

    Args:
        recipes: as in `choose`, with pair and init.
    """
    found = {}
    for name, facts in recipes.items():
        of = found.setdefault(facts["pair"], {})
        of.setdefault((facts["epochs"], facts["lr"]), {})[facts["init"]] = name
    return {pair: {cell: names for cell, names in sorted(of.items()) if len(names) == 2} for pair, of in found.items()}


def interactions(arms, recipes, options):
    """Return the rows of recipes/interactions.tsv: for every two shared recipes what their differences differ by.

    The joint intervals hold together over all two recipes of a pair (Bonferroni).

    Args:
        arms, recipes, options: as in `describe`.
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
    """Return the rows of recipes/differences.tsv: for each pair every shared recipe, then each start's own best.

    Holm's correction is over all rows of the table; the joint intervals hold together over the shared recipes of a
    pair. An own best recipe was chosen on validation, and the interval takes it as given.

    Args:
        arms, recipes, options: as in `describe`.
    """
    best, rows = choose(arms, recipes), []
    for pair, shared in shared_recipes(recipes).items():
        starts = {facts["init"]: facts["start"] for facts in recipes.values() if facts["pair"] == pair}
        for (epochs, lr), names in shared.items():
            place = {"pair": pair, "comparison": SAME, "peak_lr": lr, "epochs": epochs}
            rows.append(place | compare(arms, names["pretrained"], names["random"], options, len(shared)))
        own = {init: best[start] for init, start in starts.items()}
        place = {"pair": pair, "comparison": OWN, "peak_lr": None, "epochs": None}
        rows.append(place | compare(arms, own["pretrained"], own["random"], options))
    for column in ("welch_p", "seeds_p"):
        for row, p in zip(rows, inference.holm([row[column] for row in rows]), strict=True):
            row[f"{column}_holm"] = p
    for row in rows:
        row["claim"] = judge(row, options["alpha"])
    return rows


def by_run(arms, recipes):
    """Return the rows of recipes/runs.tsv: every seed of every recipe."""
    return [
        identity(name, facts)
        | {"seed": one["seed"], "valid_accuracy": one["valid_accuracy"], "test_accuracy": one["test_accuracy"]}
        for name, facts in recipes.items()
        for one in arms[name]
    ]


def main(runs, predictions, run_keys, recipes, table, differing, interacting, seeds, options=OPTIONS):
    """Write the tables.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of them.
        recipes: what `finetuning.lib.recipes.compared_recipes` returns.
        table, differing, interacting, seeds: TSV files to write: recipes.tsv, and of the folder recipes
            differences.tsv, interactions.tsv, runs.tsv.
        options: dict with the keys of `OPTIONS`.

    Raises:
        StudyError: see `analysis.lib.scored.load_runs`.
    """
    predictions = dict(zip(map(tuple, run_keys), predictions, strict=True))
    arms = {arm.arm: of for arm, of in load_runs(read_frame(runs), predictions).items()}
    write_table(table, "recipes.tsv", describe(arms, recipes, options))
    write_table(differing, "recipes/differences.tsv", differences(arms, recipes, options))
    write_table(interacting, "recipes/interactions.tsv", interactions(arms, recipes, options))
    write_table(seeds, "recipes/runs.tsv", by_run(arms, recipes))


if __name__ == "__main__":
    run(main, snakemake)
