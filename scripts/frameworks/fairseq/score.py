"""Score the test reviews with the selected checkpoint of a fairseq run."""

import os

from common.entry import run
from common.files import read_json
from finetuning.predictions import write_predictions
from finetuning.seals import write_seal
from frameworks.fairseq.scoring import load_task_and_model, score
from training.process import set_threads


def main(data, checkpoints, selected, predictions, batch_size, threads, record=None, history=None, seal=None):
    """Write the predictions of the checkpoint that `selected.json` names.

    Args:
        data: binarized test reviews.
        checkpoints: the run's folder of `checkpoint{epoch}.pt`.
        selected: JSON file with `epoch`.
        predictions: TSV to write.
        batch_size: reviews scored at once.
        threads: CPU threads.
        record, history, seal: run.json and history.tsv of the run, and the JSON file that binds them and `selected` to
            the predictions (see `finetuning.seals`); None: no seal is asked for.
    """
    set_threads(threads)
    checkpoint = os.path.join(checkpoints, f"checkpoint{read_json(selected)['epoch']}.pt")
    task, model = load_task_and_model(checkpoint, data)
    write_predictions(predictions, *score(task, model, "test", batch_size))
    if seal:
        write_seal(seal, predictions=predictions, record=record, history=history, selected=selected)


if __name__ == "__main__":
    run(main, snakemake)
