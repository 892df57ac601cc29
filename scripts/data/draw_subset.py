"""Draw the training reviews of an arm that learns from fewer: stratified, nested, seeded."""

import tasks
from common.entry import run
from common.errors import StudyError
from common.files import read_lines, write_lines
from data.reviews import POLARITY, read_split
from data.subsets import nested_order


def main(reviews, labels, subset, subset_labels, n_train: int, seed, classes=POLARITY, task=tasks.DEFAULT):
    """Write a subset of the training reviews, in their order.

    Args:
        reviews, labels: reviews and labels of all training reviews.
        subset, subset_labels: files to write.
        n_train: reviews of the subset.
        seed: seed of the draw (`data.split_seed`).
        classes: names of the classes in order.
        task: kind of the labels.

    Raises:
        StudyError: there are fewer training reviews, or the subset lacks a class.
    """
    texts, values = read_split(reviews, labels, classes, task)
    if n_train > len(texts):
        raise StudyError(
            f"an arm's n_train is {n_train}, more than the {len(texts)} training reviews there are; lower it"
        )
    kind = tasks.load(task)
    drawn = sorted(nested_order(kind.strata(values, len(classes))[0], seed)[:n_train])
    missing = kind.lacking([values[i] for i in drawn], len(classes))
    if missing:
        raise StudyError(
            f"an arm's n_train is {n_train}, and then {classes[missing[0]]} has no review to learn from; raise it"
        )
    lines = read_lines(labels)
    write_lines(subset, [texts[i] for i in drawn])
    write_lines(subset_labels, [lines[i] for i in drawn])
    print(f"{n_train} of {len(texts)} training reviews: {dict(kind.balance([values[i] for i in drawn], classes))}")


if __name__ == "__main__":
    run(main, snakemake)
