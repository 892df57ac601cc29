"""Train one run of a framework that has no rules: its `train` receives texts and labels and writes a model."""

import importlib
import os
import time

import frameworks
import measures
import tasks
from common.entry import run as run_script
from common.files import atomic_path, write_json
from common.machine import job_record, now, package_versions
from data.reviews import POLARITY, read_split
from finetuning.plain_results import write_results
from finetuning.prediction_files import checked_scores
from finetuning.seeds import drawn


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
    hours=None,
    digests=None,
    task=tasks.DEFAULT,
    measure=measures.DEFAULT,
):
    """Write the run's model, its results on train and valid as one epoch, and its record.

    Long: it describes each argument.

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
        hours: of a framework whose arms say how long a job may take; None: it is not asked.
        digests: {path: SHA-256} of the files that the run reads beside the texts, for its record.
        task: kind of the labels.
        measure: name of the measure that leads the study.

    Raises:
        StudyError: see `data.reviews.read_split` and `finetuning.prediction_files.checked_scores`.
    """
    framework = facts["framework"]
    steps = {name: importlib.import_module(f"frameworks.{framework}.{name}") for name in ("train", "score")}
    record, began = job_record({"settings": settings, "classes": list(classes)}), time.monotonic()
    files = {"train": (train, train_labels), "valid": (valid, valid_labels)}
    splits = {split: read_split(*paths, classes, task) for split, paths in files.items()}
    # Only frameworks that learn other kinds of labels are asked for them.
    limits = {} if task == tasks.DEFAULT else {"task": task}
    limits |= {} if hours is None else {"hours": hours, "threads": threads}
    with atomic_path(model) as folder:
        os.makedirs(folder, exist_ok=True)
        said = steps["train"].train(*splits["train"], splits["valid"], list(classes), seed, settings, folder, **limits)
        said, seconds = said or {}, time.monotonic() - began
        scored = {
            split: (checked_scores(found, texts, classes, framework, task), labels)
            for split, (texts, labels) in splits.items()
            if (found := scores_of(split, texts, said, steps["score"], (folder, len(classes)), limits)) is not None
        }
    write_results(history, selected, scored, task, measure)
    write_json(
        run,
        record
        | ({"files": digests} if digests else {})
        | {**facts, "seed": seed, "threads": threads, "precision": "float64", "settings": settings}
        | {f"n_{split}": len(labels) for split, (_, labels) in splits.items()}
        | {"total_updates": 1, "warmup_updates": 0, "train_seconds": seconds, **drawn(settings, seed)}
        | {"versions": package_versions(frameworks.load(framework).PACKAGES), **said.get("record", {}), "ended": now()},
    )


def scores_of(split, texts, said, module, place, limits):
    """Return a split's probabilities: those that `train` returned, or what `score` gives; None: it is not scored."""
    folder, n_classes = place
    known = said.get("scores", {})
    return known[split] if split in known else module.score(folder, texts, n_classes, **limits)


if __name__ == "__main__":
    run_script(main, snakemake)
