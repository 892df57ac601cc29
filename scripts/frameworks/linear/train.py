"""Choose the regularisation of the simple models: linear arms, which have one run each, called seed 0."""

import time

import tasks
from common.entry import run
from common.files import write_json
from common.machine import job_record, now, package_versions
from data.reviews import POLARITY, read_split
from frameworks.linear.models import choose, described
from measures import DEFAULT

PACKAGES = ("numpy", "scikit-learn", "scipy")


def main(
    train,
    train_labels,
    valid,
    valid_labels,
    records,
    selected,
    arms,
    splits,
    classes=POLARITY,
    measure=DEFAULT,
    task=tasks.DEFAULT,
):
    """Choose C of every linear arm on validation, and write the choices and records.

    No model is kept: `score.py` fits it again from the texts and C, which is cheap and gives the same model.

    Args:
        train, train_labels: files of the training splits, in the order of `splits`.
        valid, valid_labels: files of the validation split.
        records, selected: run.json and selected.json to write, one an arm.
        arms: {name: {features, split}}.
        splits: names of the training splits.
        classes: names of the classes in order.
        measure: measure that leads the study, and chooses.
        task: kind of the labels.

    Raises:
        StudyError: see `data.reviews.read_split`.
    """
    held_out = read_split(valid, valid_labels, classes, task)
    texts = {
        split: read_split(*paths, classes, task) for split, *paths in zip(splits, train, train_labels, strict=True)
    }
    for (name, arm), record_file, choice in zip(arms.items(), records, selected, strict=True):
        record, began = job_record({"features": arm["features"], "classes": classes}), time.monotonic()
        learnt = texts[arm["split"]]
        penalty, n_correct, value, model = choose(learnt, held_out, arm["features"], measure, len(classes), task)
        led = {} if value is None else {"measure": measure, "valid_score": value}
        accuracy = None if n_correct is None else n_correct / len(held_out[0])
        found = {"C": penalty, "n_correct": n_correct, "valid_accuracy": accuracy}
        write_json(choice, found | led)
        write_json(
            record_file,
            record
            | {"arm": name, "framework": "linear", "model": arm["features"], "init": "none", "seed": 0}
            | {"features": described(model, arm["features"], classes, task)}
            | {"n_train": len(learnt[0]), "n_valid": len(held_out[0])}
            | {"train_seconds": time.monotonic() - began, "versions": package_versions(PACKAGES), "ended": now()},
        )
        print(f"{name}: C {penalty}, {found} on {len(held_out[0])} texts of validation")


if __name__ == "__main__":
    run(main, snakemake)
