"""Say how each label of a set fares: precision, recall and F1 over an arm's seeds."""

import numpy as np

from analysis.measured import read_answered
from analysis.scored import by_run
from analysis.seed_summaries import divided, summarised
from common.entry import run
from study.tables import write_table


def measure(labels, answers):
    """Return {measure: (K,) fractions} of sets (N, K) of labels; 0 where nothing is divided."""
    right, n_labels, n_answers = (part.sum(axis=0).astype(float) for part in (labels * answers, labels, answers))
    return {
        "precision": divided(right, n_answers),
        "recall": divided(right, n_labels),
        "f1": divided(2 * right, n_labels + n_answers),
    }


def main(predictions, run_keys, by_set_label):
    """Write errors/by_label.tsv.

    Args:
        predictions: every run's predictions on test.
        run_keys: (arm, seed) of each of them.
        by_set_label: TSV file to write: for each arm, label and measure the seeds' mean, spread and interval.
    """
    measured, counts = {}, None
    for (arm, _), answered in read_answered(by_run(run_keys, predictions)).items():
        counts = answered.labels.sum(axis=0)
        measured.setdefault(arm, []).append(measure(answered.labels.astype(int), answered.answers))
    rows = [
        {"arm": arm, "label": str(k), "metric": name, "n_reviews": int(n)}
        | summarised(np.array([one[name][k] for one in runs_of_arm]))
        for arm, runs_of_arm in measured.items()
        for k, n in enumerate(counts)
        for name in runs_of_arm[0]
    ]
    write_table(by_set_label, "errors_by_label", rows)


if __name__ == "__main__":
    run(main, snakemake)
