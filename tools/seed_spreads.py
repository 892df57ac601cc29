"""The spread over seeds that others measured, from raw results that anyone can download: an assumption by name.

`docs/method/seed-spreads.tsv` has, of each model and task, the mean and standard deviation of the accuracy of 20 runs
that differ in their seed. It is written from a clone of the source by `python -m tools.seed_spreads CLONE`.
"""

import csv
import difflib
import io
import os
import statistics
import subprocess
import sys

from common.errors import StudyError
from common.files import read_tsv, write_tsv

TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "method", "seed-spreads.tsv")
COMMIT = "1c1d4228810ef0506de1a85144a3744b274c8bbc"
SOURCE = (
    "Choshen et al. 2022, Where to start? (arXiv:2211.00107), results of github.com/IBM/model-recycling at commit "
    f"{COMMIT[:7]}"
)
# {name here: the part of the file's name that says the model}
MODELS = {
    "bert-base-cased": "bert_base_cased",
    "bert-base-uncased": "bert_base_uncased",
    "roberta-base": "roberta_base",
    "deberta-v3-base": "microsoft_deberta_v3_base",
}
COLUMNS = ("name", "n_seeds", "accuracy", "sd", "lowest")


def rows_of(model, text):
    """Return the rows of a model from the source's table of runs.

    Args:
        model: key of `MODELS`.
        text: the file, with the columns `dataset name` and `accuracy`, one row a run; a task with another measure has
            no accuracy.

    Returns:
        list[dict]: `COLUMNS`; accuracies in per cent, sd in points with ddof 1.
    """
    found = {}
    for row in csv.DictReader(io.StringIO(text), delimiter="\t"):
        if row["accuracy"]:
            found.setdefault(row["dataset name"], []).append(100 * float(row["accuracy"]))
    return [
        {
            "name": f"{model}/{task}",
            "n_seeds": len(values),
            "accuracy": round(statistics.fmean(values), 2),
            "sd": round(statistics.stdev(values), 2),
            "lowest": round(min(values), 2),
        }
        for task, values in sorted(found.items())
    ]


def spread_of(name):
    """Return (SD over seeds in points, number of seeds, mean accuracy in per cent, source in words) by a row's name.

    Raises:
        StudyError: there is no such row.
    """
    rows = {row["name"]: row for row in read_tsv(TABLE)}
    if name not in rows:
        near = difflib.get_close_matches(name, rows, n=3, cutoff=0.3)
        raise StudyError(
            f"--spread {name} is no row of docs/method/seed-spreads.tsv; give MODEL/TASK, such as "
            f"{', '.join(near or list(rows)[:3])}"
        )
    row = rows[name]
    words = f"of {name}, {row['n_seeds']} seeds, {row['accuracy']} % on average (lowest {row['lowest']} %): {SOURCE}"
    return float(row["sd"]), int(row["n_seeds"]), float(row["accuracy"]), words


def main(arguments):
    """Write the table from a clone, at the commit that is cited."""
    (clone,) = arguments
    rows = []
    for model, part in MODELS.items():
        path = f"{COMMIT}:results/models_results_{part}_pretrain.csv"
        done = subprocess.run(["git", "-C", clone, "show", path], capture_output=True, text=True, check=True)
        rows += rows_of(model, done.stdout)
    write_tsv(TABLE, rows, COLUMNS)


if __name__ == "__main__":
    main(sys.argv[1:])
