"""Put the rank sweep's runs together: what each rank costs and where it ends, one row a rank and seed."""

import math

import pandas

from common.entry import run
from common.errors import StudyError
from common.files import read_json
from common.frames import read_frame
from study.tables import columns_of, frame_rows, write_table

TABLE = "qa_rank_sweep"


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


def row_of(record, loss):
    """Return one run's row, a dict with the columns of `TABLE`.

    Args:
        record: its run.json.
        loss: path of its loss.tsv.
    """
    protocol = record["protocol"]
    row = record | last_losses(loss, math.ceil(record["n_train"] / (protocol["batch_size"] * protocol["accumulation"])))
    row |= {"lora_alpha": record["lora"]["lora_alpha"], "heldout_perplexity": math.exp(row["heldout_loss"])}
    row["trainable_share"] = record["trainable_params"] / record["total_params"]
    return {column: row[column] for column in columns_of(TABLE)}


def main(records, losses, table):
    """Write the table.

    Args:
        records: run.json of every rank and seed of the sweep.
        losses: loss.tsv of the same runs, in the same order.
        table: TSV to write. Losses are nats per token of the answers; update_seconds is the time of all updates,
            without loading and without measuring held-out pairs; training_bytes the trainable weights, their
            gradients and the optimizer's averages.

    Raises:
        StudyError: a run lacks its losses.
    """
    rows = [row_of(read_json(record), loss) for record, loss in zip(records, losses, strict=True)]
    frame = pandas.DataFrame(rows, columns=columns_of(TABLE)).sort_values(["rank", "seed"])
    write_table(table, TABLE, frame_rows(frame))
    print(f"{len(frame)} runs")


if __name__ == "__main__":
    run(main, snakemake)
