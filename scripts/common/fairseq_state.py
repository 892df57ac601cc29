"""fairseq checkpoints as resumable state, and as the bare weights that are handed on."""

import glob
import os

import torch

from common.checkpoints import allow_fairseq_classes
from common.errors import StudyError
from common.files import atomic_path


def newest_state(folder):
    """Return the newest whole fairseq checkpoint of a folder, or None; torn ones are removed.

    fairseq writes a checkpoint atomically but copies it to its other names without care: a kill can leave a
    torn `checkpoint_last.pt` beside a whole `checkpoint_3_500.pt`.
    """
    allow_fairseq_classes()
    found = []
    for path in glob.glob(os.path.join(folder, "checkpoint*.pt")):
        try:
            state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            found.append((state["optimizer_history"][-1]["num_updates"], path))
        except Exception:  # noqa: BLE001 - whatever is wrong with it, it cannot be resumed from
            print(f"{path} is torn: removed")
            os.remove(path)
    return max(found)[1] if found else None


def resumable(model, criterion, optimizer, updates, updates_an_epoch, extra):
    """Return what `fairseq-train --restore-file` goes on from, in the form of its own checkpoints.

    Args:
        model, criterion, optimizer: fairseq's objects.
        updates: updates made.
        updates_an_epoch: batches of the plan of one epoch.
        extra: fairseq's `extra_state` besides the position: best value so far, {name of the task's class: what its
            `set_checkpoint_dict` is given}.

    Returns:
        dict: tensors and plain values; the tensors are the live ones.

    Source: fairseq.trainer.Trainer.state_dict and fairseq.data.iterators.EpochBatchIterator.state_dict.
    """
    epochs, batches = divmod(updates, updates_an_epoch)
    history = {
        "criterion_name": type(criterion).__name__,
        "optimizer_name": type(optimizer).__name__,
        "lr_scheduler_state": {"best": None},
        "num_updates": updates,
    }
    position = {"version": 2, "epoch": epochs + 1, "iterations_in_epoch": batches, "shuffle": False}
    return {
        "args": None,
        "cfg": None,
        "model": model.state_dict(),
        "optimizer_history": [history],
        "extra_state": {"train_iterator": position, **extra},
        "last_optimizer_state": optimizer.state_dict(),
    }


def export_weights(state_path, destination):
    """Write a checkpoint's weights and settings, without optimizer, random states or paths.

    Args:
        state_path: a checkpoint of `fairseq-train`.
        destination: `model.pt` to write, which `fairseq-train --restore-file` reads.
    """
    allow_fairseq_classes()
    state = torch.load(state_path, map_location="cpu", weights_only=True)
    settings = vars(state["cfg"]["model"]) if not isinstance(state["cfg"]["model"], dict) else state["cfg"]["model"]
    sizes = {key: value for key, value in settings.items() if _describes_model(key, value)}
    bare = {
        "args": None,
        "cfg": {"model": {"_name": "roberta_small", **sizes}},
        "model": untangled(state["model"]),
        "optimizer_history": [{"criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}, "num_updates": 0}],
        "extra_state": {"train_iterator": {"epoch": 1, "iterations_in_epoch": 0}},
        "task_state": {},
        "last_optimizer_state": None,
    }
    with atomic_path(destination) as temporary:
        torch.save(bare, temporary)


def untangled(model):
    """Return copies of tensors, of which two names of one (tied weights) stay one: the file holds it once."""
    copies = {}
    return {name: copies.setdefault((t.data_ptr(), tuple(t.shape)), t.clone()) for name, t in model.items()}


def _describes_model(key, value):
    prefixes = ("encoder_", "max_", "dropout", "attention_dropout", "activation_", "pooler_", "layernorm_", "untie_")
    return key.startswith(prefixes) and isinstance(value, int | float | str | bool)


def require(path, what):
    """Return `path` if it is a file, else say what is missing: fairseq would silently start at random."""
    if not os.path.isfile(path):
        raise StudyError(f"{path} is missing: {what}")
    return path
