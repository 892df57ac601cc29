"""Take the predictions of a run as they are; nothing is trained."""

import os
import shutil

import tasks
from common.files import write_json
from finetuning.given_predictions import read_given


def train(texts, labels, valid, classes, seed, settings, folder, task=tasks.DEFAULT):
    """Copy the predictions on test, which `score` reads; check those on validation.

    Args:
        texts, labels: of train; nothing here depends on them.
        valid: (texts, labels) of the validation split.
        classes: names of the classes in order.
        seed: of the run.
        settings: `predictions`, and where the arm has them `valid_predictions` and `fixed`.
        folder: to write.
        task: kind of the labels.

    Returns:
        dict: `scores`: none of train, of validation what the file gives; `record`: nothing of the training is known.

    Raises:
        StudyError: see `finetuning.given_predictions.read_given`.
    """
    keys = {"test": "predictions", "valid": "valid_predictions"}
    patterns = {split: settings[key] for split, key in keys.items() if settings.get(key)}
    files = {split: pattern.replace("{seed}", str(seed)) for split, pattern in patterns.items()}
    # The column of the run, where all runs are in one table.
    columns = {split: None if settings.get("fixed") or files[split] != patterns[split] else seed for split in files}
    name = "given" + os.path.splitext(files["test"])[1]
    shutil.copyfile(files["test"], os.path.join(folder, name))
    write_json(
        os.path.join(folder, "given.json"),
        {"file": name, "path": files["test"], "seed": columns["test"], "classes": classes},
    )
    scored = read_given(files["valid"], valid[0], classes, columns["valid"], task=task) if "valid" in files else None
    unseen = dict.fromkeys(("precision", "threads", "train_seconds", "total_updates", "warmup_updates"))
    return {"scores": {"train": None, "valid": scored}, "record": unseen}
