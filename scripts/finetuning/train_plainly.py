"""Train one run of a framework that has no rules: its `train` receives texts and labels and writes a model."""

import importlib
import os
import time

import frameworks
from common.entry import run as run_script
from common.files import atomic_path, read_tsv, write_json, write_tsv
from common.machine import job_record, now, package_versions
from data.reviews import POLARITY, read_split
from finetuning.prediction_files import HISTORY, checked_probabilities, summarise
from finetuning.selection import describe_choice, validation_points


def main(
    *,
    train,
    train_labels,
    valid,
    valid_labels,
    facts,
    seed: int,
    settings,
    threads,
    model,
    history,
    run,
    selected,
    classes=POLARITY,
):
    """Write the run's model, its results on train and valid as one epoch, and its record.

    Args:
        train, train_labels, valid, valid_labels: files of the two splits; the test split is not an input.
        facts: dict of the columns of `common.arms.ARM`.
        seed: seed of the run.
        settings: what `finetuning.protocol.arm_settings` returns.
        threads: CPU threads.
        model: folder to write.
        history: TSV to write.
        run, selected: JSON files to write.
        classes: names of the classes in order.

    Raises:
        StudyError: see `data.reviews.read_split` and `finetuning.prediction_files.checked_probabilities`.
    """
    framework = facts["framework"]
    steps = {name: importlib.import_module(f"frameworks.{framework}.{name}") for name in ("train", "score")}
    record, began = job_record({"settings": settings, "classes": list(classes)}), time.monotonic()
    splits = {"train": read_split(train, train_labels, classes), "valid": read_split(valid, valid_labels, classes)}
    rows = []
    with atomic_path(model) as folder:
        os.makedirs(folder, exist_ok=True)
        steps["train"].train(*splits["train"], splits["valid"], list(classes), seed, settings, folder)
        seconds = time.monotonic() - began
        for split, (texts, labels) in splits.items():
            found = checked_probabilities(steps["score"].score(folder, texts, len(classes)), texts, classes, framework)
            rows += [
                {"epoch": 1, "update": 1, "split": split, "metric": metric, "value": value}
                for metric, value in summarise(found, labels).items()
            ]
    write_tsv(history, rows, HISTORY)
    write_json(selected, describe_choice(validation_points(read_tsv(history), history)))
    write_json(
        run,
        record
        | {**facts, "seed": seed, "threads": threads, "precision": "float64", "settings": settings}
        | {f"n_{split}": len(labels) for split, (_, labels) in splits.items()}
        | {"total_updates": 1, "warmup_updates": 0, "train_seconds": seconds}
        | {"versions": package_versions(frameworks.load(framework).PACKAGES), "ended": now()},
    )


if __name__ == "__main__":
    run_script(main, snakemake)
