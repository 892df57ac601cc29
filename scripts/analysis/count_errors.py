"""Count the runs that get each test review right."""

import pandas

from analysis.prediction_tables import read_answers
from common.entry import run
from study.tables import frame_rows, write_table


def main(predictions, errors):
    """Write one row a test review.

    Args:
        predictions: paths of the runs' prediction files (id, label, prediction, probability).
        errors: TSV to write: id, label, n_runs, n_right; outcome is "all right", "all wrong" or "runs disagree".

    Raises:
        StudyError: two runs were not tested on the same reviews.
    """
    labels, answers = read_answers(dict(enumerate(predictions)))
    n_runs = len(predictions)
    n_right = answers.eq(labels, axis=0).sum(axis=1)
    outcomes = n_right.map({0: "all wrong", n_runs: "all right"}).fillna("runs disagree")
    table = {"id": labels.index, "label": labels, "n_runs": n_runs, "n_right": n_right, "outcome": outcomes}
    write_table(errors, "errors", frame_rows(pandas.DataFrame(table)))


if __name__ == "__main__":
    run(main, snakemake)
