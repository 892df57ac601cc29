"""Padded batches, and scoring in float32, for the Hugging Face arm."""

import os

import numpy as np
import torch
from tqdm import tqdm

from common.batching import length_sorted_batches
from common.errors import StudyError
from common.training import choose_device

PAD = 1


def pad_batch(sequences, labels=None, length=None):
    """Return a padded batch.

    Args:
        sequences: list of B integer arrays.
        labels: B labels, or None.
        length: T, tokens to pad to; None: those of the longest sequence.

    Returns:
        dict: input_ids, attention_mask: int64 (B, T); labels: int64 (B,) when given.
    """
    length = length or max(len(sequence) for sequence in sequences)
    ids = np.full((len(sequences), length), PAD, dtype=np.int64)
    mask = np.zeros((len(sequences), length), dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    batch = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
    if labels is not None:
        batch["labels"] = torch.as_tensor(np.asarray(labels, dtype=np.int64))
    return batch


def score(model, sequences, batch_size, progress=None):
    """Return the class scores of sequences, in float32 and without dropout.

    Args:
        model: a sequence classifier; its training mode is restored.
        sequences: list of n integer arrays.
        batch_size: sequences scored at once, sorted by length.
        progress: label of a progress bar; None: no bar.

    Returns:
        torch.Tensor: logits (n, classes), float32, on the CPU, in the order of `sequences`.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    logits = None
    batches = length_sorted_batches([len(sequence) for sequence in sequences], batch_size)
    with torch.inference_mode(), torch.autocast(device.type, enabled=False):
        for batch in tqdm(batches, desc=progress, disable=progress is None):
            inputs = pad_batch([sequences[i] for i in batch])
            output = model(**{name: tensor.to(device) for name, tensor in inputs.items()}).logits.float().cpu()
            if logits is None:
                logits = torch.empty(len(sequences), output.shape[1])
            logits[torch.as_tensor(batch)] = output
    model.train(was_training)
    return logits


def summarize(logits, labels):
    """Return loss (nats, mean per example), accuracy (fraction) and n_correct of scored examples.

    Args:
        logits: float32 (n, classes).
        labels: n labels.
    """
    labels = torch.as_tensor(np.asarray(labels, dtype=np.int64))
    correct = int((logits.argmax(dim=1) == labels).sum())
    loss = float(torch.nn.functional.cross_entropy(logits.double(), labels))
    return {"loss": loss, "accuracy": correct / len(labels), "n_correct": correct}


def load_epoch(checkpoints, epoch):
    """Return the classifier that a run saved after an epoch, whole, on the device, in float32.

    Args:
        checkpoints: the run's folder of `epoch1/`, `epoch2/`, ...
        epoch: 1-based.

    Raises:
        StudyError: the folder is missing or does not hold every tensor.
    """
    from transformers import RobertaForSequenceClassification

    folder = os.path.join(checkpoints, f"epoch{epoch}")
    if not os.path.isfile(os.path.join(folder, "model.safetensors")):
        raise StudyError(f"{folder} holds no model: fine-tune again")
    model, info = RobertaForSequenceClassification.from_pretrained(
        folder, local_files_only=True, attn_implementation="sdpa", dtype=torch.float32, output_loading_info=True
    )
    wrong = sorted(info["missing_keys"]) + sorted(info["unexpected_keys"])
    if wrong:
        raise StudyError(f"{folder}: tensor {wrong[0]} is missing or has no place: fine-tune again")
    return model.to(choose_device())
