"""A run's classifier as `finetuning.export_model` saves it."""

from frameworks.huggingface.classifier import load_epoch


def load_trained(checkpoints, epoch, converted):
    """Return the classifier that a run saved after an epoch, on the CPU.

    Args:
        checkpoints: the run's folder of `epoch{epoch}/`.
        epoch: 1-based.
        converted: not used: the run's folder has its sizes.

    Raises:
        StudyError: the folder is missing or does not hold every tensor.
    """
    return load_epoch(checkpoints, epoch).cpu()
