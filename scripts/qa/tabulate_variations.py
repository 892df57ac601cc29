"""Put the runs that vary one setting of LoRA together: what each trains, keeps and takes, and where it ends."""

import pandas

from common.entry import run
from common.files import read_json
from qa.end_losses import ended
from study.tables import columns_of, frame_rows, write_table

TABLE = "qa_variations"


def changes(changed):
    """Return the settings that a run changes as text, such as `lora_alpha 8`; nothing: `as set`."""
    said = [
        f"{key} {' '.join(map(str, value)) if isinstance(value, list) else value}" for key, value in changed.items()
    ]
    return ", ".join(said) or "as set"


def row_of(record, loss):
    """Return one run's row, a dict with the columns of `TABLE`.

    Args:
        record: its run.json.
        loss: path of its loss.tsv.
    """
    row, lora = ended(record, loss), record["lora"] or {}
    row |= {"variation": record["name"], "changed": changes(record["changed"]), "lr": record["protocol"]["lr"]}
    row |= {"rank": lora.get("r", ""), "lora_alpha": lora.get("lora_alpha", "")}
    return {column: row[column] for column in columns_of(TABLE)}


def main(records, losses, table):
    """Write the table.

    Args:
        records: run.json of every variation and seed.
        losses: loss.tsv of the same runs, in the same order.
        table: TSV to write, by variation in the order of the settings. Losses are nats per token of the answers.

    Raises:
        StudyError: a run lacks its losses.
    """
    rows = [row_of(read_json(record), loss) for record, loss in zip(records, losses, strict=True)]
    write_table(table, TABLE, frame_rows(pandas.DataFrame(rows, columns=columns_of(TABLE))))
    print(f"{len(rows)} runs")


if __name__ == "__main__":
    run(main, snakemake)
