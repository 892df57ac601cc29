"""Consistency of a run's files with each other and with the data: an edit by hand is reported by file and line."""

import collections
import hashlib

from common.errors import StudyError
from common.files import read_lines, read_tsv
from finetuning.selection import describe_choice, validation_points
from measures import DEFAULT, leading

# These facts of run.json are also in its `protocol`.
TWICE = ("total_updates", "warmup_updates", "precision")


def place_of(path, key):
    """Return `FILE, line N` of a key at the top of a JSON file as the workflow writes it; `FILE` where it is not."""
    start = f' "{key}":'
    number = next((number for number, line in enumerate(read_lines(path), start=1) if line.startswith(start)), None)
    return path if number is None else f"{path}, line {number}"


def updates_made(record):
    """Return the updates that a run made: those planned, or those until its patience ended it.

    Args:
        record: content of run.json.
    """
    return (record.get("stopped") or {}).get("update", record.get("total_updates"))


def check_history(path, record, select_by="accuracy", leading=DEFAULT):
    """Check a run's history.tsv against its run.json.

    Args:
        path: history.tsv.
        record: content of run.json: n_train, n_valid, total_updates, and stopped where it ended early.
        select_by: measure that chose the run's epoch.
        leading: measure that leads the study.

    Returns:
        list[dict]: its validation results, see `finetuning.selection.validation_points`.

    Raises:
        StudyError: an accuracy is not its number of correct answers over the reviews, or training ended early.
    """
    rows = read_tsv(path)
    points = validation_points(rows, path, select_by, leading)
    counts = {(row["epoch"], row["split"]): float(row["value"]) for row in rows if row["metric"] == "n_correct"}
    for line, row in enumerate(rows, start=2):
        count, n = counts.get((row["epoch"], row["split"])), record.get(f"n_{row['split']}")
        if row["metric"] == "accuracy" and count is not None and n and abs(float(row["value"]) - count / n) > 1e-6:
            raise StudyError(
                f"{path}, line {line}: the accuracy on {row['split']} is {row['value']}, not {count:g} of {n}; "
                "train this run again"
            )
    last, wanted = points[-1]["update"], updates_made(record)
    if wanted is not None and last != wanted:
        raise StudyError(f"{path}, line {len(rows) + 1}: ends at update {last} of {wanted}; train this run again")
    return points


def check_selected(path, selected, history, points):
    """Check a run's selected.json against its history.tsv.

    Args:
        path: selected.json.
        selected: its content.
        history: path of history.tsv.
        points: what `check_history` returns.

    Raises:
        StudyError: another epoch is the best, or a figure of it is another.
    """
    wanted = describe_choice(points, selected.get("select_by", "accuracy"), leading(selected))
    for key, value in wanted.items():
        if key in selected and selected[key] != value:
            raise StudyError(
                f"{place_of(path, key)}: {key} is {selected[key]!r}, by {history} {value!r}; "
                "remove it and run again to choose the epoch again"
            )


def check_record(path, record, splits, n_train=None):
    """Check a run's run.json against itself and the data.

    Args:
        path: run.json.
        record: its content.
        splits: splits of data/manifest.json.
        n_train: reviews of the subset that its arm learns from; None: all of train.

    Raises:
        StudyError: it contradicts itself, or was trained on other numbers of reviews.
    """
    for key in TWICE:
        # `protocol` has the run's actual settings; runs of the first versions recorded less there.
        said = (record.get("protocol") or {}).get(key, record.get(key))
        if record.get(key) != said:
            raise StudyError(
                f"{place_of(path, key)}: {key} is {record[key]!r}, under `protocol` {said!r}; train this run again"
            )
    for split, wanted in (("train", n_train or splits["train"]["n"]), ("valid", splits["valid"]["n"])):
        if record[f"n_{split}"] != wanted:
            is_subset = split == "train" and n_train
            source = f"its arm's n_train is {wanted}" if is_subset else f"data/manifest.json has {wanted}"
            raise StudyError(
                f"{place_of(path, f'n_{split}')}: trained with {record[f'n_{split}']} reviews of {split}, "
                f"{source}: they were trained on different data; train the run again"
            )


def check_settings(records):
    """Check that all runs of an arm were trained with the same settings, by the hash that each recorded.

    They are not compared with the study's settings, so that runs of earlier versions, whose settings had other keys,
    remain valid.

    Args:
        records: {path of run.json: its content}.

    Raises:
        StudyError: a run's hash is not that of most runs of its arm.
    """
    hashes = {}
    for path, record in records.items():
        if record.get("settings_sha256"):
            hashes.setdefault(record["arm"], {})[path] = record["settings_sha256"]
    for digests in hashes.values():
        (common, _), *_ = collections.Counter(digests.values()).most_common()
        for path, digest in digests.items():
            if digest != common:
                others = next(other for other, its in digests.items() if its == common)
                raise StudyError(
                    f"{place_of(path, 'settings_sha256')}: trained with other settings ({digest:.12}) than {others} "
                    f"({common:.12}); train the run again"
                )


def check_labels(labels, path, test):
    """Check the labels of the predictions, which every run shares, against the data.

    Args:
        labels: n texts, the numbers of classes.
        path: path of one run's predictions.
        test: entry of the test split in data/manifest.json: n, sha256_label (None: the manifest does not say).

    Raises:
        StudyError: another number of reviews, or other labels, than the test set's.
    """
    if len(labels) != test["n"]:
        raise StudyError(
            f"{path}, line {min(len(labels), test['n']) + 2}: every run has {len(labels)} predictions, the test split "
            f"in data/manifest.json {test['n']} reviews; run the evaluation again"
        )
    digest = hashlib.sha256("".join(f"{label}\n" for label in labels).encode()).hexdigest()
    if test.get("sha256_label") not in (None, digest):
        raise StudyError(
            f"{path}: the labels, the same in every run, are not those of the data (test.sha256_label in "
            "data/manifest.json); run the evaluation again"
        )
