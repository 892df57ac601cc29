"""Score the test reviews with the selected checkpoint of a fairseq run."""

import os

from common.entry import run
from common.files import read_json
from finetuning.lib.fairseq_scoring import load_task_and_model, score
from finetuning.lib.predictions import write_predictions
from training.process import set_threads


def main(data, checkpoints, selected, predictions, batch_size, threads):
    """Write the predictions of the checkpoint that `selected.json` names.

    Args:
        data: binarized test reviews.
        checkpoints: the run's folder of `checkpoint{epoch}.pt`.
        selected: JSON file with `epoch`.
        predictions: TSV to write.
        batch_size: reviews scored at once.
        threads: CPU threads.
    """
    set_threads(threads)
    checkpoint = os.path.join(checkpoints, f"checkpoint{read_json(selected)['epoch']}.pt")
    task, model = load_task_and_model(checkpoint, data)
    write_predictions(predictions, *score(task, model, "test", batch_size))


if __name__ == "__main__":
    run(main, snakemake)
