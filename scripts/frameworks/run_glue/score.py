"""Predict the test reviews with the chosen epoch of a run of the recipe."""

import os

import torch
from transformers import logging as transformers_logging

from common.entry import run
from common.files import read_json
from finetuning.predictions import write_predictions
from finetuning.seals import write_seal
from frameworks.run_glue.predicting import answers
from training.process import set_threads


def main(
    selected, checkpoints, record, train, valid, test, tokenizer, predictions, batch_size, threads, history=None,
    seal=None,
):  # fmt: skip
    """Write the predictions of the selected epoch, which the recipe's `--do_predict` gives.

    Args:
        selected: `selected.json` of the run.
        checkpoints: the run's folder of checkpoints.
        record, history: run.json and history.tsv of the run.
        train, valid, test: JSON files of the splits; the recipe reads the classes from the labels of train.
        tokenizer: folder of Hugging Face's tokenizer.
        predictions: TSV file to write.
        batch_size: reviews scored at once.
        threads: CPU threads.
        seal: JSON file that binds the record to the predictions (see `finetuning.seals`); None: no seal is asked for.

    Raises:
        StudyError: a file is missing or damaged.
    """
    transformers_logging.set_verbosity_warning()
    set_threads(threads)
    model = os.path.join(checkpoints, f"epoch{read_json(selected)['epoch']}")
    files = {"tokenizer": tokenizer, "train": train, "valid": valid, "test": test}
    logits, labels = answers(model, files, record, batch_size)
    write_predictions(predictions, torch.as_tensor(logits), labels)
    if seal:
        write_seal(seal, predictions=predictions, record=record, history=history, selected=selected)


if __name__ == "__main__":
    run(main, snakemake)
