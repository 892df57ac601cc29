"""Say what the study's accuracies can carry: per arm, per pair of arms, and which runs learnt at all."""

import numpy as np

from common import statistics
from common.arms import FRAMEWORKS
from common.errors import StudyError
from common.files import read_json, read_tsv, write_json, write_tsv
from common.rule import running

LEARNED = (
    "framework init seed valid_accuracy n_valid majority_share p_value learned test_accuracy constant_on_test"
).split()
ARMS = (
    "framework init n_seeds n_test mean sd_ddof1 sd_ddof0 min max low high t_low t_high bootstrap_low bootstrap_high "
    "sampling_margin best_of_k n_learned n_runs note"
).split()
PAIRS = (
    "framework_a init_a framework_b init_b n_a n_b n_test difference low high bootstrap_low bootstrap_high "
    "welch_p welch_p_holm seeds_p seeds_p_holm seeds_p_floor items_p items_p_holm minimum_detectable "
    "probability_better_seeds probability_better_bootstrap claim verdict"
).split()
MCNEMAR = "framework_a init_a framework_b init_b seed only_a only_b p_value p_value_holm".split()


def load_runs(runs, predictions):
    """Return the runs grouped by arm, in the order of the table.

    Args:
        runs: rows of runs.tsv.
        predictions: {(framework, init, seed): path of its predictions}.

    Returns:
        dict: {(framework, init): [{seed, valid_accuracy, n_valid, test_accuracy, correct (N,), constant}]}

    Raises:
        StudyError: a run without predictions, predictions of other reviews or labels than the first run's, or an
            accuracy in the table that is not that of the predictions.
    """
    arms, first = {}, None
    for run in runs:
        key = (run["framework"], run["init"], run["seed"])
        if key not in predictions:
            raise StudyError(f"{'/'.join(key)} stands in runs.tsv but has no predictions: run its evaluation again")
        path = predictions[key]
        rows = read_tsv(path)
        items = [(row["id"], row["label"]) for row in rows]
        if first is None:
            first = (path, items)
        if items != first[1] or not items:
            raise StudyError(
                f"{path} holds other reviews or labels than {first[0]}: evaluate both on the same test split"
            )
        correct = np.array([row["prediction"] == row["label"] for row in rows], dtype=np.float32)
        accuracy = float(correct.mean(dtype=float))
        if abs(accuracy - float(run["test_accuracy"])) > 1e-9:
            raise StudyError(
                f"{path}: its accuracy is {accuracy!r}, runs.tsv says {run['test_accuracy']}: build runs.tsv again"
            )
        arms.setdefault(key[:2], []).append(
            {
                "seed": run["seed"],
                "valid_accuracy": float(run["valid_accuracy"]),
                "n_valid": int(run["n_valid"]),
                "test_accuracy": accuracy,
                "correct": correct,
                "constant": len({row["prediction"] for row in rows}) == 1,
            }
        )
    if not arms:
        raise StudyError("runs.tsv holds no run: configure sentiment.arms and sentiment.seeds")
    return arms


def judge_learning(arms, majority_share, alpha):
    """Return the rows of learned.tsv.

    A run did not learn when its best validation accuracy is not above the majority class's share by a one-sided
    exact binomial test. The best of several epochs is a maximum, so the test is lenient towards the run.
    """
    rows = []
    for (framework, init), runs in arms.items():
        for run in runs:
            n_correct = round(run["valid_accuracy"] * run["n_valid"])
            p = statistics.chance_p(n_correct, run["n_valid"], majority_share)
            rows.append(
                {
                    "framework": framework,
                    "init": init,
                    "seed": run["seed"],
                    "valid_accuracy": run["valid_accuracy"],
                    "n_valid": run["n_valid"],
                    "majority_share": majority_share,
                    "p_value": p,
                    "learned": p <= alpha,
                    "test_accuracy": run["test_accuracy"],
                    "constant_on_test": run["constant"],
                }
            )
    return rows


