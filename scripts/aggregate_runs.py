"""Join the files of every run into two long tables: runs.tsv and history.tsv."""

import re

from common.arms import run_label
from common.errors import StudyError
from common.files import read_json, read_tsv, write_tsv
from common.rule import running

RUN_COLUMNS = (
    "study",
    "synthetic",
    "framework",
    "init",
    "seed",
    "best_epoch",
    "best_update",
    "valid_accuracy",
    "test_accuracy",
    "n_correct_test",
    "n_train",
    "n_valid",
    "n_test",
    "total_updates",
    "warmup_updates",
    "train_seconds",
    "precision",
    "threads",
)
HISTORY_COLUMNS = ("framework", "init", "seed", "epoch", "update", "split", "metric", "value")
_PLACE = re.compile(r"([^/]+)/([^/]+)/seed(\d+)(?:/[^/]+|\.tsv)$")


def run_of(path):
    """Return the run (framework, init, seed) that a file belongs to, from .../FRAMEWORK/INIT/seedN/FILE or seedN.tsv.

    Raises:
        StudyError: the path does not end that way.
    """
    match = _PLACE.search(str(path).replace("\\", "/"))
    if not match:
        raise StudyError(f"{path} is not a run's file (expected .../FRAMEWORK/INIT/seedN/FILE or .../seedN.tsv)")
    return match[1], match[2], int(match[3])


def by_run(paths, runs, what):
    """Return {run: path}, complete for `runs`.

    Raises:
        StudyError: a run has none, or a run's file is given twice.
    """
    found = {}
    for path in paths:
        run = run_of(path)
        if run in found:
            raise StudyError(f"run {run_label(*run)}: {what} is given twice ({found[run]} and {path})")
        found[run] = path
    for run in runs:
        if run not in found:
            raise StudyError(f"run {run_label(*run)} has no {what}: finish that run, or take it out of the config")
    for run in found:
        if run not in runs:
            raise StudyError(f"run {run_label(*run)} has {found[run]} but no run.json: finish that run first")
    return found


def read_predictions(path):
    """Return the labels and predictions of a run on test.

    Args:
        path: TSV: id, label, prediction, probability; one row per test example, in the order of the file.

    Returns:
        tuple[list[str], list[str]]: n labels and n predictions, each `0` or `1`.

    Raises:
        StudyError: no rows, ids not 0, 1, 2, ..., a class that is neither 0 nor 1, a probability outside 0 to 1.
    """
    labels, predictions = [], []
    for number, row in enumerate(read_tsv(path)):
        where = f"{path}, line {number + 2}"
        if row["id"] != str(number):
            raise StudyError(f"{where}: id {row['id']} where {number} was expected; run the evaluation again")
        for column in ("label", "prediction"):
            if row[column] not in ("0", "1"):
                raise StudyError(f"{where}: {column} {row[column]!r} is neither 0 nor 1; run the evaluation again")
        if not 0 <= float(row["probability"] or "nan") <= 1:
            raise StudyError(f"{where}: probability {row['probability']!r} is not between 0 and 1")
        labels.append(row["label"])
        predictions.append(row["prediction"])
    if not labels:
        raise StudyError(f"{path} holds no predictions; run the evaluation again")
    return labels, predictions


