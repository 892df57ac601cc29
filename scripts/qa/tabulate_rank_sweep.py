"""Put the rank sweep's runs together: what each rank costs and where it ends, one row a rank and seed."""

import pandas

from common.entry import run
from common.files import read_json
from qa.end_losses import ended
from study.tables import columns_of, frame_rows, write_table

TABLE = "qa_rank_sweep"


def row_of(record, loss):
    """Return one run's row, a dict with the columns of `TABLE`.

    Args:
        record: its run.json.
        loss: path of its loss.tsv.
    """
    row = ended(record, loss) | {"lora_alpha": record["lora"]["lora_alpha"]}
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
