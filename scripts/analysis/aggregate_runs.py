"""Join the files of every run into two long tables: runs.tsv and history.tsv."""

import pandas

import frameworks
import tasks
from analysis.measured import read_answered
from analysis.prediction_tables import read_answers
from analysis.run_records import check_history, check_labels, check_record, check_selected, check_settings, updates_made
from common.arms import ARM, run_label
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from finetuning.seals import check_seal, run_of
from measures import DEFAULT, Lead, leading, load
from study.tables import columns_of, frame_rows, write_table

IDENTITY = [*ARM, "seed"]
# The seeds of a run's fresh weights, order of reviews, dropout, draw of texts and pretraining.
SOURCES = ("init_seed", "data_seed", "dropout_seed", "split_seed", "checkpoint_seed")
# Where runs have one of these, it is shown even if it is the run's own.
SHOWN = {"dropout_seed", "split_seed", "checkpoint_seed"}
# These keys of each run's run.json become columns.
RECORDED = ["n_train", "n_valid", "total_updates", "warmup_updates", "train_seconds", "precision", "threads"]


def by_run(paths, runs, what):
    """Return {run: path}, complete for `runs` and in their order.

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
    return {run: found[run] for run in runs}


def read_run(run, record, selected, history, splits, n_train=None):
    """Return a run's row of runs.tsv without what is counted from its predictions.

    Args:
        run: (arm, seed), from the files' paths.
        record: path of its run.json.
        selected: path of its selected.json.
        history: path of its history.tsv.
        splits: splits of data/manifest.json.
        n_train: reviews of the subset that the run's arm learns from; None: all.

    Raises:
        StudyError: run.json names another run, or its files disagree with each other or with the data.
    """
    path, chosen_path, record, selected = record, selected, read_json(record), read_json(selected)
    if (record["arm"], int(record["seed"])) != run:
        other = run_label(record["arm"], record["seed"])
        raise StudyError(f"run {run_label(*run)}: its run.json says {other}; train this run again")
    check_record(path, record, splits, n_train)
    if selected["epoch"] is not None or record["framework"] in frameworks.having("TRAINS"):
        points = check_history(history, record, selected.get("select_by", "accuracy"), leading(selected))
        check_selected(chosen_path, selected, history, points)
    chosen = {"best_epoch": selected["epoch"], "best_update": selected["update"]}
    row = {name: record[name] for name in IDENTITY} | chosen | {"valid_accuracy": selected["valid_accuracy"]}
    row |= {key: selected[key] for key in ("measure", "valid_score") if key in selected}
    return row | {key: record.get(key) for key in RECORDED} | {"total_updates": updates_made(record)}


def source_seeds(records):
    """Return the columns of each run's seeds by source; empty ones where every source has the run's own seed.

    Args:
        records: contents of run.json.

    Returns:
        list[dict]: a run without a source, such as order in a linear model or the checkpoint of one that starts at
            random, has None there.
    """
    known = [name for name in SOURCES if any(name in record for record in records)]
    alike = all(record.get(name, record["seed"]) == record["seed"] for record in records for name in known)
    if alike and not SHOWN & set(known):
        return [{} for _ in records]
    return [{name: record.get(name) for name in known} for record in records]


def aggregate(records, selected, histories, predictions, manifest, study, subsets=None, seals=None):
    """Return runs.tsv as a frame, in the order of `records`.

    Test accuracy and the leading measure on test are counted from the predictions; no other test figure is read.
    `subsets` and `seals` are as in `main`.

    Raises:
        StudyError: files of a run are missing, name another run, or disagree with each other, other runs or the data.
    """
    runs = [run_of(path) for path in records]
    records = by_run(records, runs, "run.json")
    selected = by_run(selected, runs, "selected.json")
    histories = by_run(histories, runs, "history.tsv")
    predictions = by_run(predictions, runs, "predictions")
    for key, seal in by_run(seals, runs, "seal of its evaluation").items() if seals is not None else ():
        files = {"predictions": predictions, "record": records, "history": histories, "selected": selected}
        check_seal(seal, {name: paths[key] for name, paths in files.items()})
    splits = manifest["splits"]
    sizes = subsets or {}
    rows = [read_run(run, records[run], selected[run], histories[run], splits, sizes.get(run[0])) for run in runs]
    contents = {path: read_json(path) for path in records.values()}
    check_settings(contents)
    rows = [row | seeds for row, seeds in zip(rows, source_seeds(list(contents.values())), strict=True)]
    # As objects, numbers stay what the files say: pandas would make floats of whole numbers beside an empty cell.
    table = pandas.DataFrame(rows, dtype=object)
    check_kind(predictions, manifest.get("task", tasks.DEFAULT))
    labels, answers = read_answers(predictions)
    check_labels(list(labels), predictions[runs[0]], splits["test"])
    n_correct = answers.eq(labels, axis=0).sum().to_numpy()
    lead = Lead(table.iloc[0])
    if lead.name != DEFAULT:
        measure, answered = load(lead.name), read_answered(predictions)
        table["test_score"] = [answered[run].score(measure)[0] for run in runs]
    table = table.assign(
        study=study,
        synthetic=bool(manifest["synthetic"]),
        n_correct_test=n_correct if lead.counted else None,
        n_test=len(labels),
        test_accuracy=n_correct / len(labels) if lead.counted else None,
    )
    return table[[name for name in columns_of("runs") if name in table]]


def check_kind(predictions, task):
    """Refuse predictions of another kind of labels than the study's.

    Args:
        predictions: {run: path}.
        task: kind of the study's labels.

    Raises:
        StudyError: their columns are another kind's.
    """
    for path in predictions.values():
        if tasks.of_columns(read_frame(path).columns) is not tasks.load(task):
            raise StudyError(f"{path}: its columns are not those of data.task {task}; run the evaluation again")


def join_histories(runs, histories, test_curves, curved=None):
    """Return history.tsv as a frame: every run's history, then its accuracy on test by epoch where there is one.

    Values are copied as text, so no digit is lost. `curved` is as in `main`.

    Raises:
        StudyError: a run has no history; a history has rows of test, which training must not see.
    """
    identities = {(row["arm"], int(row["seed"])): row for row in runs[IDENTITY].to_dict("records")}
    histories = by_run(histories, identities, "history.tsv")
    wanted = [run for run in identities if curved is None or run[0] in curved]
    curves = by_run(test_curves, wanted, "test_curve.tsv") if test_curves else {}
    parts = []
    for name, identity in identities.items():
        for path in filter(None, (histories[name], curves.get(name))):
            part = read_frame(path)
            misplaced = part["split"][(part["split"] == "test") != (path is curves.get(name))]
            if not misplaced.empty:
                raise StudyError(f"{path} holds rows of split {misplaced.iloc[0]}, which do not belong there")
            parts.append(part.assign(**identity))
    return pandas.concat(parts)[columns_of("history")]


def main(
    records,
    selected,
    histories,
    predictions,
    test_curves,
    manifest,
    runs,
    history,
    study,
    subsets=None,
    curved=None,
    seals=None,
    versions=None,
    spread_runs=None,
    spread_history=None,
    **of_sources,
):
    """Write runs.tsv (one row per run) and history.tsv (one row per run, epoch, split and metric).

    Args:
        records: every run's run.json; their order is the order of the rows.
        selected: every run's selected.json.
        histories: every run's history.tsv.
        predictions: every run's predictions on test.
        test_curves: every run's test_curve.tsv, or none at all.
        manifest: data/manifest.json: whether the data are synthetic, the splits' sizes, the test labels' hash.
        runs: table to write.
        history: table to write.
        study: name of the study.
        subsets: {arm: reviews that it learns from, None: all}; None: every arm learns from all.
        curved: the arms whose runs have a test_curve.tsv, where any has one; None: all arms.
        seals: every run's seal, which its evaluation wrote; None: the records come from elsewhere.
        versions: digest of the leading measure's file; Snakemake compares it.
        spread_runs, spread_history: the same tables of the runs of `sources` to write; None: the study has none.
        **of_sources: source_records, source_selected and so on: the files of those runs.

    Raises:
        StudyError: names the run whose files are missing or disagree with the others'.
    """
    if spread_runs:
        files = {name.removeprefix("source_"): paths for name, paths in of_sources.items()}
        main(
            **files,
            test_curves=[],
            manifest=manifest,
            runs=spread_runs,
            history=spread_history,
            study=study,
            subsets=subsets,
        )
    table = aggregate(records, selected, histories, predictions, read_json(manifest), study, subsets, seals)
    write_table(runs, "runs", frame_rows(table))
    joined = join_histories(table, histories, test_curves, curved)
    write_table(history, "history", frame_rows(joined))
    print(f"{len(table)} runs")


if __name__ == "__main__":
    run(main, snakemake)
