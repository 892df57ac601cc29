"""Choose the epoch of one run by its best validation accuracy; the earliest of equals."""

from common.files import read_tsv, write_json
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


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(snakemake.input.history, snakemake.output.selected)  # noqa: F821
