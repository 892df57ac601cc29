"""profiles/generic with a submit command that stands for a scheduler: it notes what is asked for and runs the job."""

import os

import pytest

from support import studies

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

# Below 3000 MB the job gets so little memory that Python cannot start: an out-of-memory kill as a job script sees it.
SBATCH = """#!/bin/sh
echo "$@" >> "{folder}/submitted.txt"
for script; do :; done
case " $* " in *" --mem=2000 "*) limit=20000 ;; *) limit=unlimited ;; esac
( ulimit -v $limit; exec sh "$script" ) > /dev/null 2>&1 &
echo $!
"""


def test_jobs_are_submitted_with_their_resources_and_again_with_more(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sbatch").write_text(SBATCH.format(folder=tmp_path))
    (tmp_path / "bin" / "sbatch").chmod(0o755)
    study = studies.write_study(tmp_path / "study.yaml")
    environment = os.environ | {"PATH": f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"}
    words = ["--latency-wait", "3", "--seconds-between-status-checks", "1", "--set-resources", "build_corpus:gpu=1"]
    target = "results/tiny/checkpoint/corpus/train.txt"
    done = studies.snakemake(
        tmp_path, *words, "--", target, study=study, profile="generic", timeout=500, env=environment
    )
    assert done.returncode == 0, done.output[-5000:]
    assert (tmp_path / "results" / "tiny" / "checkpoint" / "corpus" / "train.txt").stat().st_size

    asked = [
        {key: word.partition("=")[2] for word in line.split() for key in [word.partition("=")[0]] if "=" in word}
        for line in (tmp_path / "submitted.txt").read_text().splitlines()
    ]
    names = ("--job-name", "--cpus-per-task", "--mem", "--time", "--gpus")
    # Both declare 2000 MB and 15 minutes; their second attempts have twice both.
    assert [tuple(line[name] for name in names) for line in asked] == [
        ("build_splits", "1", "2000", "15", "0"),
        ("build_splits", "1", "4000", "30", "0"),
        ("build_corpus", "1", "2000", "15", "1"),
        ("build_corpus", "1", "4000", "30", "1"),
    ]
