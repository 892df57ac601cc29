"""The study's runs with their answers on test, the input of statistics of arms."""

import numpy as np
import pandas

from analysis import inference, permutations
from analysis.contrasts import Term, interval_of, paired
from analysis.measured import read_answered
from analysis.prediction_tables import read_answers
from common.arms import ARM, Arm, summarise
from common.errors import StudyError
from measures import DEFAULT, Lead, load

# The columns of runs.tsv for things that the arms of one seed share and that differ between seeds.
SHARED = ("split_seed", "checkpoint_seed")


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
        dict: {Arm: [{seed, valid_accuracy (NaN: none is known), n_valid, test_accuracy, correct (N,), constant}]};
        where another measure than accuracy leads also lead (`measures.Lead`), valid_score, test_score and items, (N,)
        values of texts.

    Raises:
        StudyError: a run without predictions, predictions of other reviews or labels than the first run's, or an
            accuracy in the table that is not that of the predictions.
    """
    files = prediction_files(runs, predictions)
    labels, answers = read_answers(files)
    right = answers.eq(labels, axis=0)
    scores = leading_scores(runs, files)
    arms = {}
    for key, row in zip(files, runs.to_dict("records"), strict=True):
        counted = row["test_accuracy"] != "" and not pandas.isna(row["test_accuracy"])
        accuracy = float(right[key].mean()) if counted else None
        if counted and abs(accuracy - float(row["test_accuracy"])) > 1e-9:
            raise StudyError(
                f"{predictions[key]}: its accuracy is {accuracy!r}, runs.tsv says {row['test_accuracy']}: "
                "build runs.tsv again"
            )
        arms.setdefault(Arm(*(row[name] for name in ARM)), []).append(
            {
                "seed": row["seed"],
                "valid_accuracy": float(row["valid_accuracy"] or "nan") if counted else None,
                "n_valid": int(row["n_valid"]),
                "test_accuracy": accuracy,
                "correct": right[key].to_numpy(dtype=np.float32),
                "constant": answers[key].nunique() == 1,
                **scores.get(key, {}),
            }
        )
    return arms


def leading_scores(runs, files):
    """Return {(arm, seed): what `load_runs` adds where another measure than accuracy leads}; {} where it does not.

    Args:
        runs: frame of runs.tsv (text).
        files: {(arm, seed): path of its predictions}.

    Raises:
        StudyError: a value in the table is not that of the predictions, or the measure gives no number.
    """
    lead, found = Lead(runs.iloc[0]), {}
    if lead.name == DEFAULT:
        return found
    measure, answered = load(lead.name), read_answered(files)
    for key, row in zip(files, runs.to_dict("records"), strict=True):
        score, items = answered[key].score(measure)
        if abs(score - float(row["test_score"])) > 1e-9:
            raise StudyError(
                f"{files[key]}: its {lead.label} is {score!r}, runs.tsv says {row['test_score']}: build runs.tsv again"
            )
        found[key] = {
            "lead": lead,
            "valid_score": float(row["valid_score"] or "nan"),
            "test_score": score,
            "items": items,
        }
    return found


def lead_of(runs):
    """Return the `measures.Lead` of an arm's runs."""
    return runs[0].get("lead") or Lead()


def scores_of(runs, split="test"):
    """Return the values of an arm's runs by the leading measure on a split."""
    return [run[getattr(lead_of(runs), split)] for run in runs]


def items_of(runs):
    """Return (S, N) values of texts by the leading measure, whose mean estimates that of the runs."""
    return np.stack([run.get("items", run.get("correct")) for run in runs])


def mean_interval(runs, level):
    """Return the interval (low, high) of an arm's mean over seeds and texts; (None, None) for one seed."""
    if lead_of(runs).exact:
        return inference.mean_interval(items_of(runs), level) or (None, None)
    ends = interval_of([Term(1, items_of(runs))], summarise(scores_of(runs))["mean"], level)
    return clipped(ends, lead_of(runs).bounds)


