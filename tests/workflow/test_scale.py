"""Many seeds: what planning costs as they grow, and how few Slurm jobs they become. Nothing is run."""

import os
import pstats
import subprocess
import sys

import pytest

import studies

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]


def hashes(folder, n_seeds):
    """Return how often a dry run of so many seeds hashes the path of a file."""
    study = studies.write_study(folder / f"{n_seeds}.yaml", {"sentiment": {"seeds": list(range(1, n_seeds + 1))}})
    profile = folder / f"{n_seeds}.profile"
    command = [sys.executable, "-m", "cProfile", "-o", str(profile), "-m", "snakemake", "--quiet", "all", "--dry-run"]
    command += ["--snakefile", os.path.join(studies.ROOT, "Snakefile"), "--configfile", study]
    command += ["--directory", str(folder), "--cores", "1", "--workflow-profile", "none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    calls = pstats.Stats(str(profile)).stats
    return sum(entry[0] for (file, _, name), entry in calls.items() if name == "__hash__" and "snakemake" in file)


def test_planning_grows_in_proportion_to_the_seeds(tmp_path):
    few, many = hashes(tmp_path, 40), hashes(tmp_path, 80)
    # Twice at most, since much does not depend on the seeds; with their square it was 2.7 times.
    assert 1.2 < many / few < 2.1


def test_four_runs_are_evaluated_in_one_slurm_job(tmp_path):
    # 3 arms of 3 seeds are 9 runs: groups of 4, 4 and 1.
    study = studies.write_study(
        tmp_path / "study.yaml", {"sentiment": {"seeds": [1, 2, 3], "evaluation": {"test_curves": False}}}
    )
    command = [sys.executable, "-m", "snakemake", "--snakefile", os.path.join(studies.ROOT, "Snakefile"), "--dry-run"]
    command += ["--configfile", study, "--directory", str(tmp_path)]
    command += ["--workflow-profile", os.path.join(studies.ROOT, "profiles", "slurm")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = done.stdout + done.stderr
    groups = {name: found.count(f"Group job {name} ") for name in ("data", "evaluation", "parity")}
    assert groups == {"data": 1, "evaluation": 3, "parity": 1}
