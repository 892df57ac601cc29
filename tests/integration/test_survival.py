"""The workflow killed, started twice, and on a disk that fills up."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import fault_injection, studies

# The selected epoch's weights are kept and no others, as in a study that does not say otherwise.
ONE_CHECKPOINT = {"finetuning": {"evaluation": {"test_curves": False}}}

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.long
def test_a_killed_workflow_ends_as_if_never_killed(tmp_path):
    study = studies.write_study(tmp_path / "study.yaml", ONE_CHECKPOINT)
    made = fault_injection.survive(study, kills=2, seed=1, cores=2, folder=str(tmp_path), boundaries=2)
    assert sorted(kind for kind, *_ in made) == ["boundary", "boundary", "random", "random"]
    # Only the selected weights of each run are left, and no job is due for that.
    runs = list((tmp_path / "disturbed" / "results" / "tiny" / "finetuning").glob("*/seed1"))
    assert len(runs) == 3
    for run_folder in runs:
        assert (run_folder / "selected").is_dir() and not (run_folder / "checkpoints").exists()
    assert studies.plan(tmp_path / "disturbed", study=study) == {}


# ---- Two at once -----------------------------------------------------------------------------------------------------


def run(folder, study, *targets):
    """Run the workflow plainly; return its exit status and output."""
    done = studies.snakemake(folder, "--", *targets, study=study, cores=1, profile=None, timeout=900)
    return done.returncode, done.output


def test_the_second_on_a_study_leaves_and_another_study_runs(tmp_path):
    study = studies.write_study(tmp_path / "study.yaml")
    other = studies.write_study(tmp_path / "other.yaml", {"study": "other"})
    splits = "results/{}/data/manifest.json"
    first = fault_injection.Workflow(
        studies.command(tmp_path, study=study, cores=1, profile=None), tmp_path / "first.log"
    )
    lock = tmp_path / "results" / "tiny" / ".lock"
    try:
        # So that the others find it at work for as long as they need.
        assert first.wait_until(lambda: lock.exists() and lock.stat().st_size), first.output().decode()
        os.kill(first.process.pid, signal.SIGSTOP)
        status, output = run(tmp_path, study, splits.format("tiny"))
        assert status != 0 and "Traceback" not in output
        assert f"another workflow is using results/tiny (process {first.process.pid} on " in output
        # A look at the plan disturbs nobody.
        assert studies.plan(tmp_path, "--rerun-incomplete", study=study)
        status, output = run(tmp_path, other, splits.format("other"))
        assert status == 0, output
        assert (tmp_path / "results" / "other" / "data" / "manifest.json").exists()
    finally:
        first.kill()
    # Killed, it holds nothing: the same command works.
    status, output = run(tmp_path, study, splits.format("tiny"))
    assert status == 0, output


# ---- A full disk -----------------------------------------------------------------------------------------------------


def test_a_full_disk_is_named_and_on_a_larger_one_the_study_goes_on(tmp_path):
    """In a mount namespace of its own (this very test, started again there)."""
    own, reason = studies.own_mounts()
    if own is None:
        pytest.skip(reason)
    done = subprocess.run(
        [*own, sys.executable, os.path.abspath(__file__), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=studies.importing("tests", "scripts"),
        check=False,
    )
    assert done.returncode == 0, done.stdout


def fill_the_disk(folder):
    """Fill a disk under a running study, and enlarge it; run by the test above where mounts are its own.

    As far as the converted checkpoint, to save time: every rule writes by the same functions.
    """
    disk = Path(folder) / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", disk], check=True)
    study = studies.write_study(Path(folder) / "study.yaml", ONE_CHECKPOINT)
    results, ballast, target = disk / "results" / "tiny", disk / "ballast", "results/tiny/checkpoint/huggingface"
    words = studies.command(disk, "--", target, study=study, profile=None)
    workflow = fault_injection.Workflow(words, Path(folder) / "full.log")
    # Somebody else's data, while the study trains.
    assert workflow.wait_until(lambda: (results / "checkpoint" / "model.pt").exists()), workflow.output().decode()
    with open(ballast, "wb", buffering=0) as handle:
        while workflow.process.poll() is None:
            try:
                handle.write(b"\0" * 4096)
            except OSError:
                time.sleep(0.05)
    output = workflow.output().decode()
    print(output[-6000:])
    assert workflow.process.returncode != 0
    assert "the disk that holds results/tiny is full: free some space and run again" in output or (
        "the disk is full: results/tiny/" in output
    )
    assert not (disk / target).exists()
    # Still full: refused before anything is tried.
    status, output = run(disk, study, target)
    print(output[-3000:])
    assert status != 0 and "free: free some space" in output
    # Type and source named: with the folder alone, mount adds options that only root may set again.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "remount,size=60m", "tmpfs", disk], check=True)
    status, output = run(disk, study, target)
    print(output[-6000:])
    assert status == 0 and (disk / target / "model.safetensors").stat().st_size > 90_000
    assert not [path for path in results.rglob("*") if path.name.startswith((".part-", ".run-"))]


if __name__ == "__main__":
    fill_the_disk(sys.argv[1])
