"""One study in which a command, given predictions, a probe and a fine-tuned arm are asked about, on one page."""

import json
import pathlib
import shutil
import sys

import pytest

from common.files import read_json, read_lines, read_tsv
from support import studies

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

# The example of docs/guides/other-trainers.md.
TRAINER = pathlib.Path(studies.ROOT, "docs", "examples", "sklearn_arm.py").read_text(encoding="utf-8")
ARMS = {
    "tuned": {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"},
    "command": {
        "framework": "command",
        "train": f"{sys.executable} trainer.py train {{train}} {{seed}} {{out}}",
        "predict": f"{sys.executable} trainer.py predict {{model}} {{texts}} {{predictions}}",
        "version": f"{sys.executable} -c 'import sklearn; print(sklearn.__version__)'",
    },
    "probe": {"framework": "linear", "model": "checkpoint", "init": "pretrained", "features": "mean"},
    "given": {"framework": "predictions", "predictions": "given/{seed}.tsv"},
    "table": {"framework": "predictions", "predictions": "wide.csv", "valid_predictions": "valid.jsonl"},
}
STUDY = {
    "study": "trainers",
    "finetuning": {"seeds": [1, 2], "arms": ARMS},
    "questions": [
        {"ask": "Does the command differ from fine-tuning?", "compare": ["command", "tuned"]},
        {"ask": "Does the probe differ from the given predictions?", "compare": ["probe", "given"]},
        {"ask": "Is the table within 40 points of the command?", "compare": ["table", "command"], "equal_within": 40},
    ],
}
CLASSES = ("negative", "positive")


def answered(place, seed):
    """A class for a test text: another tool's answer, which only the seed and the place decide."""
    return CLASSES[(place * place + seed) % 3 % 2]


def write_inputs(folder):
    (folder / "trainer.py").write_text(TRAINER, encoding="utf-8")
    (folder / "given").mkdir()
    for seed in (1, 2):
        rows = [f"{place}\t{answered(place, seed)}\n" for place in reversed(range(30))]
        (folder / "given" / f"{seed}.tsv").write_text("id\tprediction\n" + "".join(rows), encoding="utf-8")
    rows = [f"{place},{answered(place, 1)},{answered(place, 2)}\n" for place in range(30)]
    (folder / "wide.csv").write_text("id,seed1,seed2\n" + "".join(rows), encoding="utf-8")
    rows = [{"id": place, "seed": seed, "prediction": "positive"} for place in range(20) for seed in (1, 2)]
    (folder / "valid.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The working folder of the finished study."""
    folder = tmp_path_factory.mktemp("trainers")
    write_inputs(folder)
    done = studies.snakemake(folder, study=studies.write_study(folder / "study.yaml", STUDY))
    assert done.returncode == 0, done.output
    return folder


def test_all_arms_are_runs_and_answered(folder):
    results = folder / "results" / "trainers"
    runs = read_tsv(results / "runs.tsv")
    assert [(row["arm"], row["seed"]) for row in runs] == [(arm, seed) for arm in sorted(ARMS) for seed in "12"]
    labels = read_lines(results / "data" / "test.label")
    for row in runs:
        if row["framework"] == "predictions":
            given = [str(CLASSES.index(answered(place, int(row["seed"])))) for place in range(30)]
            assert int(row["n_correct_test"]) == sum(a == b for a, b in zip(given, labels, strict=True))
    # Nothing is claimed of validation and training that nobody saw.
    assert {row["valid_accuracy"] for row in runs if row["arm"] == "given"} == {""}
    assert {row["train_seconds"] for row in runs if row["arm"] in ("given", "table")} == {""}
    valid = read_lines(results / "data" / "valid.label")
    assert {row["valid_accuracy"] for row in runs if row["arm"] == "table"} == {str(valid.count("1") / 20)}
    # No seed changes a probe.
    first, second = ((results / "predictions" / "probe" / f"seed{seed}.tsv").read_bytes() for seed in (1, 2))
    assert first == second
    assert len(read_tsv(results / "questions.tsv")) == 3
    assert {row["arm"] for row in read_tsv(results / "learned.tsv")} == ARMS.keys() - {"given"}
    assert {row["arm"] for row in read_tsv(results / "overfitting" / "runs.tsv")} == {"tuned"}


def test_records_have_commands_versions_and_hashes(folder):
    finetuning = folder / "results" / "trainers" / "finetuning"
    record = read_json(finetuning / "command" / "seed2" / "run.json")
    assert record["command"]["train"] == ARMS["command"]["train"] and record["command"]["version_output"][0].isdigit()
    assert "trainer.py" in record["files"] and len(record["files"]["trainer.py"]) == 64
    assert list(read_json(finetuning / "given" / "seed2" / "run.json")["files"]) == ["given/2.tsv"]
    assert read_json(finetuning / "probe" / "seed1" / "run.json")["C"] > 0


def test_the_page_says_what_was_not_seen(folder):
    page = (folder / "results" / "trainers" / "report.html").read_text(encoding="utf-8")
    assert "saw nothing of their training" in page and "by commands of the study file" in page
    assert all(f">{arm}<" in page for arm in ARMS)


def test_only_what_an_edit_touches_is_planned(folder, tmp_path):
    copy = pathlib.Path(shutil.copytree(folder, tmp_path / "copy", symlinks=True))
    study = str(copy / "study.yaml")
    assert studies.plan(copy, study=study) == {}
    (copy / "given" / "2.tsv").write_text((copy / "given" / "1.tsv").read_text(encoding="utf-8"), encoding="utf-8")
    planned = studies.plan(copy, study=study)
    assert planned["finetune_predictions"] == 1 and not {"finetune_command", "fit_probe"} & planned.keys()
    with open(copy / "trainer.py", "a", encoding="utf-8") as file:
        file.write("# Edited.\n")
    assert studies.plan(copy, study=study)["finetune_command"] == 2
    moved = studies.merged(STUDY, {"finetuning": {"arms": {"command": {"hours": 1, "threads": 2, "mem_mb": 500}}}})
    moved = studies.write_study(copy / "moved.yaml", moved)
    with open(copy / "trainer.py", "w", encoding="utf-8") as file:
        file.write(TRAINER)
    # Where a job runs changes no result.
    assert "finetune_command" not in studies.plan(copy, study=moved)
