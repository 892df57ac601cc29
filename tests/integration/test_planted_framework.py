"""A framework is added in a folder of its own: that of docs/development/add_a_framework.md is planted in a copy."""

import pathlib
import re
import shutil

import pytest
import yaml

from common.files import read_json, read_lines, read_tsv
from support import studies, trees

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

ROOT = pathlib.Path(studies.ROOT)
GUIDE = (ROOT / "docs" / "development" / "add_a_framework.md").read_text(encoding="utf-8")
# The study file of the guide, with few texts.
STUDY = studies.merged(
    yaml.safe_load(re.search(r"^```yaml\n(study:.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)[1]),
    {"data": studies.TINY["data"], "finetuning": {"seeds": [1, 2]}, "qa": {"enabled": False}},
)
ARMS = ("nearest", "nearest-half")
DOCUMENTS = "from tools import config_reference, data_dictionary as d; print(config_reference.page(), d.page())"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return trees.plant(tmp_path_factory.mktemp("tree"), GUIDE, most=3)


@pytest.fixture(scope="module")
def results(tree, tmp_path_factory):
    return trees.finished(tree, tmp_path_factory.mktemp("study"), STUDY)


def test_its_runs_are_runs_like_all_others(results):
    runs = read_tsv(results / "runs.tsv")
    assert [(row["arm"], row["seed"]) for row in runs] == [(arm, seed) for arm in ARMS for seed in ("1", "2")]
    assert {(row["framework"], row["model"], row["init"]) for row in runs} == {("nearest", "none", "none")}
    for row in runs:
        predictions = read_tsv(results / "predictions" / row["arm"] / f"seed{row['seed']}.tsv")
        right = sum(cell["label"] == cell["prediction"] for cell in predictions)
        assert (str(right), str(len(predictions))) == (row["n_correct_test"], row["n_test"])
    labels = [row["label"] for row in predictions]
    assert labels == read_lines(results / "data" / "test.label")
    # A setting of its own decides the result.
    halves = [read_json(results / "finetuning" / arm / "seed1" / "run.json") for arm in ARMS]
    assert [record["settings"] for record in halves] == [{}, {"share": 0.5}]
    assert halves[0]["settings_sha256"] != halves[1]["settings_sha256"]
    assert "scikit-learn" in halves[0]["versions"]


def test_it_is_tested_and_on_the_page(results):
    (pair,) = read_tsv(results / "statistics" / "pairs.tsv")
    assert (pair["arm_a"], pair["arm_b"], pair["n_seeds_a"]) == (*ARMS, "2")
    page = (results / "report.html").read_text(encoding="utf-8")
    assert all(f">{arm}<" in page for arm in ARMS) and "finetuning.arms.nearest-half.share" in page
    numbers = {row["file"].rpartition("/")[2] for row in read_tsv(results / "report_numbers.tsv")}
    assert {"runs.tsv", "pairs.tsv"} <= numbers


def test_its_logs_have_the_rules_names(results):
    logs = results / "logs"
    assert all((logs / rule / arm / "seed2.log").is_file() for rule in ("finetune_nearest", "evaluate_nearest")
               for arm in ARMS)  # fmt: skip


def test_scoring_sees_no_label_and_nothing_is_planned_again(tree, results):
    folder = results.parents[1]
    done = trees.snakemake(tree, folder, STUDY, "--dry-run")
    assert "Nothing to be done" in done.stdout + done.stderr
    done = trees.snakemake(tree, folder, STUDY, "--dry-run", "--forcerun", "evaluate_nearest", "--quiet", "host")
    inputs = re.findall(r"rule evaluate_nearest:\n    input: (.*)", done.stdout + done.stderr)
    assert len(inputs) == 4 and not [given for given in inputs if ".label" in given]


def test_an_edit_to_it_trains_its_runs_again(tree, results, tmp_path):
    edited = tmp_path / "tree"
    shutil.copytree(tree, edited)
    with open(edited / "scripts/frameworks/nearest/train.py", "a", encoding="utf-8") as handle:
        handle.write("\n# Changed.\n")
    done = trees.snakemake(edited, results.parents[1], STUDY, "--dry-run", "--quiet", "host")
    planned = set(re.findall(r"^(?:local)?rule (\w+):", done.stdout + done.stderr, re.MULTILINE))
    assert "finetune_nearest" in planned and not {"build_splits", "finetune_linear"} & planned


def test_it_is_in_the_dictionary_and_the_reference_of_settings(tree):
    done = trees.python(tree, ["-c", DOCUMENTS])
    assert done.returncode == 0, done.stderr
    assert "`finetuning.arms.NAME.share`" in done.stdout and "share of the training texts that each seed" in done.stdout
    assert "`huggingface`, `linear`, `nearest`" in done.stdout
    assert "huggingface or linear or nearest" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "sorted(os.listdir(FOLDER))",
            '("fairseq", "huggingface")',
            "it must be one of fairseq, huggingface",
        ),
        ("os.path.getsize(facts)", "False", "finetuning.arms.nearest.framework is 'nearest'"),
    ],
    ids=["discovery off", "no facts"],
)
def test_without_discovery_it_is_refused(tree, tmp_path, old, new, said):
    broken = tmp_path / "tree"
    shutil.copytree(tree, broken)
    facts = broken / "scripts" / "frameworks" / "__init__.py"
    text = facts.read_text(encoding="utf-8")
    assert old in text
    facts.write_text(text.replace(old, new), encoding="utf-8")
    (tmp_path / "study").mkdir()
    done = trees.snakemake(broken, tmp_path / "study", STUDY, "--dry-run")
    assert done.returncode != 0 and said in done.stdout + done.stderr


def test_another_frameworks_arm_cannot_have_its_setting(tree, tmp_path):
    arms = STUDY["finetuning"]["arms"] | {"other": {"framework": "huggingface", "share": 0.5}}
    arms["other"] |= {"model": "checkpoint", "init": "pretrained"}
    given = studies.merged(STUDY, {"finetuning": {"arms": arms}})
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    code = "import sys; from study.configuration import load_study; load_study(*sys.argv[1:])"
    done = trees.python(tree, ["-c", code, str(tree), str(tmp_path / "other.yaml")])
    assert "finetuning.arms.other.share is for arms of nearest; take it out" in done.stderr