def clipped(ends, bounds):
    """Return the ends of an interval within the bounds of a measure (`measures.bounds`)."""
    if bounds is None or ends[0] is None:
        return ends
    return max(ends[0], bounds[0]), min(ends[1], bounds[1])


def contrasted(arms, level, shared=False):
    """Return (difference, (low, high)) of two arms, A - B, or of two differences, (A - B) - (C - D).

    Args:
        arms: two or four lists of runs: A, B, and C, D.
        level: confidence; the ends are None where an arm has one seed.
        shared: True where runs of one seed share their draws.
    """
    signs, items = (1, -1, -1, 1)[: len(arms)], [items_of(runs) for runs in arms]
    if lead_of(arms[0]).exact:
        gaps = [inference.mean_difference(*items[at : at + 2]) for at in range(0, len(arms), 2)]
        interval_of_contrast = inference.interaction_interval if len(arms) == 4 else inference.difference_interval
        ends = interval_of_contrast(*((items[:2], items[2:]) if len(arms) == 4 else items), level, shared)
        return gaps[0] - (gaps[1] if len(gaps) > 1 else 0.0), ends or (None, None)
    means = [summarise(scores_of(runs))["mean"] for runs in arms]
    difference = sum(sign * mean for sign, mean in zip(signs, means, strict=True))
    # Sums of equal means differ by less than this.
    difference = 0.0 if abs(difference) < 1e-12 else difference
    terms = [Term(sign, its) for sign, its in zip(signs, items, strict=True)]
    return difference, interval_of(paired(terms) if shared else terms, difference, level)


def read_runs(runs, predictions, run_keys):
    """Return the runs as `load_runs` does.

    Args:
        runs: frame of runs.tsv (text).
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of them.
    """
    return load_runs(runs, by_run(run_keys, predictions))


def shared(runs):
    """Return the columns of `SHARED` that a frame of runs has."""
    return [name for name in SHARED if name in runs]


def sharing(runs):
    """Return {"paired": True} where the runs of one seed share what their seed draws, {} where nothing is drawn.

    Args:
        runs: frame of runs (text), with a column of `SHARED` where each seed draws its texts or has its pretraining.

    Raises:
        StudyError: the arms' runs are in different orders, so that no pairs can be made.
    """
    if not shared(runs):
        return {}
    orders = [list(its["seed"]) for _, its in runs.groupby("arm", sort=False)]
    for order in orders:
        if order != max(orders, key=len)[: len(order)]:
            raise StudyError("runs.tsv lists the seeds of its arms in different orders; build runs.tsv again")
    return {"paired": True}


def seed_tests(first, second, seed, shared=False):
    """Return the tests over seeds of two arms: columns of every table of pairs, before Holm's correction.

    Args:
        first, second: the arms' scores, one a seed.
        seed: seed of the permutations that are drawn.
        shared: True where runs of one seed share their draws: the tests are then of the pairs.
    """
    several = min(len(first), len(second)) > 1
    if shared and len(first) == len(second):
        return {
            "welch_p": inference.paired_p(first, second),
            "seeds_p": permutations.flip_seeds(first, second, seed) if several else None,
            "seeds_p_floor": permutations.flip_floor(len(first)),
        }
    return {
        "welch_p": inference.welch_p(first, second),
        "seeds_p": permutations.permute_seeds(first, second, seed) if several else None,
        "seeds_p_floor": permutations.seed_floor(len(first), len(second)),
    }


def compared(runs_a, runs_b, options):
    """Return the columns on test that every table of two arms has, as in pairs.tsv, before Holm's correction.

    Args:
        runs_a, runs_b: the arms' runs, as `load_runs` returns them.
        options: dict with level and seed; `paired` where runs of one seed share their draws.
    """
    a, b = (scores_of(runs) for runs in (runs_a, runs_b))
    shared = options.get("paired", False)
    difference, (low, high) = contrasted((runs_a, runs_b), options["level"], shared)
    return {
        "n_seeds_a": len(a),
        "n_seeds_b": len(b),
        "n_test": items_of(runs_a).shape[1],
        "difference": difference,
        "low": low,
        "high": high,
        **seed_tests(a, b, options["seed"], shared),
    }
