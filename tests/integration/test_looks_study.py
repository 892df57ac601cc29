"""A study with looks: one question is decided at the first, another trains on; killed between, here and on Slurm."""

import os
import re
import signal
import subprocess
import time
from types import SimpleNamespace

import pytest

from common.files import read_tsv, sha256
from support import slurm_cluster, studies

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

ARM = {"framework": "huggingface", "model": "checkpoint", "init": "random"}
CHANGES = {
    "questions": [
        # Arms that learn next to nothing: equal within so much at once.
        {"ask": "Do both rates do alike?", "compare": ["slow", "slower"], "equal_within": 90},
        {"ask": "Is one of them better than a constant?", "compare": ["slow", "majority"]},
    ],
    "finetuning": {
        "seeds": {"looks": [3, 4, 5]},
        "arms": {"slow": ARM | {"training": {"lr": 1e-6}}, "slower": ARM | {"training": {"lr": 1e-7}}},
        "training": {"epochs": 1},
        "evaluation": {"test_curves": False},
    },
}
FIRST_RUNS = [(arm, seed) for arm in ("slow", "slower") for seed in (1, 2, 3)]
RUNS = [*FIRST_RUNS, ("slow", 4), ("slow", 5)]


def trained(folder):
    """The runs that are finished: {(arm, seed): time of their record}."""
    paths = (folder / "results/tiny/finetuning").glob("slow*/seed*/run.json")
    return {(path.parts[-3], int(path.parts[-2].removeprefix("seed"))): path.stat().st_mtime_ns for path in paths}


def killed_after_the_first_look(words, log, folder, environment=None):
    """Start a study, and kill all of it once the first look is there."""
    with open(log, "w") as handle:
        process = subprocess.Popen(words, stdout=handle, stderr=handle, start_new_session=True, env=environment)
    try:
        while not (folder / "results/tiny/looks/look1.tsv").exists():
            assert process.poll() is None, log.read_text()[-5000:]
            time.sleep(0.1)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("looked")
    study = studies.write_study(folder / "study.yaml", CHANGES)
    killed_after_the_first_look(studies.warm_command(folder, "--nolock", study=study), folder / "first.log", folder)
    before = trained(folder)
    done = studies.snakemake(folder, "--nolock", "--rerun-incomplete", "--quiet", "host", study=study)
    assert done.returncode == 0, done.output[-5000:]
    return SimpleNamespace(folder=folder, study=study, before=before, output=done.output)


def test_a_look_decides_one_question_and_the_other_trains_on(looked):
    rows = read_tsv(looked.folder / "results/tiny/questions.tsv")
    assert [(row["answer"], row["look"], row["n_seeds"], row["n_seeds_each"]) for row in rows] == [
        ("equal", "1", "3", "3 3"),
        ("open", "3", "5", "5 -"),
    ]
    assert set(trained(looked.folder)) == set(RUNS)
    assert [(row["look"], row["answer"]) for row in read_tsv(looked.folder / "results/tiny/looks.tsv")] == [
        *(("1", "equal"), ("1", "open"), ("2", "open"), ("3", "open")),
    ]
    # The last look is that of the answers: only what may train further is a table of its own.
    assert sorted(path.name for path in (looked.folder / "results/tiny/looks").iterdir()) == ["look1.tsv", "look2.tsv"]
    saved = {row["arm"]: row for row in read_tsv(looked.folder / "results/tiny/looks_saved.tsv")}
    assert (saved["slow"]["n_saved"], saved["slower"]["n_saved"]) == ("0", "2")
    runs = [row for row in read_tsv(looked.folder / "results/tiny/runs.tsv") if row["arm"] == "slower"]
    mean = sum(float(row["train_seconds"]) for row in runs) / 3
    assert float(saved["slower"]["seconds_saved"]) == pytest.approx(2 * mean)


def test_a_kill_between_looks_trains_nothing_twice(looked):
    assert set(FIRST_RUNS) <= set(looked.before)
    after = trained(looked.folder)
    assert {run: after[run] for run in looked.before} == looked.before
    again = re.findall(r"output: results/tiny/finetuning/(\w+)/seed(\d+)/", looked.output)
    assert not {(arm, int(seed)) for arm, seed in again} & set(FIRST_RUNS)


def test_a_finished_study_plans_nothing(looked):
    done = studies.snakemake(looked.folder, "--dry-run", study=looked.study)
    assert done.returncode == 0 and "Nothing to be done" in done.output, done.output[-3000:]


def test_the_page_says_when_a_question_was_decided_and_what_that_saved(looked):
    page = (looked.folder / "results/tiny/report.html").read_text(encoding="utf-8")
    words = re.sub(r"\s+", " ", re.sub("<[^>]*>", "", page)).replace("\N{NO-BREAK SPACE}", " ")
    # The share of a look is 0.04 / 3.
    assert "Decided at look 1, with 3 seeds of each arm: its p is compared with 0.013, the look’s share." in words
    assert "Not settled at the last look, look 3, with 5 seeds of each arm" in words
    assert "that saved 2 of 10 runs" in words and "Runs of the settings that have no result here" not in words


@pytest.mark.slow
@pytest.mark.skipif(bool(slurm_cluster.missing()), reason=f"no {', '.join(slurm_cluster.missing())}")
def test_the_same_on_slurm(looked, tmp_path):
    study = studies.write_study(tmp_path / "study.yaml", CHANGES)
    options = ["--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1"]
    words = studies.warm_command(tmp_path, *options, study=study, profile="slurm")
    with slurm_cluster.cluster() as cluster:
        killed_after_the_first_look(words, tmp_path / "first.log", tmp_path, cluster.environment)
        before, jobs = trained(tmp_path), {job["JobId"] for job in cluster.jobs()}
        done = subprocess.run(
            words, env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900
        )
        assert done.returncode == 0, done.stdout[-5000:]
        comments = [job["Comment"] for job in cluster.jobs() if job["JobId"] not in jobs]
    assert not [comment for comment in comments if re.search(r"finetune.*_slow(er)?_[123]$", comment)]
    after = trained(tmp_path)
    assert set(after) == set(RUNS) and {run: after[run] for run in before} == before
    for arm, seed in RUNS:
        name = f"results/tiny/predictions/{arm}/seed{seed}.tsv"
        assert sha256(tmp_path / name) == sha256(looked.folder / name)
    answers = [read_tsv(folder / "results/tiny/looks.tsv") for folder in (tmp_path, looked.folder)]
    assert answers[0] == answers[1]
