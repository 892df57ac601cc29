"""Accuracy on test after every epoch of a Hugging Face run: for figures only, made after training."""

from transformers import logging as transformers_logging

from common.errors import StudyError
from common.files import read_tsv, write_tsv
from common.rule import running
from common.scoring import load_epoch, score, summarize
from common.token_ids import read_token_ids
from common.training import set_threads

COLUMNS = ("epoch", "update", "split", "metric", "value")


def epochs_of(history):
    """Return [(epoch, update)] of a run's history, in order.

    Args:
        history: rows of `history.tsv`.

    Raises:
        StudyError: the history is empty.
    """
    found = sorted({(int(row["epoch"]), int(row["update"])) for row in history})
    if not found:
        raise StudyError("the run's history.tsv is empty: fine-tune again")
    return found


def main(history, checkpoints, token_ids, curve, batch_size, threads):
    """Score every kept epoch.

    Args:
        history: the run's `history.tsv`: which epochs there are.
        checkpoints: the run's folder of checkpoints.
        token_ids: `.npz` of the test split.
        curve: TSV file to write.
        batch_size: reviews scored at once.
        threads: CPU threads.
    """
    transformers_logging.set_verbosity_warning()
    set_threads(threads)
    sequences, labels = read_token_ids(token_ids)
    rows = []
    for epoch, update in epochs_of(read_tsv(history)):
        logits = score(load_epoch(checkpoints, epoch), sequences, batch_size, progress=f"epoch {epoch}")
        value = summarize(logits, labels)["accuracy"]
        rows.append({"epoch": epoch, "update": update, "split": "test", "metric": "accuracy", "value": value})
    write_tsv(curve, rows, COLUMNS)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.history,  # noqa: F821
            snakemake.input.checkpoints,  # noqa: F821
            snakemake.input.token_ids,  # noqa: F821
            snakemake.output.curve,  # noqa: F821
            snakemake.params.batch_size,  # noqa: F821
            snakemake.threads,  # noqa: F821
        )
