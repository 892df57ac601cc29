"""The state that `fairseq-train` resumes from, and the bare weights for later steps."""


def resumable(model, criterion, optimizer, updates, updates_an_epoch, shuffle, extra, first=0):
    """Return the state that `fairseq-train --restore-file` resumes from, in the form of its checkpoints.

    Args:
        model, criterion, optimizer: fairseq's objects.
        updates: updates made.
        updates_an_epoch: batches of one epoch.
        shuffle: True where fairseq shuffles them.
        extra: fairseq's `extra_state` besides the position: best value so far, {name of the task's class: argument of
            its `set_checkpoint_dict`}.
        first: update from which the place in the data is counted.

    Returns:
        dict: tensors and plain values; the tensors are the live ones.

    Source: fairseq.trainer.Trainer.state_dict and fairseq.data.iterators.EpochBatchIterator.state_dict.
    """
    epochs, batches = divmod(updates - first, updates_an_epoch)
    history = {
        "criterion_name": type(criterion).__name__,
        "optimizer_name": type(optimizer).__name__,
        "lr_scheduler_state": {"best": None},
        "num_updates": updates,
    }
    position = {"version": 2, "epoch": epochs + 1, "iterations_in_epoch": batches, "shuffle": shuffle}
    return {
        "args": None,
        "cfg": None,
        "model": model.state_dict(),
        "optimizer_history": [history],
        "extra_state": {"train_iterator": position, **extra},
        "last_optimizer_state": optimizer.state_dict(),
    }


def bare_checkpoint(model):
    """Return a model's weights and settings, without optimizer, random states or paths.

    Args:
        model: fairseq's RobertaModel.

    Returns:
        dict: the input of `fairseq-train --restore-file`; the tensors are copies.
    """
    sizes = {key: value for key, value in vars(model.args).items() if _describes_model(key, value)}
    return {
        "args": None,
        "cfg": {"model": {"_name": "roberta_small", **sizes}},
        "model": untangled(model.state_dict()),
        "optimizer_history": [{"criterion_name": "", "optimizer_name": "", "lr_scheduler_state": {}, "num_updates": 0}],
        "extra_state": {"train_iterator": {"epoch": 1, "iterations_in_epoch": 0}},
        "task_state": {},
        "last_optimizer_state": None,
    }


def untangled(model):
    """Return copies of tensors; two names of one tensor (tied weights) share a copy, which the file has once."""
    copies = {}
    return {name: copies.setdefault((t.data_ptr(), tuple(t.shape)), t.clone()) for name, t in model.items()}


def _describes_model(key, value):
    prefixes = ("encoder_", "max_", "dropout", "attention_dropout", "activation_", "pooler_", "layernorm_", "untie_")
    return key.startswith(prefixes) and isinstance(value, int | float | str | bool)
