"""A run's classifier as `finetuning.export_model` saves it."""

import os

from checkpoint.conversion import load_converted


def load_trained(checkpoints, epoch, converted):
    """Return the classifier of an epoch, converted to Hugging Face's form.

    Args:
        checkpoints: the run's folder of `checkpoint{epoch}.pt`.
        epoch: 1-based.
        converted: the starting checkpoint as a Hugging Face folder; its config gives the model's sizes.

    Raises:
        StudyError: the checkpoint is missing or broken, or does not fit the converted checkpoint's sizes.
    """
    return load_converted(os.path.join(checkpoints, f"checkpoint{epoch}.pt"), converted)
