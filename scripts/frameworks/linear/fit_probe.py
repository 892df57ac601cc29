"""Fit a linear model on frozen features of a run's texts, with the strength that validation prefers."""

import time

import numpy as np

import measures
import tasks
from common.entry import run as run_script
from common.files import atomic_path, read_lines, write_json
from common.machine import job_record, now, package_versions
from data.reviews import POLARITY
from finetuning.plain_results import write_results
from finetuning.seeds import drawn
from frameworks.linear.probes import choose, predict

PACKAGES = ("numpy", "scikit-learn", "scipy")


def main(
    train, train_labels, valid, valid_labels, facts, seed: int, settings, threads, model, history, run, selected,
    classes=POLARITY, measure=measures.DEFAULT,
):  # fmt: skip
    """Write the run's model, its results on train and valid, and its record. Nothing in the fit is random.

    Args:
        train, valid: `.npy` of the splits' features.
        train_labels, valid_labels: files of their labels.
        facts: dict of the columns of `common.arms.ARM`.
        seed: of the run.
        settings: what `finetuning.protocol.arm_settings` returns.
        threads: CPU threads.
        model: `.npz` to write: see `frameworks.linear.probes.fit`.
        history: TSV to write.
        run, selected: JSON files to write.
        classes: names of the classes in order.
        measure: name of the measure that leads the study, and chooses.

    Raises:
        StudyError: see `frameworks.linear.probes.fit`.
    """
    record, began = job_record({"settings": settings, "classes": list(classes)}), time.monotonic()
    features = {"train": np.load(train), "valid": np.load(valid)}
    labels = {"train": list(map(int, read_lines(train_labels))), "valid": list(map(int, read_lines(valid_labels)))}
    sides = (features["train"], labels["train"], features["valid"], labels["valid"])
    chosen, probe = choose(*sides, len(classes), measure)
    seconds = time.monotonic() - began
    with atomic_path(model) as temporary, open(temporary, "wb") as handle:
        np.savez(handle, **probe)
    scored = {split: (predict(probe, features[split]), labels[split]) for split in features}
    write_results(history, selected, scored, tasks.DEFAULT, measure)
    write_json(
        run,
        record
        | {**facts, "seed": seed, "threads": threads, "precision": "float64", "settings": settings, "C": chosen}
        | drawn(settings, seed)
        | {f"n_{split}": len(its) for split, its in labels.items()}
        | {"total_updates": 1, "warmup_updates": 0, "train_seconds": seconds}
        | {"versions": package_versions(PACKAGES), "ended": now()},
    )
    print(f"C {chosen}")


if __name__ == "__main__":
    run_script(main, snakemake)
