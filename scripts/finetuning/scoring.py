"""Padded batches, scoring in float32 (Hugging Face arms), and the summary of scores (all arms)."""

import inspect

import numpy as np
import torch
from tqdm import tqdm

import measures
import tasks
from finetuning.token_ids import apart
from training.accumulation import in_halves
from training.batching import length_sorted_batches
from training.objective import plain_loss

PAD = 1
# The input of a model that distinguishes the texts of a pair, beside ids and mask.
SEGMENTS = "token_type_ids"


def padding_of(model):
    """Return the id that fills up a model's batches; the attention mask hides it."""
    pad = getattr(model.config, "pad_token_id", None)
    return PAD if pad is None else pad


def has_segments(model):
    """Return whether a model's input says which of two texts a token belongs to."""
    takes = SEGMENTS in inspect.signature(model.forward).parameters
    return takes and getattr(model.config, "type_vocab_size", 0) > 1


def pad_batch(sequences, labels=None, length=None, pad=PAD, segments=False):
    """Return a padded batch.

    Args:
        sequences: list of B integer arrays, as `finetuning.token_ids` has them.
        labels: B labels (rows of an array of `tasks`), or None.
        length: T, tokens to pad to; None: those of the longest sequence.
        pad: id of the padding.
        segments: True where the model takes them, see `has_segments`.

    Returns:
        dict: input_ids, attention_mask: int64 (B, T); token_type_ids where such a model reads pairs; labels: int64
        (B,), of numbers float32, of sets int64 (B, labels), when given.
    """
    length = length or max(len(sequence) for sequence in sequences)
    ids = np.full((len(sequences), length), pad, dtype=np.int64)
    mask, kinds = (np.zeros((len(sequences), length), dtype=np.int64) for _ in range(2))
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)], kinds[row, : len(sequence)] = apart(sequence)
        mask[row, : len(sequence)] = 1
    batch = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
    if segments and kinds.any():
        batch[SEGMENTS] = torch.from_numpy(kinds)
    if labels is not None:
        labels = np.asarray(labels)
        batch["labels"] = torch.as_tensor(labels.astype(np.float32 if labels.dtype.kind == "f" else np.int64))
    return batch


def score(model, sequences, batch_size, progress=None):
    """Return the class scores of sequences, in float32 and without dropout.

    Args:
        model: a sequence classifier; its training mode is restored.
        sequences: list of n integer arrays.
        batch_size: sequences scored at once, sorted by length; fewer where a GPU's memory does not suffice.
        progress: label of a progress bar; None: no bar.

    Returns:
        torch.Tensor: logits (n, classes), float32, on the CPU, in the order of `sequences`.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    logits = None
    batches = length_sorted_batches([len(sequence) for sequence in sequences], batch_size)

    def logits_of(batch):
        inputs = pad_batch([sequences[i] for i in batch], pad=padding_of(model), segments=has_segments(model))
        return model(**{name: tensor.to(device) for name, tensor in inputs.items()}).logits.float().cpu()

    with torch.inference_mode(), torch.autocast(device.type, enabled=False):
        for batch in tqdm(batches, desc=progress, disable=progress is None):
            for part, output in in_halves(logits_of, batch):
                if logits is None:
                    logits = torch.empty(len(sequences), output.shape[1])
                logits[torch.as_tensor(part)] = output
    model.train(was_training)
    return logits


def measured(name, logits, labels, problem=None):
    """Return {measure: its value} of scored examples; {} where no measure is named.

    Args:
        name: name of a measure, a list of names, or None.
        logits: float32 (n, classes).
        labels: n labels.
        problem: the model's `problem_type`.
    """
    if name is None:
        return {}
    kind, logits, labels = tasks.of_problem(problem), torch.as_tensor(logits), np.asarray(labels)
    probabilities = kind.probabilities(logits.double())
    given = (
        labels if labels.dtype.kind == "f" else labels.astype(np.int64),
        kind.answers(logits).numpy(),
        None if probabilities is None else probabilities.numpy(),
    )
    return {one: measures.load(one).value(*given) for one in ([name] if isinstance(name, str) else name)}


def summarize(logits, labels, measure=None, problem=None):
    """Return loss (of classes nats, mean per example), accuracy (fraction) and n_correct of scored examples.

    Numbers have no accuracy.

    Args:
        logits: float32 (n, classes).
        labels: n labels.
        measure: see `measured`: to return, too.
        problem: the model's `problem_type`.
    """
    kind, given = tasks.of_problem(problem), np.asarray(labels)
    labels = torch.as_tensor(given if given.dtype.kind == "f" else given.astype(np.int64))
    found = {"loss": float(plain_loss(kind, logits.double(), labels))}
    if kind.COUNTED:
        correct = int(kind.right(kind.answers(logits), labels).sum())
        found |= {"accuracy": correct / len(labels), "n_correct": correct}
    return found | measured(measure, logits, given, problem)
