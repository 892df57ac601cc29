"""Exploratory comparison of every two arms on test: the rows of pairs.tsv, with tests corrected for their number."""

import itertools

import numpy as np

from analysis import inference, permutations
from analysis.intervals import LEVEL
from analysis.scored import compared, items_of, lead_of, scores_of

# Significance and confidence; permutations over reviews, bootstrap resamples, and the seed of both.
OPTIONS = {"alpha": 0.05, "level": LEVEL, "resamples": 9999, "bootstrap": 4000, "seed": 1}


def bootstrap(arms, options):
    """Return {arm: (resamples,) accuracies} over seeds and, jointly for all arms, reviews drawn with replacement.

    Where another measure than accuracy leads it is None for each arm: no mean over the reviews drawn is its value.

    Args:
        arms: what `analysis.scored.load_runs` returns.
        options: dict with the keys of `OPTIONS`.
    """
    if not lead_of(next(iter(arms.values()))).exact:
        return dict.fromkeys(arms)
    generator = np.random.default_rng(options["seed"])
    n_items = len(next(iter(arms.values()))[0]["correct"])
    draws = inference.item_draws(n_items, options["bootstrap"], generator)
    # Where runs of one seed share their draws, the same seeds are drawn for every arm.
    of_seeds = (lambda: np.random.default_rng(options["seed"] + 1)) if options.get("paired") else lambda: generator
    return {
        arm: inference.nested_bootstrap(np.stack([run["correct"] for run in runs]), draws, of_seeds())
        for arm, runs in arms.items()
    }


def pair_names(a, b):
    """Return the columns that name two arms (`Arm`), such as arm_a."""
    return {
        f"{fact}_{side}": value for side, arm in zip("ab", (a, b), strict=True) for fact, value in arm._asdict().items()
    }


def compare_runs(names, runs_a, runs_b):
    """Return the rows of mcnemar.tsv of two arms: the runs of one seed against each other; none but of accuracy."""
    if not lead_of(runs_a).exact:
        return []
    of_b = {run["seed"]: run for run in runs_b}
    rows = []
    for one in runs_a:
        if one["seed"] in of_b:
            only_a, only_b, p = inference.mcnemar_p(one["correct"], of_b[one["seed"]]["correct"])
            rows.append({**names, "seed": one["seed"], "only_a": only_a, "only_b": only_b, "p_value": p})
    return rows


def compare(names, runs_a, runs_b, differences, options):
    """Return two arms' row of pairs.tsv, without the columns that depend on all pairs.

    Args:
        names: the columns of `ARM` for each side, such as arm_a.
        runs_a, runs_b: the arms' runs.
        differences: (resamples,) differences of the arms' bootstrap accuracies over the same drawn reviews; None where
            another measure leads, as tests that draw reviews are for shares of right answers.
        options: dict with the keys of `OPTIONS`.
    """
    lead = lead_of(runs_a)
    a, b = (list(map(lead.worth, scores_of(runs))) for runs in (runs_a, runs_b))
    several, b_low, b_high, better, items_p = min(len(a), len(b)) > 1, None, None, None, None
    if lead.exact:
        b_low, b_high = inference.percentile_interval(differences, options["level"]) if several else (None, None)
        better = float(((differences > 0) + 0.5 * (differences == 0)).mean()) if several else None
        items = items_of(runs_a), items_of(runs_b)
        items_p = permutations.permute_items(*items, options["resamples"], options["seed"])
    return {
        **names,
        **compared(runs_a, runs_b, options),
        "bootstrap_low": b_low,
        "bootstrap_high": b_high,
        "items_p": items_p,
        "probability_better_seeds": inference.probability_better(a, b),
        "probability_better_bootstrap": better,
    }


def compare_all(arms, values, options):
    """Return (rows of pairs.tsv, rows of mcnemar.tsv) of every two arms, corrected for their number.

    Args:
        arms: what `load_runs` returns.
        values: what `bootstrap` returns.
        options: dict with the keys of `OPTIONS`.
    """
    pairs, mcnemar = [], []
    for a, b in itertools.combinations(arms, 2):
        names = pair_names(a, b)
        pairs.append(compare(names, arms[a], arms[b], None if values[a] is None else values[a] - values[b], options))
        mcnemar += compare_runs(names, arms[a], arms[b])
    inference.correct(pairs, "welch_p", "seeds_p", "items_p")
    inference.correct(mcnemar, "p_value")
    return pairs, mcnemar
