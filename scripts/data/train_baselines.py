"""What the task gives away without any pretrained model: majority class, TF-IDF of words, n-grams of characters."""

from common.entry import run
from data.lib.reviews import POLARITY, read_splits
from data.lib.simple_models import baselines
from study.tables import write_table


def main(reviews, labels, table, classes=POLARITY):
    """Fit on train, choose on valid, score on test, and write the table.

    Args:
        reviews, labels: files of train, valid and test.
        table: TSV to write; the intervals are Clopper and Pearson's, 95 %, over test reviews.
        classes: names of the classes in order.

    Raises:
        StudyError: see `data.lib.reviews.read_split`.
    """
    write_table(table, "baselines.tsv", baselines(read_splits(reviews, labels, classes), classes))


if __name__ == "__main__":
    run(main, snakemake)
