"""Measure each class: precision, recall and F1 over an arm's seeds, their means over classes, and confusions."""

import numpy as np
import pandas

from analysis.seed_summaries import divided, summarised
from common.entry import run
from common.frames import read_frame
from study.tables import columns_of, frame_rows, write_table

MEASURES = ("precision", "recall", "f1")


def measure(counts):
    """Return precision, recall and F1 of each class.

    Recall is the share of a class's reviews that got its answer, precision the share of its answers that are right,
    F1 = 2 · right / (reviews + answers), their harmonic mean.

    Args:
        counts: (k, k) reviews by class (row) and answer (column).

    Returns:
        dict: {measure: (k,) fractions}
    """
    right, reviews, answers = np.diag(counts).astype(float), counts.sum(axis=1), counts.sum(axis=0)
    values = (divided(right, answers), divided(right, reviews), divided(2 * right, reviews + answers))
    return dict(zip(MEASURES, values, strict=True))


def read_counts(confusion):
    """Return {arm: {seed: (k, k) reviews by class and answer}} of errors/confusion.tsv, and the classes' numbers.

    Args:
        confusion: frame of that table (text); a cell without a row has no reviews.
    """
    classes = sorted({*confusion["label"], *confusion["prediction"]}, key=int)
    counts = {}
    for (arm, seed), rows in confusion.groupby(["arm", "seed"], sort=False):
        table = rows.assign(n=rows["n_reviews"].astype(int)).pivot(index="label", columns="prediction", values="n")
        table = table.reindex(index=classes, columns=classes).fillna(0)
        counts.setdefault(arm, {})[seed] = table.to_numpy(dtype=int)
    return counts, classes


def by_class(counts, classes):
    """Return errors/by_class.tsv as rows: for each arm, class and measure the seeds' mean, spread and interval."""
    rows = []
    for arm, by_seed in counts.items():
        measured = [measure(table) for table in by_seed.values()]
        n_reviews = next(iter(by_seed.values())).sum(axis=1)
        for k, label in enumerate(classes):
            for name in MEASURES:
                row = {"arm": arm, "label": label, "metric": name, "n_reviews": int(n_reviews[k])}
                rows.append(row | summarised(one[name][k] for one in measured))
    return rows


def by_arm(counts):
    """Return errors/macro.tsv as rows: for each arm and measure its mean over classes, over the seeds."""
    rows = []
    for arm, by_seed in counts.items():
        measured = [measure(table) for table in by_seed.values()]
        for name in MEASURES:
            rows.append({"arm": arm, "metric": f"macro_{name}"} | summarised(one[name].mean() for one in measured))
    return rows


def confusions(counts, classes):
    """Return errors/confusion_arms.tsv as rows: for each arm, class and answer the share of the class's reviews.

    With more than two classes, cells in which no seed has a review are left out, except right answers.
    """
    rows = []
    for arm, by_seed in counts.items():
        shares = np.stack([share(table) for table in by_seed.values()])
        for i, label in enumerate(classes):
            for j, prediction in enumerate(classes):
                if len(classes) == 2 or i == j or shares[:, i, j].any():
                    row = {"arm": arm, "label": label, "prediction": prediction}
                    rows.append(row | summarised(shares[:, i, j]))
    return rows


def share(counts):
    """Return each row of counts as shares of its sum, zeros for a class without reviews."""
    sums = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, sums, out=np.zeros(counts.shape), where=sums > 0)


def main(confusion, by_label, macro, confusion_arms):
    """Write the measures by class.

    Args:
        confusion: errors/confusion.tsv.
        by_label, macro, confusion_arms: TSV files to write: errors/by_class.tsv, macro.tsv, confusion_arms.tsv.
    """
    counts, classes = read_counts(read_frame(confusion))
    tables = {"by_class": by_class(counts, classes), "macro": by_arm(counts)}
    tables["confusion_arms"] = confusions(counts, classes)
    for path, (name, rows) in zip((by_label, macro, confusion_arms), tables.items(), strict=True):
        table = pandas.DataFrame(rows, columns=columns_of(f"errors_{name}"), dtype=object)
        write_table(path, f"errors_{name}", frame_rows(table))


if __name__ == "__main__":
    run(main, snakemake)