def describe_arm(key, runs, n_learned, values, level):
    """Return the row of arms.tsv of one arm; intervals over seeds stay empty for one seed.

    Args:
        key: (framework, init).
        runs: its runs.
        n_learned: how many of them learnt.
        values: (resamples,) bootstrap accuracies.
    """
    accuracies = [run["test_accuracy"] for run in runs]
    correct = np.stack([run["correct"] for run in runs])
    several = len(runs) > 1
    low, high = statistics.mean_interval(correct, level) if several else (None, None)
    t_low, t_high = statistics.seed_interval(accuracies, level) if several else (None, None)
    b_low, b_high = statistics.percentile_interval(values, level) if several else (None, None)
    notes = [] if several else ["one seed: no interval, no spread over seeds"]
    if n_learned < len(runs):
        notes.append(f"{len(runs) - n_learned} of {len(runs)} runs did not learn; counted")
    mean = float(np.mean(accuracies))
    return {
        "framework": key[0],
        "init": key[1],
        "n_seeds": len(runs),
        "n_test": correct.shape[1],
        "mean": mean,
        "sd_ddof1": statistics.standard_deviation(accuracies, 1),
        "sd_ddof0": statistics.standard_deviation(accuracies, 0) if several else None,
        "min": min(accuracies),
        "max": max(accuracies),
        "low": low,
        "high": high,
        "t_low": t_low,
        "t_high": t_high,
        "bootstrap_low": b_low,
        "bootstrap_high": b_high,
        "sampling_margin": statistics.sampling_margin(mean, correct.shape[1], level),
        "best_of_k": " ".join(f"{k}={value!r}" for k, value in enumerate(statistics.expected_best(accuracies), 1)),
        "n_learned": n_learned,
        "n_runs": len(runs),
        "note": "; ".join(notes),
    }


def compare(key_a, runs_a, key_b, runs_b, values_a, values_b, options):
    """Return (row of pairs.tsv before adjustment, rows of mcnemar.tsv) of two arms.

    Args:
        key_a, key_b: (framework, init).
        runs_a, runs_b: their runs.
        values_a, values_b: (resamples,) bootstrap accuracies over the same reviews drawn.
        options: dict with alpha, level, power, resamples, seed.
    """
    a, b = ([run["test_accuracy"] for run in runs] for runs in (runs_a, runs_b))
    correct_a, correct_b = (np.stack([run["correct"] for run in runs]) for runs in (runs_a, runs_b))
    several = min(len(a), len(b)) > 1
    names = {"framework_a": key_a[0], "init_a": key_a[1], "framework_b": key_b[0], "init_b": key_b[1]}
    of_b = {run["seed"]: run for run in runs_b}
    mcnemar = []
    for run in runs_a:
        if run["seed"] in of_b:
            only_a, only_b, p = statistics.mcnemar_p(run["correct"], of_b[run["seed"]]["correct"])
            mcnemar.append({**names, "seed": run["seed"], "only_a": only_a, "only_b": only_b, "p_value": p})
    differences = values_a - values_b
    low, high = statistics.difference_interval(correct_a, correct_b, options["level"]) if several else (None, None)
    b_low, b_high = statistics.percentile_interval(differences, options["level"]) if several else (None, None)
    row = {
        **names,
        "name_a": f"{FRAMEWORKS.get(key_a[0], key_a[0])} {key_a[1]}",
        "name_b": f"{FRAMEWORKS.get(key_b[0], key_b[0])} {key_b[1]}",
        "n_a": len(a),
        "n_b": len(b),
        "n_test": correct_a.shape[1],
        "difference": float(np.mean(a) - np.mean(b)),
        "low": low,
        "high": high,
        "bootstrap_low": b_low,
        "bootstrap_high": b_high,
        "welch_p": statistics.welch_p(a, b),
        "seeds_p": statistics.permute_seeds(a, b, options["seed"]) if several else None,
        "seeds_p_floor": statistics.seed_floor(len(a), len(b)),
        "items_p": statistics.permute_items(correct_a, correct_b, options["resamples"], options["seed"]),
        "minimum_detectable": statistics.minimum_detectable(a, b, options["alpha"], options["power"]),
        "probability_better_seeds": statistics.probability_better(a, b),
        "probability_better_bootstrap": float(((differences > 0) + 0.5 * (differences == 0)).mean())
        if several
        else None,
        "mcnemar": [entry["p_value"] for entry in mcnemar],
    }
    return row, mcnemar


