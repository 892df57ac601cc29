"""Tabulate the simple models, and compare every arm with them: paired by text, since both answer the same ones."""

import numpy as np
from scipy.stats import binomtest

from analysis import inference
from analysis.arm_pairs import OPTIONS
from analysis.contrasts import Term, interval_of, p_beyond
from analysis.measured import read_answered
from analysis.prediction_tables import read_answers
from analysis.scored import items_of, read_runs, scores_of
from common.arms import ARM, summarise
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from finetuning.seals import check_seal
from measures import DEFAULT, Lead, load
from study.baselines import CONSTANT
from study.tables import write_table


def by_model(models):
    """Return the rows of baselines.tsv.

    Args:
        models: {arm: {"record": its run.json, "selected": its selected.json, "right": (N,) booleans on test}};
            where another measure than accuracy leads also "led": lead, valid_score, test_score and items.
    """
    rows = []
    for name, model in models.items():
        right, record = model["right"], model["record"]
        low = high = n_right = None
        if model.get("led", {}).get("lead", Lead()).counted:
            n_right = int(right.sum())
            low, high = map(float, binomtest(n_right, len(right)).proportion_ci(OPTIONS["level"], method="exact"))
        rows.append(
            {
                "baseline": name,
                "features": record["features"],
                "C": model["selected"]["C"],
                "n_train": record["n_train"],
                "n_valid": record["n_valid"],
                "valid_accuracy": model["selected"]["valid_accuracy"],
                "n_test": len(right),
                "n_correct_test": n_right,
                "test_accuracy": None if n_right is None else n_right / len(right),
                **(model["led"]["lead"].columns(model["led"]) if "led" in model else {}),
                "exact_low": low,
                "exact_high": high,
            }
        )
    return rows


def against(arms, models, options):
    """Return the rows of statistics/baselines.tsv: every arm minus every simple model that learnt from as many texts.

    Holm's correction is over the arms that are compared with one model.

    Args:
        arms: what `analysis.scored.read_runs` returns.
        models: as in `by_model`; the largest class is left out, since an arm that does not beat it counts as failed.
        options: dict with the keys of `OPTIONS`.
    """
    rows = []
    for name, model in models.items():
        if model["record"]["model"] in CONSTANT:
            continue
        alike = {arm: its for arm, its in arms.items() if its[0]["n_train"] == model["record"]["n_train"]}
        compared = [row_of(arm, its, name, model, options) for arm, its in alike.items()]
        inference.correct(compared, "p")
        rows += compared
    return rows


def row_of(arm, its, name, model, options):
    """Return an arm's row, before Holm's correction."""
    correct = items_of(its)
    if led := model.get("led"):
        difference = summarise(scores_of(its))["mean"] - led["test_score"]
        terms = [Term(1, correct), Term(-1, led["items"][None], fixed=True)]
        low, high = interval_of(terms, difference, options["level"])
        p = p_beyond(terms, difference) if low is not None else None
        found = {"difference": difference, "low": low, "high": high, "p": p}
    else:
        found = inference.fixed_contrast(correct, model["right"], options["level"]) or {
            "difference": inference.mean_difference(correct, model["right"][None]),
            **dict.fromkeys(("low", "high", "p")),
        }
    facts = dict(zip(ARM, arm, strict=True))
    return (
        facts | {"baseline": name, "n_seeds": len(its), "n_test": correct.shape[1], "level": options["level"]} | found
    )


def read_models(names, records, selected, answers, lead):
    """Return the simple models as `by_model` takes them.

    Args:
        names: their arms.
        records, selected, answers: run.json, selected.json and predictions of each.
        lead: `measures.Lead` of the study.

    Raises:
        StudyError: a record is of another arm than its folder says.
    """
    labels, given = read_answers(dict(zip(names, answers, strict=True)))
    models = {}
    for name, record_file, choice in zip(names, records, selected, strict=True):
        record = read_json(record_file)
        if record["arm"] != name:
            raise StudyError(
                f"{record_file} is of the arm {record['arm']}, not of {name}: train the simple models again"
            )
        right = given[name].eq(labels).to_numpy(dtype=np.float32)
        models[name] = {"record": record, "selected": read_json(choice), "right": right}
    if lead.name != DEFAULT:
        measure, answered = load(lead.name), read_answered(dict(zip(names, answers, strict=True)))
        for name, model in models.items():
            score, items = answered[name].score(measure)
            model["led"] = {"lead": lead, "valid_score": model["selected"]["valid_score"]}
            model["led"] |= {"test_score": score, "items": items}
    return models


def main(
    runs,
    predictions,
    run_keys,
    records,
    selected,
    answers,
    names,
    table,
    compared,
    subsets=None,
    options=OPTIONS,
    seals=(),
):
    """Write the tables.

    Args:
        runs: runs.tsv.
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of them.
        records, selected, answers: run.json, selected.json and predictions of the simple models.
        names: their arms, in this order.
        table, compared: TSV files to write: baselines.tsv and statistics/baselines.tsv.
        subsets: TSV file to write: learning_curves/baselines.tsv, all of them; baselines.tsv then has those that learnt
            from all training reviews. None: all arms learnt from all.
        options: dict with the keys of `OPTIONS`.
        seals: seals of the simple models' evaluations, in the order of `names`; none: the records come from elsewhere.

    Raises:
        StudyError: see `analysis.scored.load_runs` and `finetuning.seals.check_seal`; or a record names another arm
            than its folder.
    """
    for seal, *files in zip(seals, answers, records, selected, strict=False):
        check_seal(seal, dict(zip(("predictions", "record", "selected"), files, strict=True)))
    frame = read_frame(runs)
    models = read_models(names, records, selected, answers, Lead(frame.iloc[0]))
    rows = by_model(models)
    most = max(row["n_train"] for row in rows)
    write_table(table, "baselines", [row for row in rows if row["n_train"] == most])
    if subsets:
        write_table(
            subsets,
            "learning_curve_baselines",
            [row | {"baseline": models[row["baseline"]]["record"]["model"]} for row in rows],
        )
    sizes = dict(zip(frame["arm"], map(int, frame["n_train"]), strict=True))
    arms = read_runs(frame, predictions, run_keys)
    for arm, its in arms.items():
        its[0]["n_train"] = sizes[arm.arm]
    write_table(compared, "against_baselines", against(arms, models, options))


if __name__ == "__main__":
    run(main, snakemake)
