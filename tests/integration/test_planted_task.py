"""A kind of task is added as a guest: that of docs/development/add_a_task.md is planted in a copy of the tree."""

import pathlib
import re
import statistics

import pytest
import yaml

from common.files import read_lines, read_tsv
from support import studies, trees

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

ROOT = pathlib.Path(studies.ROOT)
GUIDE = (ROOT / "docs" / "development" / "add_a_task.md").read_text(encoding="utf-8")
OWN = yaml.safe_load(re.search(r"^```yaml\n(study:.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)[1])
ARMS = {"huggingface-random": {"framework": "huggingface", "model": "checkpoint", "init": "random"}}
STUDY = studies.merged(studies.TINY, OWN | {"qa": {"enabled": False}, "finetuning": {"arms": ARMS}})


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return trees.plant(tmp_path_factory.mktemp("tree"), GUIDE, most=6)


@pytest.fixture(scope="module")
def results(tree, tmp_path_factory):
    return trees.finished(tree, tmp_path_factory.mktemp("study"), STUDY)


def test_its_arms_are_compared_by_its_measure_item_by_item(results):
    train, test = (
        [len(line.split()) for line in read_lines(results / "data" / f"{name}.review")] for name in ("train", "test")
    )
    errors = [
        statistics.fmean(abs(length - true) for true in test)
        for length in (statistics.median(train), statistics.fmean(train))
    ]
    (row,) = read_tsv(results / "questions.tsv")
    assert (row["measure"], row["contrast"], row["n_seeds_each"]) == ("absolute_error", "median - mean", "- -")
    assert float(row["score_difference"]) == pytest.approx(errors[0] - errors[1])
    assert row["n_test"] == str(len(test)) and row["higher_is_better"] == "false" and row["p_holm"]


def test_it_is_on_the_page(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    words = " ".join(re.sub("<[^>]*>", " ", page).split())
    assert OWN["questions"][0]["ask"] in words and "absolute error on test reviews" in words


def test_its_arms_are_compared_by_no_other_measure(tree, tmp_path):
    asked = [OWN["questions"][0] | {"measure": "accuracy"}]
    done = trees.snakemake(tree, tmp_path, studies.merged(STUDY, {"questions": asked}), "--dry-run")
    assert done.returncode and "median is not compared by accuracy" in done.stdout + done.stderr
