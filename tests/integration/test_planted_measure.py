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
# Two seeds, so that there are intervals.
STUDY = studies.merged(STUDY, {"finetuning": {"seeds": [1, 2]}, "qa": {"enabled": False}})


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return trees.plant(tmp_path_factory.mktemp("tree"), GUIDE, most=1)


@pytest.fixture(scope="module")
def results(tree, tmp_path_factory):
    return trees.finished(tree, tmp_path_factory.mktemp("study"), STUDY)


def scored(results, row):
    predictions = read_tsv(results / "predictions" / row["arm"] / f"seed{row['seed']}.tsv")
    return (np.array([float(one[name]) for one in predictions]) for name in ("label", "prediction", "probability"))


def test_it_leads_and_another_is_beside_it(results):
    for row in read_tsv(results / "runs.tsv"):
        labels, answers, probabilities = scored(results, row)
        # This score is of both classes; scikit-learn's is of one.
        assert float(row["test_score"]) == pytest.approx(2 * brier_score_loss(labels, probabilities), abs=1e-9)
        assert row["measure"] == "brier"
        history = read_tsv(results / "finetuning" / row["arm"] / f"seed{row['seed']}" / "history.tsv")
        valid = {one["epoch"]: one["value"] for one in history if one["metric"] == "brier"}
        assert float(row["valid_score"]) == float(valid[row["best_epoch"]])
    beside = read_tsv(results / "measures" / "runs.tsv")
    assert [row["measure"] for row in beside] == ["mcc"] * 6
    for row in beside:
        labels, answers, _ = scored(results, row)
        assert float(row["score"]) == pytest.approx(matthews_corrcoef(labels, answers), abs=1e-9)


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
    means = {row["arm"]: float(row["mean"]) for row in read_tsv(results / "test_brier.tsv")}
    for row in read_tsv(results / "statistics" / "pairs.tsv"):
        low, high, gap = (float(row[end]) for end in ("low", "high", "difference"))
        assert low < gap < high and gap == pytest.approx(means[row["arm_a"]] - means[row["arm_b"]], abs=1e-12)
        # Nothing that holds for right and wrong answers alone.
        assert row["items_p"] == row["bootstrap_low"] == ""
    assert read_tsv(results / "statistics" / "mcnemar.tsv") == []
    assert {row["measure"] for row in read_tsv(results / "questions.tsv")} == {"brier"}


def test_simple_models_are_chosen_by_it(results):
    for row in read_tsv(results / "baselines.tsv"):
        predictions = read_tsv(results / "predictions" / row["baseline"] / "seed0.tsv")
        pairs = np.array([[float(one["label"]), float(one["probability"])] for one in predictions])
        assert float(row["test_score"]) == pytest.approx(2 * brier_score_loss(*pairs.T), abs=1e-9)
        assert row["measure"] == "brier" and row["valid_score"]


def test_it_leads_the_page(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    text = " ".join(re.sub("<[^>]+>", " ", page.replace("&nbsp;", " ")).split())
    assert "test Brier score (squared distance)" in text
    assert "Test Brier score by arm" in text and "Brier score by epoch" in text
    assert "beside Brier score, which alone leads the page" in text
    # The headline's number is that of the best arm: the lowest.
    best = min(float(row["mean"]) for row in read_tsv(results / "test_brier.tsv"))
    assert re.search(rf"lowest mean test Brier score[:,] {best:.3f} squared distance", text)
    assert (results / "figures" / "brier_by_epoch" / "fairseq-pretrained.svg").exists()
    assert (results / "figures" / "arms_by_epoch" / "brier.svg").exists()


def test_nothing_is_planned_again_until_its_file_is_edited(tree, results, tmp_path):
    done = trees.snakemake(tree, results.parents[1], STUDY, "--dry-run")
    assert "Nothing to be done" in done.stdout + done.stderr
    edited = tmp_path / "tree"
    shutil.copytree(tree, edited)
    with open(edited / "scripts/measures/brier.py", "a", encoding="utf-8") as handle:
        handle.write("\n# Changed.\n")
    done = trees.snakemake(edited, results.parents[1], STUDY, "--dry-run", "--quiet", "host")
    planned = set(re.findall(r"^(?:local)?rule (\w+):", done.stdout + done.stderr, re.MULTILINE))
    assert {"finetune_huggingface", "finetune_fairseq", "select_checkpoint", "finetune_linear"} <= planned
    assert not {"build_splits", "pretrain"} & planned


def test_it_is_in_the_reference_of_settings(tree):
    done = trees.python(tree, ["-c", "from tools import config_reference; print(config_reference.page())"])
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "| `measure` |" in line or "`finetuning.select_by`" in line]
    assert len(lines) == 2 and all("`brier`" in line for line in lines)


def test_a_measure_that_is_not_there_is_refused(tree, tmp_path):
    done = trees.snakemake(tree, tmp_path, studies.merged(STUDY, {"finetuning": {"measures": ["brierr"]}}), "--dry-run")
    said = done.stdout + done.stderr
    assert done.returncode and "finetuning.measures" in said and "Did you mean brier?" in said
