"""Train the simple models on the same subsets of the training reviews as the arms: the bar of a learning curve."""

from common.entry import run
from data.lib.reviews import POLARITY, read_split
from data.lib.simple_models import baselines
from study.tables import write_table


def main(subsets, subset_labels, held_out, held_out_labels, table, classes=POLARITY):
    """Fit on each subset, choose on valid, score on test, and write one table.

    Args:
        subsets, subset_labels: files of the training subsets, by size, the whole last.
        held_out, held_out_labels: files of valid and test.
        table: TSV to write: the rows of baselines.tsv for each subset.
        classes: names of the classes in order.

    Raises:
        StudyError: see `data.lib.reviews.read_split`.
    """
    valid, test = (read_split(*paths, classes) for paths in zip(held_out, held_out_labels, strict=True))
    rows = []
    for paths in zip(subsets, subset_labels, strict=True):
        rows += baselines({"train": read_split(*paths, classes), "valid": valid, "test": test}, classes)
    write_table(table, "learning_curves/baselines.tsv", rows)


if __name__ == "__main__":
    run(main, snakemake)
