"""Count, for every test review, the runs that get it right."""

from common.errors import StudyError
from common.files import read_tsv, write_tsv
from common.rule import running

COLUMNS = ("id", "label", "n_runs", "n_right", "outcome")


def main(predictions, errors):
    """Write one row a test review.

    Args:
        predictions: paths of the runs' prediction files (id, label, prediction, probability).
        errors: TSV to write: `COLUMNS`; outcome is "all right", "all wrong" or "runs disagree".

    Raises:
        StudyError: two runs were not tested on the same reviews.
    """
    reviews, right = None, None
    for path in predictions:
        rows = read_tsv(path)
        tested = [(row["id"], row["label"]) for row in rows]
        if reviews is None:
            reviews, right = tested, [0] * len(tested)
        if tested != reviews:
            raise StudyError(f"{path} and {predictions[0]} are not of the same test reviews: evaluate the runs again")
        right = [n + (row["prediction"] == row["label"]) for n, row in zip(right, rows, strict=True)]
    n_runs = len(predictions)
    outcomes = {0: "all wrong", n_runs: "all right"}
    write_tsv(
        errors,
        (
            dict(zip(COLUMNS, (*review, n_runs, n, outcomes.get(n, "runs disagree")), strict=True))
            for review, n in zip(reviews, right, strict=True)
        ),
        COLUMNS,
    )


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(snakemake.input.predictions, snakemake.output.errors)  # noqa: F821
