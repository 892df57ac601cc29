"""Where a tuning ends: its losses, from its curve, and the row of a table that they are in."""

import math

from common.errors import StudyError
from common.frames import read_frame


def last_losses(path, per_epoch):
    """Return a run's last update, its training loss over the last epoch, and its held-out loss at the end.

    Args:
        path: loss.tsv of the run.
        per_epoch: updates an epoch.

    Returns:
        dict: update; train_loss and heldout_loss (nats per token of the answers).

    Raises:
        StudyError: the file lacks the rows.
    """
    frame = read_frame(path)
    if not {"train", "heldout"} <= set(frame["split"]):
        raise StudyError(f"{path} has no losses of both splits: train the sweep again")
    frame = frame.astype({"update": int, "loss": float, "n_tokens": int})
    train, heldout = (frame[frame["split"] == split] for split in ("train", "heldout"))
    epoch = train.tail(per_epoch)
    return {
        "update": int(heldout["update"].iloc[-1]),
        "train_loss": float((epoch["loss"] * epoch["n_tokens"]).sum() / epoch["n_tokens"].sum()),
        "heldout_loss": float(heldout["loss"].iloc[-1]),
    }


def ended(record, loss):
    """Return a run's record with its last losses, the perplexity of held-out pairs, and the share that was trained.

    Args:
        record: content of its run.json.
        loss: path of its loss.tsv.
    """
    protocol = record["protocol"]
    row = record | last_losses(loss, math.ceil(record["n_train"] / (protocol["batch_size"] * protocol["accumulation"])))
    row["heldout_perplexity"] = math.exp(row["heldout_loss"])
    row["trainable_share"] = record["trainable_params"] / record["total_params"]
    return row
