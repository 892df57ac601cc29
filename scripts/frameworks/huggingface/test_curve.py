"""Accuracy on test after every epoch of a Hugging Face run: for figures only, made after training."""

from transformers import logging as transformers_logging

from common.entry import run
from finetuning.predictions import write_test_curve
from finetuning.scoring import score
from finetuning.token_ids import read_token_ids
from frameworks.huggingface.classifier import load_epoch
from training.process import set_threads


def main(history, checkpoints, selected, predictions, token_ids, curve, tensorboard, batch_size, threads):
    """Score every kept epoch.

    Args:
        history: the run's `history.tsv`: which epochs there are.
        checkpoints: the run's folder of checkpoints.
        selected, predictions: the run's chosen epoch and what it answers, which is not scored again.
        token_ids: `.npz` of the test split.
        curve: TSV to write: see `finetuning.predictions.write_test_curve`.
        tensorboard: folder to write: `test/accuracy`.
        batch_size: reviews scored at once.
        threads: CPU threads.
    """
    transformers_logging.set_verbosity_warning()
    set_threads(threads)
    sequences, labels = read_token_ids(token_ids)

    def score_epoch(epoch):
        return score(load_epoch(checkpoints, epoch), sequences, batch_size, progress=f"epoch {epoch}"), labels

    write_test_curve(curve, history, score_epoch, selected, predictions, tensorboard)


if __name__ == "__main__":
    run(main, snakemake)
