"""Compare the arms by the measures beside the leading one, with the same intervals and tests.

An interval over seeds and texts needs a value of each text. A measure that is no mean over texts gives jackknife
pseudo-values (see `measures`): with them the interval has the coverage that Student's interval over seeds lacks.
"""

import itertools

import numpy as np

import measures
from analysis import inference
from analysis.arm_pairs import OPTIONS, pair_names
from analysis.contrasts import Term, interval_of, paired
from analysis.measured import read_answered, score_runs
from analysis.scored import by_run, clipped, prediction_files, seed_tests, sharing
from common.arms import ARM, summarise
from common.entry import run
from common.frames import read_frame
from study.tables import write_table


def describe_arm(arm, runs, level, bounds=None):
    """Return an arm's row of measures/arms.tsv, without the measure.

    Args:
        arm: `Arm`.
        runs: its runs, as `analysis.measured.score_runs` returns them.
        level: confidence of the interval.
        bounds: of the measure's values, which the interval keeps; None: it has none.
    """
    found = summarise([one["score"] for one in runs])
    items = np.stack([one["items"] for one in runs])
    low, high = clipped(interval_of([Term(1, items)], found["mean"], level), bounds)
    return {
        **dict(zip(ARM, arm, strict=True)),
        "n_seeds": found["n_seeds"],
        "n_test": items.shape[1],
        **{f"score_{name}": found[name] for name in ("mean", "sd_ddof1", "min", "max")},
        "level": level,
        "score_low": low,
        "score_high": high,
    }


def compare(runs_a, runs_b, options):
    """Return two arms' row of measures/pairs.tsv before Holm's correction, without names and measure.

    Args:
        runs_a, runs_b: the arms' runs.
        options: dict with the keys of `analysis.arm_pairs.OPTIONS`.
    """
    a, b = ([one["score"] for one in runs] for runs in (runs_a, runs_b))
    items = [np.stack([one["items"] for one in runs]) for runs in (runs_a, runs_b)]
    difference = summarise(a)["mean"] - summarise(b)["mean"]
    terms, shared = [Term(1, items[0]), Term(-1, items[1])], options.get("paired", False)
    low, high = interval_of(paired(terms) if shared else terms, difference, options["level"])
    return {
        "n_seeds_a": len(a),
        "n_seeds_b": len(b),
        "n_test": items[0].shape[1],
        "score_difference": difference,
        "level": options["level"],
        "score_difference_low": low,
        "score_difference_high": high,
        **seed_tests(a, b, options["seed"], shared),
    }


def better_of(row, higher_is_better):
    """Return the name of the arm with the better mean; None where they are equal."""
    if not row["score_difference"]:
        return None
    return row["arm_a"] if (row["score_difference"] > 0) == higher_is_better else row["arm_b"]


def compare_all(by_measure, options):
    """Return the rows of measures/pairs.tsv: every two arms by every measure.

    Holm's correction is over all rows, so that a further measure makes no p smaller.

    Args:
        by_measure: {name: what `analysis.measured.score_runs` returns}.
        options: dict with the keys of `analysis.arm_pairs.OPTIONS`.
    """
    rows = []
    for name, arms in by_measure.items():
        for a, b in itertools.combinations(arms, 2):
            row = {"measure": name, **pair_names(a, b), **compare(arms[a], arms[b], options)}
            rows.append(row | {"better": better_of(row, measures.load(name).HIGHER_IS_BETTER)})
    inference.correct(rows, "welch_p", "seeds_p")
    return rows


def main(
    runs, predictions, measured_runs, measured_arms, measured_pairs, run_keys, names, versions=None, options=OPTIONS
):
    """Write the tables.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        measured_runs, measured_arms, measured_pairs: TSV files to write.
        run_keys: (arm, seed) of each of the predictions.
        names: the measures.
        versions: their files' digests; Snakemake compares them.
        options: dict with the keys of `analysis.arm_pairs.OPTIONS`.

    Raises:
        StudyError: see `analysis.scored.prediction_files`, `analysis.measured.read_answered` and `Answered.score`.
    """
    frame = read_frame(runs)
    answered = read_answered(prediction_files(frame, by_run(run_keys, predictions)))
    by_measure = {name: score_runs(frame, answered, measures.load(name)) for name in names}
    scored, described = [], []
    for name, arms in by_measure.items():
        facts = {"measure": name, "unit": measures.load(name).UNIT}
        facts["higher_is_better"] = measures.load(name).HIGHER_IS_BETTER
        for arm, its in arms.items():
            described.append(facts | describe_arm(arm, its, options["level"], measures.bounds(measures.load(name))))
            given = {"measure": name, **dict(zip(ARM, arm, strict=True))}
            scored += [given | {"seed": one["seed"], "score": one["score"]} for one in its]
    write_table(measured_runs, "measured_runs", scored)
    write_table(measured_arms, "measured_arms", described)
    write_table(measured_pairs, "measured_pairs", compare_all(by_measure, options | sharing(frame)))


if __name__ == "__main__":
    run(main, snakemake)
