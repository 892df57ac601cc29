"""Jobs of `framework: command`: killed in the middle, in a conda environment of the arm, and on a Slurm cluster."""

import os
import pathlib
import re
import shutil
import time

import numpy as np
import psutil
import pytest
from sklearn.metrics import f1_score

from common.files import read_json, read_tsv
from support import conda, fault_injection, slurm_cluster, studies

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]

# A trainer that takes its time once, where a file asks it to, and says where it runs.
TRAINER = """
import json, os, sys, time
if sys.argv[1] == "train":
    os.makedirs(sys.argv[4])
    with open(os.path.join(sys.argv[4], "first-half"), "w") as file:
        file.write(sys.argv[3])
    if os.path.exists(os.environ.get("WAIT", "")):
        with open(os.environ["WAIT"], "w") as file:
            file.write(f"{os.getpid()} {os.getcwd()}")
        time.sleep(600)
    where = {"prefix": sys.prefix, "threads": os.environ["OMP_NUM_THREADS"], "told": sys.argv[5]}
    with open(os.path.join(sys.argv[4], "second-half"), "w") as file:
        json.dump(where | {"labels": [json.loads(line)["label"] for line in open(sys.argv[2])]}, file)
else:
    with open(os.path.join(sys.argv[2], "second-half")) as file:
        labels = json.load(file)["labels"]
    with open(sys.argv[4], "w") as out:
        for line in open(sys.argv[3]):
            row = json.loads(line)
            out.write(json.dumps({"id": row["id"], "prediction": labels[len(row["text"]) % len(labels)]}) + "\\n")
"""
ARM = {
    "framework": "command",
    "train": "python trainer.py train {train} {seed} {out} {threads}",
    "predict": "python trainer.py predict {model} {texts} {predictions}",
}
STUDY = {
    "study": "jobs",
    "data": {
        "source": "table",
        "labels": ["no", "yes"],
        "table": {"train": "train.csv", "test": "test.csv", "text": "text", "label": "label"},
        "n_train": None,
        "n_valid": 8,
    },
    "finetuning": {"seeds": [1, 2], "baselines": ["majority"]},
    "questions": [],
    "qa": {"enabled": False},
}
RUNS, MODEL = "results/jobs/runs.tsv", "results/jobs/finetuning/own/seed1/model/model"


def write(folder, arm=None):
    """Write the tables, the trainer and the study; return the study's file."""
    folder.mkdir(exist_ok=True)
    for split, n in (("train", 40), ("test", 20)):
        rows = "".join(f"{split} {'text ' * (k % 5)}{k},{('no', 'yes')[k % 2]}\n" for k in range(n))
        (folder / f"{split}.csv").write_text(f"text,label\n{rows}")
    (folder / "trainer.py").write_text(TRAINER)
    arms = {"own": ARM | (arm or {})}
    return studies.write_study(folder / "study.yaml", base=studies.merged(STUDY, {"finetuning": {"arms": arms}}))


def test_sets_of_labels_led_by_another_measure_are_learnt_answered_and_on_the_page(tmp_path):
    folder, names = tmp_path / "study", ["bon", "long"]
    write(folder)
    sets = ["bon|long", "", "long", "bon"]
    for split, n in (("train", 40), ("test", 20)):
        rows = "".join(f"{split} {'text ' * (k % 5)}{k},{sets[k % 4]}\n" for k in range(n))
        (folder / f"{split}.csv").write_text(f"text,label\n{rows}")
    # Right but for every fifth text.
    rows = "".join(f"{k}\t{sets[(k + (k % 5 == 0)) % 4]}\n" for k in range(20))
    (folder / "theirs.tsv").write_text(f"id\tprediction\n{rows}")
    arms = {"own": ARM, "given": {"framework": "predictions", "predictions": "theirs.tsv", "fixed": True}}
    changes = {
        "measure": "micro_f1",
        "data": {"task": "multilabel", "labels": names},
        "finetuning": {"arms": arms, "baselines": ["commonest"]},
        "questions": [{"ask": "Are they better?", "compare": ["given", "own"]}],
    }
    study = studies.write_study(folder / "study.yaml", base=studies.merged(STUDY, changes))
    done = studies.snakemake(folder, study=study)
    assert done.returncode == 0, done.output[-5000:]
    results = folder / "results" / "jobs"
    for row in read_tsv(results / "runs.tsv"):
        path = results / "predictions" / row["arm"] / f"seed{row['seed']}.tsv"
        labels, answers = (
            np.array([list(map(int, one[name])) for one in read_tsv(path)]) for name in ("label", "prediction")
        )
        assert float(row["test_score"]) == pytest.approx(f1_score(labels, answers, average="micro"), abs=1e-12)
        assert float(row["test_accuracy"]) == (labels == answers).all(axis=1).mean()
        assert (row["valid_score"] == "") == (row["arm"] == "given")
    (asked,) = read_tsv(results / "questions.tsv")
    assert asked["measure"] == "micro_f1" and float(asked["score_difference"]) > 0
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "Are they better?" in page and "Each label on test" in page and "micro-F1" in page


