"""Let the arm's command train a run: it gets the training and validation texts, and leaves a model."""

import os
import shutil

import tasks
from common.errors import StudyError
from common.files import write_json
from frameworks.command.commands import contents, execute, recorded, workplace, write_texts


def train(texts, labels, valid, classes, seed, settings, folder, hours=4, threads=1, task=tasks.DEFAULT):
    """Save what the command wrote to {out}, and the command that predicts.

    Args:
        texts, labels: of the training split; labels as `tasks` has them.
        valid: (texts, labels) of the validation split.
        classes: names of the classes in order.
        seed: of the run.
        settings: the arm's `train`, `predict` and, where it has one, `version`.
        folder: to write: `model` (a file or a folder) and `command.json`.
        hours: after which a command is stopped.
        threads: CPU threads.
        task: kind of the labels.

    Returns:
        dict: `scores`: none of train, which the command is not asked for; `record`: the commands and their versions.

    Raises:
        StudyError: see `execute`; or it left no model, or an empty one.
    """
    with workplace() as place:
        record = recorded(settings, place, threads)
        inputs = {name: os.path.join(place, f"{name}.jsonl") for name in ("train", "valid")}
        write_texts(inputs["train"], texts, labels, classes, task)
        write_texts(inputs["valid"], *valid, classes, task)
        out = os.path.join(place, "model")
        execute(
            "train", settings["train"], inputs | {"seed": seed, "out": out, "threads": threads}, place, hours, threads
        )
        there = os.listdir(out) if os.path.isdir(out) else os.path.isfile(out) and os.path.getsize(out)
        if os.path.islink(out) or not there:
            raise StudyError(
                "the command train ended with status 0 and left no model at {out}; let it write a file or folder there"
            )
        shutil.move(out, os.path.join(folder, "model"))
    write_json(
        os.path.join(folder, "command.json"),
        {
            "predict": settings["predict"],
            "classes": classes,
            "model": contents(os.path.join(folder, "model")),
        },
    )
    unseen = dict.fromkeys(("precision", "total_updates", "warmup_updates"))
    return {"scores": {"train": None}, "record": record | unseen}
