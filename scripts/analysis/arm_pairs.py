"""Every two arms against each other on test: the rows of pairs.tsv, tests corrected for the number of pairs."""

import itertools

import numpy as np

from analysis import inference, permutations
from analysis.scored import compared
from analysis.verdicts import judge, verdict
from common.arms import arm_label

# Significance, confidence, power and the half width that seeds are planned for; permutations over reviews, bootstrap
# resamples, and the seed of both.
OPTIONS = {"alpha": 0.05, "level": 0.95, "power": 0.8, "margin": 0.015, "resamples": 9999, "bootstrap": 4000, "seed": 1}


def bootstrap(arms, options):
    """Return {arm: (resamples,) accuracies} over seeds and, jointly for all arms, reviews drawn with replacement.

    Args:
        arms: what `analysis.scored.load_runs` returns.
        options: dict with the keys of `OPTIONS`.
    """
    generator = np.random.default_rng(options["seed"])
    n_items = len(next(iter(arms.values()))[0]["correct"])
    draws = inference.item_draws(n_items, options["bootstrap"], generator)
    return {
        arm: inference.nested_bootstrap(np.stack([run["correct"] for run in runs]), draws, generator)
        for arm, runs in arms.items()
    }


def pair_names(a, b):
    """Return the columns that name two arms (`Arm`), such as arm_a."""
    return {
        f"{fact}_{side}": value for side, arm in zip("ab", (a, b), strict=True) for fact, value in arm._asdict().items()
    }


def compare_runs(names, runs_a, runs_b):
    """Return the rows of mcnemar.tsv of two arms: the runs of one seed against each other."""
    of_b = {run["seed"]: run for run in runs_b}
    rows = []
    for one in runs_a:
        if one["seed"] in of_b:
            only_a, only_b, p = inference.mcnemar_p(one["correct"], of_b[one["seed"]]["correct"])
            rows.append({**names, "seed": one["seed"], "only_a": only_a, "only_b": only_b, "p_value": p})
    return rows


def compare(names, runs_a, runs_b, differences, options):
    """Return the row of pairs.tsv of two arms before what rests on all pairs.

    Args:
        names: the columns of `ARM` for each side, such as arm_a.
        runs_a, runs_b: the arms' runs.
        differences: (resamples,) of the arms' bootstrap accuracies over the same reviews drawn.
        options: dict with the keys of `OPTIONS`.
    """
    a, b = ([run["test_accuracy"] for run in runs] for runs in (runs_a, runs_b))
    correct_a, correct_b = (np.stack([run["correct"] for run in runs]) for runs in (runs_a, runs_b))
    several = min(len(a), len(b)) > 1
    b_low, b_high = inference.percentile_interval(differences, options["level"]) if several else (None, None)
    better = float(((differences > 0) + 0.5 * (differences == 0)).mean())
    return {
        **names,
        "name_a": arm_label(names["arm_a"]).replace(",", ""),
        "name_b": arm_label(names["arm_b"]).replace(",", ""),
        **compared(runs_a, runs_b, options),
        "bootstrap_low": b_low,
        "bootstrap_high": b_high,
        "items_p": permutations.permute_items(correct_a, correct_b, options["resamples"], options["seed"]),
        "minimum_detectable": inference.minimum_detectable(a, b, options["alpha"], options["power"]),
        "probability_better_seeds": inference.probability_better(a, b),
        "probability_better_bootstrap": better if several else None,
    }


def compare_all(arms, values, n_learned, options, texts):
    """Return (rows of pairs.tsv, rows of mcnemar.tsv) of every two arms, corrected for their number, with verdicts.

    Args:
        arms: what `load_runs` returns.
        values: what `bootstrap` returns.
        n_learned: {arm: runs that learnt}.
        options: dict with the keys of `OPTIONS`.
        texts: what the verdicts call the study's texts.
    """
    pairs, mcnemar = [], []
    for a, b in itertools.combinations(arms, 2):
        names = pair_names(a, b)
        tests = compare_runs(names, arms[a], arms[b])
        row = compare(names, arms[a], arms[b], values[a] - values[b], options)
        row["mcnemar"] = [test["p_value"] for test in tests]
        row |= {"not_learned_a": len(arms[a]) - n_learned[a], "not_learned_b": len(arms[b]) - n_learned[b]}
        pairs.append(row)
        mcnemar += tests
    inference.correct(pairs, "welch_p", "seeds_p", "items_p")
    inference.correct(mcnemar, "p_value")
    tested = {
        name: sum(row[column] is not None for row in pairs)
        for name, column in (("n_welch", "welch_p"), ("n_permuted", "seeds_p"))
    }
    for row in pairs:
        row |= tested | {"texts": texts}
        row["claim"] = judge(row, options["alpha"])
        row["verdict"] = verdict(row, options["alpha"], options["level"])
    return pairs, mcnemar