def test_a_run_killed_in_the_middle_is_done_again_from_its_beginning(tmp_path, monkeypatch):
    wait = tmp_path / "wait"
    wait.touch()
    monkeypatch.setenv("WAIT", str(wait))
    folder = tmp_path / "killed"
    study = write(folder)
    words = studies.command(folder, "--", RUNS, study=study, cores=1, profile=None)
    workflow = fault_injection.Workflow(words, tmp_path / "first.log")
    try:
        assert workflow.wait_until(lambda: wait.read_text()), workflow.output().decode()
        number, place = wait.read_text().split(" ", 1)
        assert os.path.exists(os.path.join(place, "model", "first-half"))
        # The job alone: what it started has to end with it.
        psutil.Process(int(number)).parent().kill()
        workflow.process.wait(120)
    finally:
        workflow.kill()
    for _ in range(100):
        if not psutil.pid_exists(int(number)) or psutil.Process(int(number)).status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("the command goes on")
    assert workflow.process.returncode
    # Nothing of the half model is in the results.
    assert not list((folder / "results").rglob("first-half"))
    finetuned = folder / "results" / "jobs" / "finetuning" / "own" / "seed1"
    assert not (finetuned / "model").exists() and not (finetuned / "run.json").exists()
    shutil.rmtree(place, ignore_errors=True)
    wait.unlink()
    done = studies.snakemake(folder, RUNS, study=study, cores=1)
    assert done.returncode == 0, done.output
    assert (folder / MODEL / "first-half").read_text() == "1"
    # The seed changes nothing that this trainer answers, and the other run was not disturbed.
    predictions = [folder / "results" / "jobs" / "predictions" / "own" / f"seed{seed}.tsv" for seed in (1, 2)]
    assert predictions[0].read_bytes() == predictions[1].read_bytes()
    runs = read_tsv(folder / RUNS)
    assert [(row["seed"], row["best_epoch"], row["n_train"]) for row in runs] == [("1", "1", "32"), ("2", "1", "32")]


def test_an_arm_runs_in_the_conda_environment_that_it_names(tmp_path):
    folder = tmp_path / "study"
    study = write(folder, {"conda": "own.yaml", "version": 'python -c "import sys; print(sys.prefix)"'})
    plain = pathlib.Path(studies.ROOT, "envs", "data.yaml").read_text(encoding="utf-8")
    # Another file, so another environment than that of the other jobs.
    (folder / "own.yaml").write_text(plain.replace("# Written by", "# Of the arm: written by"), encoding="utf-8")
    tool = conda.install(tmp_path / "conda")
    environment = os.environ | {"PATH": f"{tool}{os.pathsep}{os.environ['PATH']}"}
    target = "results/jobs/predictions/own/seed1.tsv"
    done = studies.snakemake(folder, "--sdm", "conda", "--", target, study=study, env=environment)
    assert done.returncode == 0, done.output[-5000:]
    prefixes = list((folder / ".snakemake" / "conda").glob("*/bin/python"))
    assert len(prefixes) == 2
    record = read_json((folder / MODEL).parents[1] / "run.json")
    where = record["command"]["version_output"]
    assert where == read_json(folder / MODEL / "second-half")["prefix"]
    # Training and prediction are in that environment; the splits and the joining of labels are in the other.
    activated = re.findall(r"Activating conda environment: (\S+)", done.output)
    assert 0 < activated.count(os.path.relpath(where, folder)) == len(activated) / 2


@pytest.mark.skipif(bool(slurm_cluster.missing()), reason=f"no {', '.join(slurm_cluster.missing())}")
def test_slurm_gives_an_arms_jobs_what_the_arm_asks_for(tmp_path):
    folder = tmp_path / "study"
    study = write(folder, {"threads": 2, "mem_mb": 1234, "gpu": 1, "hours": 0.5})
    with slurm_cluster.cluster() as cluster:
        options = ["--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1"]
        done = studies.snakemake(folder, *options, "--", RUNS, study=study, profile="slurm", env=cluster.environment)
        jobs = [job for job in cluster.jobs() if re.search("(finetune|evaluate)_command", job["Comment"])]
    assert done.returncode == 0, done.output[-5000:]
    assert len(jobs) == 4 and {job["JobState"] for job in jobs} == {"COMPLETED"}
    for job in jobs:
        # Half an hour, and five minutes for what is around the command.
        assert (job["NumCPUs"], job["TimeLimit"], job["TresPerJob"]) == ("2", "00:35:00", "gres:gpu:1")
        assert "mem=1234M" in job["TRES"]
    where = read_json(folder / MODEL / "second-half")
    assert (where["threads"], where["told"]) == ("2", "2")
