"""Accuracy on test after every kept epoch of a fairseq run: computed after training, for figures only."""

import os

from common.entry import run
from finetuning.predictions import write_test_curve
from frameworks.fairseq.scoring import load_task_and_model, score
from training.process import set_threads


def main(data, checkpoints, history, selected, predictions, curve, tensorboard, batch_size, threads):
    """Write one row an epoch.

    Args:
        data: binarized test reviews.
        checkpoints: the run's folder of `checkpoint{epoch}.pt`.
        history: the run's `history.tsv`, which epochs there are.
        selected, predictions: the run's chosen epoch and what it answers, which is not scored again.
        curve: TSV to write: see `finetuning.predictions.write_test_curve`.
        tensorboard: folder to write: `test/accuracy`.
        batch_size: reviews scored at once.
        threads: CPU threads.
    """
    set_threads(threads)

    def score_epoch(epoch):
        task, model = load_task_and_model(os.path.join(checkpoints, f"checkpoint{epoch}.pt"), data)
        return score(task, model, "test", batch_size)

    write_test_curve(curve, history, score_epoch, selected, predictions, tensorboard)


if __name__ == "__main__":
    run(main, snakemake)
