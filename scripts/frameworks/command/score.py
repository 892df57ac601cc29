"""Let the arm's command predict: it sees the texts and the model, no label, and no file of the study."""

import os

import tasks
from common.errors import StudyError
from common.files import read_json
from finetuning.given_predictions import read_given
from frameworks.command.commands import check_model, execute, workplace, write_texts


def score(folder, texts, n_classes, hours=4, threads=1, task=tasks.DEFAULT):
    """Return scores (texts, outputs), see `tasks`: 1 and 0 where the command gives labels alone.

    Args:
        folder: what `train` wrote.
        texts: to predict.
        n_classes: how many classes there are.
        hours: after which the command is stopped.
        threads: CPU threads.
        task: kind of the labels.

    Raises:
        StudyError: see `check_model`, `execute` and `finetuning.given_predictions.read_given`.
    """
    kept, model = read_json(os.path.join(folder, "command.json")), os.path.abspath(os.path.join(folder, "model"))
    check_model(model, kept["model"], "something")
    with workplace() as place:
        # A link: a command that asks where its model is learns the place of the copy only.
        values = {"model": os.path.join(place, "model"), "threads": threads}
        values |= {name: os.path.join(place, f"{name}.jsonl") for name in ("texts", "predictions")}
        os.symlink(model, values["model"])
        write_texts(values["texts"], texts)
        execute("predict", kept["predict"], values, place, hours, threads)
        check_model(model, kept["model"], "the command predict")
        if not os.path.isfile(values["predictions"]):
            raise StudyError(
                "the command predict ended with status 0 and left no file at {predictions}; let it write one"
            )
        return read_given(values["predictions"], texts, kept["classes"], called="{predictions}", task=task)
