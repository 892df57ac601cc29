"""Choose the epoch of one run by its best validation accuracy, the earliest of equals, and keep its weights."""

import os
import shutil

from common.errors import StudyError
from common.files import atomic_path, read_json, read_tsv, write_json
from common.rule import running
from common.selection import RULE, earliest_best, validation_points


def main(history, selected):
    """Read a run's history.tsv and write selected.json.

    Args:
        history: the run's history.tsv.
        selected: JSON to write: epoch, update, valid_accuracy (fraction), n_correct, rule, n_equal (epochs
            that share the best count, the chosen one among them).

    Raises:
        StudyError: the history has no whole set of validation results.
    """
    points = validation_points(read_tsv(history), history)
    best = earliest_best(points)
    n_equal = sum(point["n_correct"] == best["n_correct"] for point in points)
    print(f"epoch {best['epoch']} (update {best['update']}): {best['n_correct']} correct; {n_equal} epoch(s) reach it")
    write_json(
        selected,
        {
            "epoch": best["epoch"],
            "update": best["update"],
            "valid_accuracy": best["accuracy"],
            "n_correct": best["n_correct"],
            "n_equal": n_equal,
            "rule": RULE,
        },
    )


def keep_weights(checkpoints, selected, weights):
    """Copy the selected epoch's checkpoint into a folder of its own, under the name that it has.

    Args:
        checkpoints: the run's folder of `checkpoint{epoch}.pt` (fairseq) or `epoch{epoch}/` (Hugging Face).
        selected: the run's selected.json.
        weights: folder to write.

    Raises:
        StudyError: the epoch has no checkpoint.
    """
    epoch = read_json(selected)["epoch"]
    names = (f"checkpoint{epoch}.pt", f"epoch{epoch}")
    name = next((name for name in names if os.path.exists(os.path.join(checkpoints, name))), None)
    if name is None:
        raise StudyError(f"{checkpoints} holds no checkpoint of epoch {epoch}: train this run again")
    source = os.path.join(checkpoints, name)
    with atomic_path(weights) as temporary:
        os.mkdir(temporary)
        copy = shutil.copytree if os.path.isdir(source) else shutil.copyfile
        copy(source, os.path.join(temporary, name))


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(snakemake.input.history, snakemake.output.selected)  # noqa: F821
        keep_weights(
            snakemake.input.checkpoints,  # noqa: F821
            snakemake.output.selected,  # noqa: F821
            snakemake.output.weights,  # noqa: F821
        )
