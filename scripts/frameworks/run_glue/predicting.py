"""The recipe's predictions of the test texts, by a checkpoint of its training."""

import os
import tempfile

from common.errors import StudyError
from common.files import read_json
from frameworks.run_glue import command_line, recipe


def answers(model, files, record, batch_size):
    """Return the logits of the test texts, float32 (n, classes), and their labels, a list of n ints.

    The recipe removes the labels before it predicts; they are read here for the table of predictions.

    Args:
        model: folder of one epoch.
        files: {tokenizer, train, valid, test: paths}.
        record: the run's run.json, whose command says how texts are cut and filled up.
        batch_size: texts scored at once.

    Raises:
        StudyError: the folder holds no model, or a file is missing.
    """
    if not os.path.isfile(os.path.join(model, "model.safetensors")):
        raise StudyError(f"{model} holds no model: fine-tune again")
    _, data, _ = recipe.parse(command_line.arguments_of(read_json(record)["recipe"]["command"]))
    files = files | {"model": model}
    with tempfile.TemporaryDirectory() as output:
        arguments = command_line.prediction(data, files, batch_size, output)
        print(command_line.text(arguments))
        _, logits = recipe.main(arguments)
    return logits, [row["label"] for row in recipe.read_rows(files["test"])]
