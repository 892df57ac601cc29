"""Score the test reviews with the chosen epoch of a Hugging Face run."""

from transformers import logging as transformers_logging

from common.entry import run
from common.files import read_json
from finetuning.predictions import write_predictions
from finetuning.scoring import score
from finetuning.seals import write_seal
from finetuning.token_ids import read_token_ids
from frameworks.huggingface.classifier import load_epoch
from training.process import set_threads


def main(selected, checkpoints, token_ids, predictions, batch_size, threads, record=None, history=None, seal=None):
    """Write the predictions of the selected epoch.

    Args:
        selected: `selected.json` of the run.
        checkpoints: the run's folder of checkpoints.
        token_ids: `.npz` of the test split.
        predictions: TSV file to write.
        batch_size: reviews scored at once.
        threads: CPU threads.
        record, history, seal: run.json and history.tsv of the run, and the JSON file that binds them and `selected` to
            the predictions (see `finetuning.seals`); None: no seal is asked for.

    Raises:
        StudyError: a file is missing or damaged.
    """
    transformers_logging.set_verbosity_warning()
    set_threads(threads)
    sequences, labels = read_token_ids(token_ids)
    model = load_epoch(checkpoints, read_json(selected)["epoch"])
    logits = score(model, sequences, batch_size, progress="test")
    write_predictions(predictions, logits, labels, model.config.problem_type)
    if seal:
        write_seal(seal, predictions=predictions, record=record, history=history, selected=selected)


if __name__ == "__main__":
    run(main, snakemake)
