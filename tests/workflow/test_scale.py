"""Many seeds: what planning costs as they grow, and how few Slurm jobs they become. Nothing is run."""

import pathlib
import pstats
import re
import subprocess
import sys

import pytest
import yaml

from support import studies

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]


def hashes(folder, n_seeds, **finetuning):
    """Return how often a dry run of so many seeds hashes the path of a file."""
    finetuning |= {"seeds": list(range(1, n_seeds + 1))}
    several = finetuning["seeds"] if "checkpoint" in finetuning["vary"] else None
    changes = {"finetuning": finetuning, "checkpoint": {"pretraining": {"seeds": several}}}
    study = studies.write_study(folder / f"{n_seeds}.yaml", changes)
    profile = folder / f"{n_seeds}.profile"
    words = studies.command(folder, "--quiet", "all", "--dry-run", study=study, cores=1)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "cProfile", "-o", str(profile), *words], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    calls = pstats.Stats(str(profile)).stats
    return sum(entry[0] for (file, _, name), entry in calls.items() if name == "__hash__" and "snakemake" in file)


OWN = ["initialisation", "order"]


@pytest.mark.parametrize(
    "vary", [OWN, [*OWN, "split"], [*OWN, "checkpoint"]], ids=["one split", "own splits", "own checkpoints"]
)
def test_planning_grows_in_proportion_to_the_seeds(tmp_path, vary):
    few, many = hashes(tmp_path, 5, vary=vary), hashes(tmp_path, 40, vary=vary)
    # Eight times at most, and 5.7 since much does not depend on the seeds; 10.1 where one rule grew with their square.
    assert 1.2 < many / few < 8


def test_four_runs_are_evaluated_in_one_slurm_job(tmp_path):
    # 3 arms of 3 seeds are 9 runs: groups of 4, 4 and 1.
    changes = {"finetuning": {"seeds": [1, 2, 3], "evaluation": {"test_curves": False}}}
    study = studies.write_study(tmp_path / "study.yaml", changes)
    done = studies.snakemake(tmp_path, "--dry-run", study=study, profile="slurm")
    assert done.returncode == 0, done.output
    groups = {name: done.output.count(f"Group job {name} ") for name in ("data", "evaluation", "parity")}
    assert groups == {"data": 1, "evaluation": 3, "parity": 1}


@pytest.mark.parametrize("name", ["lab", "open", "stars"])
def test_no_group_of_slurm_waits_for_a_job_between_its_own(tmp_path, name):
    """Snakemake refuses a group one of whose jobs needs a job outside that needs another of the group."""
    done = studies.snakemake(tmp_path, "--dry-run", study=f"{studies.ROOT}/studies/{name}.yaml", profile="slurm")
    assert done.returncode == 0, done.output[-3000:]


def rules():
    """Return {rule: its text} of every rule that is written out."""
    texts = (path.read_text(encoding="utf-8") for path in pathlib.Path(studies.ROOT, "rules").rglob("*.smk"))
    parts = (part for text in texts for part in re.split(r"^ *rule (?=\w+:)", text, flags=re.MULTILINE)[1:])
    return {part.partition(":")[0]: part for part in parts}


# Those that the profiles' 1000 MB and ten minutes do for, whatever the study: they copy or write files piece by piece.
SMALL = {
    "mem_mb": {"copy_checkpoint", "extract_checkpoint", "convert_tokenizer", "select_checkpoint"},
    "runtime": {"convert_tokenizer", "select_checkpoint"},
}


@pytest.mark.parametrize("resource", SMALL)
def test_what_grows_with_a_study_asks_the_scheduler_for_its_share(resource):
    local = re.compile(r"localrule: True|envs/report\.yaml")
    sent = {name: text for name, text in rules().items() if "script:" in text and not local.search(text)}
    assert len(sent) > 25
    assert {name for name, text in sent.items() if not re.search(rf"^ +{resource}=", text, re.MULTILINE)} == SMALL[
        resource
    ]


@pytest.mark.parametrize("profile", ["generic", "slurm"])
def test_what_can_use_a_gpu_gets_one_from_both_profiles(profile):
    root = pathlib.Path(studies.ROOT)
    able = {name for name, text in rules().items() if re.search(r"^ +gpu=GPU,", text, re.MULTILINE)}
    texts = "".join(path.read_text(encoding="utf-8") for path in (root / "rules").rglob("*.smk"))
    able |= {name for first, name in re.findall(r"\buse rule (\w+) as (\w+) with:", texts) if first in able}
    asked = yaml.safe_load((root / "profiles" / profile / "config.yaml").read_text(encoding="utf-8"))["set-resources"]
    assert len(able) >= 6 and {name for name, of in asked.items() if of.get("gpu") == 1} == able
