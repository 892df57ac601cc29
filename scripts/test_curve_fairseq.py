"""Accuracy on test of every kept epoch of a fairseq run: for the curves only, after training."""

import glob
import os
import re

from common.errors import StudyError
from common.fairseq_scoring import load_task_and_model, score
from common.files import read_tsv, write_tsv
from common.rule import running
from common.training import set_threads

COLUMNS = ("epoch", "update", "split", "metric", "value")


def main(data, checkpoints, history, curve, batch_size, threads):
    """Write one row an epoch.

    Args:
        data: binarized test reviews.
        checkpoints: the run's folder of `checkpoint{epoch}.pt`.
        history: the run's `history.tsv`, for each epoch's last update.
        curve: TSV to write: `COLUMNS`; split is test, metric accuracy (fraction).
        batch_size: reviews scored at once.
        threads: CPU threads.
    """
    set_threads(threads)
    updates = {int(row["epoch"]): int(row["update"]) for row in read_tsv(history)}
    epochs = sorted(
        int(re.search(r"checkpoint(\d+)\.pt$", path)[1])
        for path in glob.glob(os.path.join(checkpoints, "checkpoint[0-9]*.pt"))
    )
    if not epochs:
        raise StudyError(f"{checkpoints} holds no checkpoint: train the run again")
    rows = []
    for epoch in epochs:
        task, model = load_task_and_model(os.path.join(checkpoints, f"checkpoint{epoch}.pt"), data)
        logits, labels = score(task, model, "test", batch_size)
        accuracy = float((logits.argmax(dim=1) == labels).float().mean(dtype=float))
        rows.append((epoch, updates[epoch], "test", "accuracy", accuracy))
    write_tsv(curve, (dict(zip(COLUMNS, row, strict=True)) for row in rows), COLUMNS)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.data,  # noqa: F821
            snakemake.input.checkpoints,  # noqa: F821
            snakemake.input.history,  # noqa: F821
            snakemake.output.curve,  # noqa: F821
            snakemake.params.batch_size,  # noqa: F821
            snakemake.threads,  # noqa: F821
        )
