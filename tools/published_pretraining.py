"""The sentence of published/README.md on the checkpoints that a study pretrained."""

import os

from common.files import read_tsv


def pretrained(folder):
    """Return the sentence on a study's pretrainings as a list; empty where it made none.

    Args:
        folder: of the published study.
    """
    curve, table = (os.path.join(folder, "checkpoint", f"{name}.tsv") for name in ("pretraining", "pretrainings"))
    if not os.path.exists(curve):
        return []
    rows = [row for row in read_tsv(curve) if row["split"] == "valid"][-1:]
    rows = read_tsv(table) if os.path.exists(table) else rows
    losses = sorted(float(row["loss"]) for row in rows)
    nats = "–".join(dict.fromkeys(f"{loss:.2f}" for loss in (losses[0], losses[-1])))
    whose = f"Each of {len(rows)} checkpoints" if len(rows) > 1 else "The checkpoint"
    return [
        f"{whose} was pretrained for {rows[0]['update']} updates, to {nats} nats per masked token of held-out text."
    ]
