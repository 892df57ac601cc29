"""Verify that a model computes the same in both frameworks: encoder and fine-tuned classifiers, converted both ways."""

import os

import numpy as np
import torch

from checkpoint.conversion import load_converted
from common.entry import run
from common.errors import StudyError
from common.files import read_json, write_tsv
from finetuning.scoring import pad_batch, score
from finetuning.token_ids import read_token_ids
from frameworks.huggingface.classifier import load_epoch
from training.batching import length_sorted_batches
from training.process import set_threads

COLUMNS = ("weights", "converted", "quantity", "n_reviews", "n_values", "max_abs_difference", "tolerance", "equal")
TOLERANCE = 1e-4


def encode(model, sequences, batch_size):
    """Return the encoder's outputs for reviews.

    Args:
        model: RobertaForMaskedLM.
        sequences: list of n integer arrays.
        batch_size: sequences scored at once, sorted by length.

    Returns:
        tuple: features float32 (all tokens, width), review after review; the language model's logits at each
        review's middle token, float32 (n, rows).
    """
    features, vocabulary = [None] * len(sequences), [None] * len(sequences)
    with torch.inference_mode():
        for batch in length_sorted_batches([len(sequence) for sequence in sequences], batch_size):
            hidden = model.roberta(**pad_batch([sequences[i] for i in batch])).last_hidden_state
            for row, i in enumerate(batch):
                states = hidden[row, : len(sequences[i])]
                features[i] = states.numpy()
                vocabulary[i] = model.lm_head(states[len(states) // 2]).numpy()
    return np.concatenate(features), np.stack(vocabulary)


def compare(weights, converted, quantity, ours, theirs, n_reviews):
    """Return a row of the table; arrays of different shapes differ without bound."""
    difference = float(np.abs(ours - theirs).max()) if ours.shape == theirs.shape else float("inf")
    # A number that is not finite compares as unequal.
    facts = (weights, converted, quantity, n_reviews, theirs.size, difference, TOLERANCE, difference <= TOLERANCE)
    return dict(zip(COLUMNS, facts, strict=True))


def main(
    fairseq,
    fairseq_selected,
    huggingface,
    huggingface_selected,
    logits,
    folder,
    token_ids,
    table,
    batch_size,
    threads,
):
    """Compute the same numbers with Hugging Face's models, compare, and write the table.

    Args:
        fairseq, fairseq_selected: folder of checkpoints and `selected.json` of the fairseq run: converted here.
        huggingface, huggingface_selected: the same of the Hugging Face run, as it was saved.
        logits: output of the rule `score_logits_fairseq`.
        folder: the converted checkpoint.
        token_ids: `.npz` of the validation reviews.
        table: TSV to write: `COLUMNS`; differences are in logits or, for features, in the encoder's unit.
        batch_size: reviews scored at once.
        threads: CPU threads.

    Raises:
        StudyError: a number differs by more than `TOLERANCE`; names which.
    """
    from transformers import RobertaForMaskedLM

    set_threads(threads)
    sequences, _ = read_token_ids(token_ids)
    with np.load(logits) as archive:
        theirs = dict(archive)
    model = RobertaForMaskedLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    features, vocabulary = encode(model, sequences, batch_size)
    converted = load_converted(os.path.join(fairseq, f"checkpoint{read_json(fairseq_selected)['epoch']}.pt"), folder)
    native = load_epoch(huggingface, read_json(huggingface_selected)["epoch"])
    converted, native = (score(model, sequences, batch_size).numpy() for model in (converted, native))
    n, to, back = len(sequences), "to Hugging Face", "to fairseq"
    rows = [
        compare("checkpoint", to, "features of every token", features, theirs["features"], n),
        compare("checkpoint", to, "vocabulary logits, middle token", vocabulary, theirs["vocabulary"], n),
        compare("fairseq, fine-tuned", to, "class logits", converted, theirs["fairseq"], n),
        compare("Hugging Face, fine-tuned", back, "class logits", native, theirs["huggingface"], n),
    ]
    for row in rows:
        if not row["equal"]:
            raise StudyError(
                f"{row['weights']}: {row['quantity']} differ by {row['max_abs_difference']:.3g} between fairseq and "
                f"Hugging Face on the same {n} reviews (allowed: {TOLERANCE:g}): the conversion is not faithful"
            )
    write_tsv(table, rows, COLUMNS)


if __name__ == "__main__":
    run(main, snakemake)
