"""Accuracy on test after every epoch of a run of the recipe: computed after training, for figures only."""

import os

import torch
from transformers import logging as transformers_logging

from common.entry import run
from finetuning.predictions import write_test_curve
from frameworks.run_glue.predicting import answers
from training.process import set_threads


def main(
    history,
    checkpoints,
    selected,
    predictions,
    record,
    train,
    valid,
    test,
    tokenizer,
    curve,
    tensorboard,
    batch_size,
    threads,
):
    """Score every kept epoch with the recipe's `--do_predict`.

    Args:
        history: the run's `history.tsv`: which epochs there are.
        checkpoints: the run's folder of checkpoints.
        selected, predictions: the run's chosen epoch and what it answers, which is not scored again.
        record, train, valid, test, tokenizer: see `frameworks.run_glue.score`.
        curve: TSV to write: see `finetuning.predictions.write_test_curve`.
        tensorboard: folder to write: `test/accuracy`.
        batch_size: reviews scored at once.
        threads: CPU threads.
    """
    transformers_logging.set_verbosity_warning()
    set_threads(threads)
    files = {"tokenizer": tokenizer, "train": train, "valid": valid, "test": test}

    def score_epoch(epoch):
        logits, labels = answers(os.path.join(checkpoints, f"epoch{epoch}"), files, record, batch_size)
        return torch.as_tensor(logits), labels

    write_test_curve(curve, history, score_epoch, selected, predictions, tensorboard)


if __name__ == "__main__":
    run(main, snakemake)
