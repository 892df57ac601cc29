"""A study of the sources of chance for real: its runs, their seeds by source, and the page's section."""

import json

import pytest

from common.files import read_tsv
from support import studies

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

HF = {"framework": "huggingface", "model": "checkpoint", "init": "random"}
STUDY = {
    "data": {"embedded": {"n_labelled": 90}},
    "questions": [{"ask": "Does it beat words?", "compare": ["mine", "tfidf_words"]}],
    "sources": [{"arm": "mine", "vary": ["initialisation", "split"], "runs": 2}],
    "finetuning": {
        "arms": {"mine": HF},
        "baselines": ["tfidf_words"],
        "seeds": [1, 2],
        "training": {"epochs": 1},
        "evaluation": {"test_curves": False},
    },
}
WAYS = {"mine--initialisation": ["2", "3"], "mine--split": ["2", "3"], "mine--all": ["4", "5"]}


def test_a_study_of_sources_runs_to_its_page(tmp_path):
    done = studies.snakemake(tmp_path, study=studies.write_study(tmp_path / "study.yaml", STUDY))
    assert done.returncode == 0, done.output[-3000:]
    results = tmp_path / "results" / "tiny"
    # The study's own tables have its own runs, which read the study's split.
    assert [(row["arm"], row["seed"]) for row in read_tsv(results / "runs.tsv")] == [("mine", "1"), ("mine", "2")]
    rows = read_tsv(results / "spread" / "runs.tsv")
    seeds = {
        (row["arm"], row["seed"]): [row[f"{name}_seed"] for name in ("init", "data", "dropout", "split")]
        for row in rows
    }
    assert seeds == {
        ("mine--initialisation", "2"): ["2", "1", "1", ""], ("mine--initialisation", "3"): ["3", "1", "1", ""],
        ("mine--split", "2"): ["1", "1", "1", "2"], ("mine--split", "3"): ["1", "1", "1", "3"],
        ("mine--all", "4"): ["4", "1", "1", "4"], ("mine--all", "5"): ["5", "1", "1", "5"],
    }  # fmt: skip
    record = json.loads((results / "finetuning/mine--split/seed3/run.json").read_text())
    assert (record["arm"], record["seed"], record["init_seed"], record["split_seed"]) == ("mine--split", 3, 1, 3)
    # Every run's start is verified, those of the sources among them.
    proved = {row["arm"] for row in read_tsv(results / "weights.tsv")}
    assert proved == {"mine", *WAYS}
    found = {row["varied"]: row for row in read_tsv(results / "spread" / "sources.tsv")}
    assert list(found) == ["initialisation", "split", "all", "texts", "all and texts", "jointly"]
    accuracies = [float(row["test_accuracy"]) for row in rows if row["arm"] == "mine--split"]
    # The variance of two numbers is half the square of their difference.
    assert float(found["split"]["variance"]) == pytest.approx((accuracies[0] - accuracies[1]) ** 2 / 2)
    assert (found["initialisation"]["covered"], found["split"]["covered"]) == ("true", "false")
    page = (results / "report.html").read_text(encoding="utf-8")
    assert '<section id="spread"' in page and "Where the spread comes from" in page
    again = studies.snakemake(tmp_path, "-n", study=tmp_path / "study.yaml")
    assert "Nothing to be done" in again.output
