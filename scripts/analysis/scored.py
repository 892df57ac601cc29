"""The study's runs with their answers on test, the input of statistics of arms."""

import numpy as np

from analysis import inference, permutations
from analysis.prediction_tables import read_answers
from common.arms import ARM, Arm
from common.errors import StudyError


def prediction_files(runs, predictions):
    """Return {(arm, seed): path of its predictions} of the runs of runs.tsv, in its order.

    Args:
        runs: frame of runs.tsv (text).
        predictions: {(arm, seed): path}, of these runs and others.

    Raises:
        StudyError: there is no run, or a run has no predictions.
    """
    if runs.empty:
        raise StudyError("runs.tsv holds no run: configure finetuning.arms and finetuning.seeds")
    keys = list(zip(runs["arm"], runs["seed"], strict=True))
    for key in keys:
        if key not in predictions:
            raise StudyError(f"{'/'.join(key)} is in runs.tsv but has no predictions: run its evaluation again")
    return {key: predictions[key] for key in keys}


def by_run(run_keys, predictions):
    """Return {(arm, seed): path} of a rule's predictions."""
    return dict(zip(map(tuple, run_keys), predictions, strict=True))


def load_runs(runs, predictions):
    """Return the runs grouped by arm, in the order of the table.

    Args:
        runs: frame of runs.tsv (text).
        predictions: {(arm, seed): path of its predictions}.

    Returns:
        dict: {Arm: [{seed, valid_accuracy, n_valid, test_accuracy, correct (N,), constant}]}

    Raises:
        StudyError: a run without predictions, predictions of other reviews or labels than the first run's, or an
            accuracy in the table that is not that of the predictions.
    """
    files = prediction_files(runs, predictions)
    labels, answers = read_answers(files)
    right = answers.eq(labels, axis=0)
    arms = {}
    for key, row in zip(files, runs.to_dict("records"), strict=True):
        accuracy = float(right[key].mean())
        if abs(accuracy - float(row["test_accuracy"])) > 1e-9:
            raise StudyError(
                f"{predictions[key]}: its accuracy is {accuracy!r}, runs.tsv says {row['test_accuracy']}: "
                "build runs.tsv again"
            )
        arms.setdefault(Arm(*(row[name] for name in ARM)), []).append(
            {
                "seed": row["seed"],
                "valid_accuracy": float(row["valid_accuracy"]),
                "n_valid": int(row["n_valid"]),
                "test_accuracy": accuracy,
                "correct": right[key].to_numpy(dtype=np.float32),
                "constant": answers[key].nunique() == 1,
            }
        )
    return arms


def read_runs(runs, predictions, run_keys):
    """Return the runs as `load_runs` does.

    Args:
        runs: frame of runs.tsv (text).
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of them.
    """
    return load_runs(runs, by_run(run_keys, predictions))


def seed_tests(first, second, seed):
    """Return the tests over seeds of two arms: columns of every table of pairs, before Holm's correction.

    Args:
        first, second: the arms' scores, one a seed.
        seed: seed of the permutations that are drawn.
    """
    several = min(len(first), len(second)) > 1
    return {
        "welch_p": inference.welch_p(first, second),
        "seeds_p": permutations.permute_seeds(first, second, seed) if several else None,
        "seeds_p_floor": permutations.seed_floor(len(first), len(second)),
    }


def compared(runs_a, runs_b, options):
    """Return the columns on test that every table of two arms has, as in pairs.tsv, before Holm's correction.

    Args:
        runs_a, runs_b: the arms' runs, as `load_runs` returns them.
        options: dict with level and seed.
    """
    a, b = ([run["test_accuracy"] for run in runs] for runs in (runs_a, runs_b))
    correct = [np.stack([run["correct"] for run in runs]) for runs in (runs_a, runs_b)]
    low, high = inference.difference_interval(*correct, options["level"]) or (None, None)
    return {
        "n_seeds_a": len(a),
        "n_seeds_b": len(b),
        "n_test": correct[0].shape[1],
        "difference": inference.mean_difference(*correct),
        "low": low,
        "high": high,
        **seed_tests(a, b, options["seed"]),
    }
