"""A measure is added in one file: that of docs/development/add_a_measure.md is planted in a copy of the tree."""

import pathlib
import re
import shutil

import numpy as np
import pytest
import yaml
from sklearn.metrics import brier_score_loss, matthews_corrcoef

from common.files import read_json, read_tsv
from support import studies, trees

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

ROOT = pathlib.Path(studies.ROOT)
GUIDE = (ROOT / "docs" / "development" / "add_a_measure.md").read_text(encoding="utf-8")
STUDY = studies.merged(
    studies.TINY,
    yaml.safe_load(re.search(r"^```yaml\n(study:.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)[1]),
)
# Two seeds, so that there are intervals; and a measure that is there beside the planted one.
STUDY = studies.merged(STUDY, {"finetuning": {"seeds": [1, 2], "measures": ["brier", "mcc"]}, "qa": {"enabled": False}})


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return trees.plant(tmp_path_factory.mktemp("tree"), GUIDE, most=1)


@pytest.fixture(scope="module")
def results(tree, tmp_path_factory):
    return trees.finished(tree, tmp_path_factory.mktemp("study"), STUDY)


def scored(results, row):
    predictions = read_tsv(results / "predictions" / row["arm"] / f"seed{row['seed']}.tsv")
    return (np.array([float(one[name]) for one in predictions]) for name in ("label", "prediction", "probability"))


def test_it_scores_every_run(results):
    rows = read_tsv(results / "measures" / "runs.tsv")
    assert [row["measure"] for row in rows] == ["brier"] * 6 + ["mcc"] * 6
    for row in rows:
        labels, answers, probabilities = scored(results, row)
        # Of both classes; scikit-learn's is of one.
        brier = 2 * brier_score_loss(labels, probabilities)
        wanted = brier if row["measure"] == "brier" else matthews_corrcoef(labels, answers)
        assert float(row["score"]) == pytest.approx(wanted, abs=1e-9)


def test_it_chooses_the_epoch_in_both_frameworks(results):
    for arm in ("fairseq-pretrained", "huggingface-pretrained"):
        folder = results / "finetuning" / arm / "seed1"
        values = {
            row["epoch"]: float(row["value"]) for row in read_tsv(folder / "history.tsv") if row["metric"] == "brier"
        }
        chosen = read_json(folder / "selected.json")
        assert (
            chosen["select_by"] == "brier" and chosen["value"] == min(values.values()) == values[str(chosen["epoch"])]
        )


def test_arms_are_tested_by_it(results):
    pairs = [row for row in read_tsv(results / "measures" / "pairs.tsv") if row["measure"] == "brier"]
    assert len(pairs) == 3
    for row in pairs:
        low, high, gap = (float(row[f"score_difference{end}"]) for end in ("_low", "_high", ""))
        assert low < gap < high
        # A lower value is the better one.
        assert row["better"] == row["arm_a" if gap < 0 else "arm_b"]


def test_it_is_on_the_page(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "Test Brier score by arm, squared distance; lower is better" in page
    assert "lowest Brier score" in page
    assert "results/brier/measures/pairs.tsv" in {row["file"] for row in read_tsv(results / "report_numbers.tsv")}


def test_nothing_is_planned_again_until_its_file_is_edited(tree, results, tmp_path):
    done = trees.snakemake(tree, results.parents[1], STUDY, "--dry-run")
    assert "Nothing to be done" in done.stdout + done.stderr
    edited = tmp_path / "tree"
    shutil.copytree(tree, edited)
    with open(edited / "scripts/measures/brier.py", "a", encoding="utf-8") as handle:
        handle.write("\n# Changed.\n")
    done = trees.snakemake(edited, results.parents[1], STUDY, "--dry-run", "--quiet", "host")
    planned = set(re.findall(r"^(?:local)?rule (\w+):", done.stdout + done.stderr, re.MULTILINE))
    assert {"finetune_huggingface", "finetune_fairseq", "select_checkpoint", "compare_measures"} <= planned
    assert not {"build_splits", "finetune_linear", "pretrain"} & planned


def test_it_is_in_the_reference_of_settings(tree):
    done = trees.python(tree, ["-c", "from tools import config_reference; print(config_reference.page())"])
    assert done.returncode == 0, done.stderr
    assert all("`brier`" in line for line in done.stdout.splitlines() if "`finetuning.select_by`" in line)


def test_a_measure_that_is_not_there_is_refused(tree, tmp_path):
    done = trees.snakemake(tree, tmp_path, studies.merged(STUDY, {"finetuning": {"measures": ["brierr"]}}), "--dry-run")
    said = done.stdout + done.stderr
    assert done.returncode and "finetuning.measures" in said and "Did you mean brier?" in said