def compute(arms, majority_share, options):
    """Return (learned rows, arm rows, pair rows, McNemar rows) of a study.

    Args:
        arms: what `load_runs` returns.
        majority_share: share of the larger class in the validation split.
        options: dict with alpha, level, power, resamples (permutations over items), bootstrap (resamples), seed.
    """
    learned = judge_learning(arms, majority_share, options["alpha"])
    n_learned = dict.fromkeys(arms, 0)
    for row in learned:
        n_learned[(row["framework"], row["init"])] += row["learned"]
    generator = np.random.default_rng(options["seed"])
    n_items = len(next(iter(arms.values()))[0]["correct"])
    draws = statistics.item_draws(n_items, options["bootstrap"], generator)
    values = {
        key: statistics.nested_bootstrap(np.stack([run["correct"] for run in runs]), draws, generator)
        for key, runs in arms.items()
    }
    arm_rows = [describe_arm(key, runs, n_learned[key], values[key], options["level"]) for key, runs in arms.items()]
    keys = list(arms)
    pairs, mcnemar = [], []
    for i, key_a in enumerate(keys):
        for key_b in keys[i + 1 :]:
            row, tests = compare(key_a, arms[key_a], key_b, arms[key_b], values[key_a], values[key_b], options)
            row["not_learned_a"] = len(arms[key_a]) - n_learned[key_a]
            row["not_learned_b"] = len(arms[key_b]) - n_learned[key_b]
            pairs.append(row)
            mcnemar += tests
    for test in ("welch_p", "seeds_p", "items_p"):
        for row, p in zip(pairs, statistics.holm([row[test] for row in pairs]), strict=True):
            row[f"{test}_holm"] = p
    for row, p in zip(mcnemar, statistics.holm([row["p_value"] for row in mcnemar]), strict=True):
        row["p_value_holm"] = p
    for row in pairs:
        row["n_pairs"] = len(pairs)
        row["claim"] = statistics.judge(row, options["alpha"])
        row["verdict"] = statistics.verdict(row, options["alpha"], options["level"])
    return learned, arm_rows, pairs, mcnemar


def describe_method(options):
    """Return what method.json says: every option, and each figure's method in words."""
    return {
        **options,
        "mean": "over seeds, of the accuracy on test at each run's selected epoch",
        "interval": statistics.INTERVAL_METHOD,
        "t_interval": "Student's t over seeds alone: this test set taken as fixed",
        "bootstrap_interval": "percentiles; seeds and, jointly for all arms, test reviews drawn with replacement; "
        "too narrow with few seeds, shown for comparison",
        "welch": "scipy.stats.ttest_ind, equal_var=False, over seeds, two-sided; taken as normal",
        "permutation_over_seeds": "scipy.stats.permutation_test, independent, two-sided, exact while enumerable",
        "permutation_over_items": "scipy.stats.permutation_test, paired by review, two-sided; of these models",
        "mcnemar": "statsmodels, exact, the runs of one seed in both arms",
        "correction": "Holm (statsmodels multipletests) over the pairs of arms; McNemar over pairs and seeds",
        "minimum_detectable": "statsmodels TTestIndPower times the pooled standard deviation",
        "best_of_k": "mean maximum over all subsets of k runs",
        "learned": "one-sided exact binomial test of the best validation accuracy against the majority class's share",
    }


def main(
    runs, predictions, manifest, arms, pairs, mcnemar, method, learned, alpha, level, power, resamples, bootstrap, seed
):
    """Write the statistics of a study.

    Args:
        runs: runs.tsv.
        predictions: {(framework, init, seed): path}.
        manifest: data/manifest.json, for the class balance of the validation split.
        arms, pairs, mcnemar, learned: TSV files to write.
        method: JSON file to write.
        alpha, level, power: significance, confidence, power (fractions).
        resamples, bootstrap: permutations over reviews, bootstrap resamples.
        seed: of the resampling.
    """
    options = {
        "alpha": alpha,
        "level": level,
        "power": power,
        "resamples": resamples,
        "bootstrap": bootstrap,
        "seed": seed,
    }
    valid = read_json(manifest)["splits"]["valid"]
    majority_share = max(valid["n_positive"], valid["n"] - valid["n_positive"]) / valid["n"]
    tables = compute(load_runs(read_tsv(runs), predictions), majority_share, options)
    for path, rows, columns in zip(
        (learned, arms, pairs, mcnemar), tables, (LEARNED, ARMS, PAIRS, MCNEMAR), strict=True
    ):
        write_tsv(path, rows, columns)
    write_json(method, describe_method(options))


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        keys = [tuple(key) for key in snakemake.params.run_keys]  # noqa: F821
        main(
            snakemake.input.runs,  # noqa: F821
            dict(zip(keys, snakemake.input.predictions, strict=True)),  # noqa: F821
            snakemake.input.manifest,  # noqa: F821
            snakemake.output.arms,  # noqa: F821
            snakemake.output.pairs,  # noqa: F821
            snakemake.output.mcnemar,  # noqa: F821
            snakemake.output.method,  # noqa: F821
            snakemake.output.learned,  # noqa: F821
            **snakemake.params.options,  # noqa: F821
        )