def aggregate(run_files, selected_files, prediction_files, study, synthetic):
    """Return the rows of runs.tsv, in the order of `run_files`.

    The test accuracy is counted from the predictions; no other test figure is read.

    Raises:
        StudyError: files of a run are missing, name another run, or disagree between runs (test labels, sizes).
    """
    runs = [run_of(path) for path in run_files]
    run_files = by_run(run_files, runs, "run.json")
    selected_files = by_run(selected_files, runs, "selected.json")
    prediction_files = by_run(prediction_files, runs, "predictions")
    rows, first, first_labels = [], None, None
    for run in runs:
        record = read_json(run_files[run])
        selected = read_json(selected_files[run])
        label = run_label(*run)
        if (record["framework"], record["init"], int(record["seed"])) != run:
            other = run_label(record["framework"], record["init"], record["seed"])
            raise StudyError(f"run {label}: its run.json says {other}; train this run again")
        # A wrong number of validation examples would shift every accuracy and go unseen.
        if abs(selected["n_correct"] / record["n_valid"] - selected["valid_accuracy"]) > 1e-6:
            raise StudyError(
                f"run {label}: its validation accuracy {selected['valid_accuracy']} is not "
                f"{selected['n_correct']} of {record['n_valid']}; train this run again"
            )
        labels, predictions = read_predictions(prediction_files[run])
        if first is None:
            first, first_labels = record, labels
        elif labels != first_labels:
            differing = next(
                (i for i, pair in enumerate(zip(labels, first_labels, strict=False)) if pair[0] != pair[1]), None
            )
            where = (
                f"{len(labels)} instead of {len(first_labels)} examples"
                if differing is None
                else f"the first difference is id {differing}"
            )
            raise StudyError(
                f"run {label} was tested on other labels than {run_label(*runs[0])} ({where}); evaluate it again"
            )
        for key in ("n_train", "n_valid"):
            if record[key] != first[key]:
                raise StudyError(
                    f"run {label} has {key} {record[key]}, {run_label(*runs[0])} has {first[key]}: "
                    "they were trained on different data; train the older one again"
                )
        n_correct = sum(a == b for a, b in zip(labels, predictions, strict=True))
        rows.append(
            {
                "study": study,
                "synthetic": synthetic,
                "framework": run[0],
                "init": run[1],
                "seed": run[2],
                "best_epoch": selected["epoch"],
                "best_update": selected["update"],
                "valid_accuracy": selected["valid_accuracy"],
                "test_accuracy": n_correct / len(labels),
                "n_correct_test": n_correct,
                "n_test": len(labels),
                **{
                    key: record.get(key)
                    for key in (
                        "n_train",
                        "n_valid",
                        "total_updates",
                        "warmup_updates",
                        "train_seconds",
                        "precision",
                        "threads",
                    )
                },
            }
        )
    return rows


def join_histories(runs, history_files, test_curve_files):
    """Return the rows of history.tsv: every run's history, then its accuracy on test by epoch where there is one.

    Values are copied as text, so no digit is lost.

    Raises:
        StudyError: a run has no history; a history speaks of test, which training must not see.
    """
    histories = by_run(history_files, runs, "history.tsv")
    curves = by_run(test_curve_files, runs, "test_curve.tsv") if test_curve_files else {}
    rows = []
    for run in runs:
        identity = dict(zip(("framework", "init", "seed"), run, strict=True))
        for path in filter(None, (histories[run], curves.get(run))):
            for row in read_tsv(path):
                if (row["split"] == "test") != (path is curves.get(run)):
                    raise StudyError(f"{path} holds rows of split {row['split']}, which do not belong there")
                rows.append({**identity, **row})
    return rows


def main(run_files, selected_files, history_files, prediction_files, test_curve_files, manifest, runs, history, study):
    """Write runs.tsv (one row per run) and history.tsv (one row per run, epoch, split and metric).

    Args:
        run_files: every run's run.json; their order is the order of the rows.
        selected_files: every run's selected.json.
        history_files: every run's history.tsv.
        prediction_files: every run's predictions on test.
        test_curve_files: every run's test_curve.tsv, or none at all.
        manifest: data/manifest.json, which says whether the data are synthetic.
        runs: table to write.
        history: table to write.
        study: name of the study.

    Raises:
        StudyError: names the run whose files are missing or disagree with the others'.
    """
    synthetic = bool(read_json(manifest)["synthetic"])
    rows = aggregate(run_files, selected_files, prediction_files, study, synthetic)
    identities = [run_of(path) for path in run_files]
    write_tsv(runs, rows, RUN_COLUMNS)
    write_tsv(history, join_histories(identities, history_files, test_curve_files), HISTORY_COLUMNS)
    print(f"{len(rows)} runs")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            list(snakemake.input.runs),  # noqa: F821
            list(snakemake.input.selected),  # noqa: F821
            list(snakemake.input.histories),  # noqa: F821
            list(snakemake.input.predictions),  # noqa: F821
            list(snakemake.input.test_curves),  # noqa: F821
            snakemake.input.manifest,  # noqa: F821
            snakemake.output.runs,  # noqa: F821
            snakemake.output.history,  # noqa: F821
            snakemake.params.study,  # noqa: F821
        )
