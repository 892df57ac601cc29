"""A remote executor whose jobs share no files with the machine that submits them, as Kubernetes' pods and a cloud's do.

The generic executor stands for those: each job starts in an empty folder and gets code and data from object storage, a
local server of the S3 protocol.
"""

import os
import shutil
import subprocess
import sys

import boto3
import pytest
from moto.server import ThreadedMotoServer

from support import studies

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1200)]

BUCKET = "pods"  # of its own: the servers of one process share their objects
TARGET = "results/tiny/checkpoint/sentencepiece.bpe.model"
# A job's own machine: nothing of the submitter's folder, neither its home.
SUBMIT = """#!/bin/sh
for script; do :; done
place=$(mktemp -d {folder}/pod-XXXXXX)
cp "$script" $place/job.sh
mkdir $place/home $place/work
( cd $place/work && HOME=$place/home sh ../job.sh > ../log 2>&1; echo $? > ../status ) > /dev/null 2>&1 &
echo $place
"""
STATUS = """#!/bin/sh
[ -e "$1/status" ] || { echo running; exit; }
[ "$(cat "$1/status")" = 0 ] && echo success || echo failed
"""


@pytest.fixture
def bucket():
    """A bucket on a server of this machine, with the environment in which Snakemake finds it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        variables = {"ENDPOINT_URL": f"http://{host}:{port}", "ACCESS_KEY": "key", "SECRET_KEY": "secret"}
        for name, value in variables.items():
            patch.setenv(f"SNAKEMAKE_STORAGE_S3_{name}", value)
        for name in ("NO_PROXY", "no_proxy"):
            patch.setenv(name, host)
        keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
        yield boto3.resource("s3", endpoint_url=variables["ENDPOINT_URL"], **keys).Bucket(BUCKET)
    server.stop()


def clone(folder):
    """A clone of the project as it is here, what is not committed too."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=studies.ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if os.path.exists(os.path.join(studies.ROOT, name)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(os.path.join(studies.ROOT, name), folder / name)
    author = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "--quiet"], ["add", "--all"], [*author, "commit", "--quiet", "--message", "clone"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def test_jobs_get_code_and_data_from_the_bucket(bucket, tmp_path):
    folder = clone(tmp_path / "clone")
    studies.write_study(folder / "tiny.yaml")
    for name, text in (("submit", SUBMIT), ("status", STATUS)):
        (tmp_path / name).write_text(text.replace("{folder}", str(tmp_path)))
        (tmp_path / name).chmod(0o755)
    words = [sys.executable, "-m", "snakemake", "--configfile", "tiny.yaml", "--workflow-profile", "none"]
    words += ["--executor", "cluster-generic", "--jobs", "2", "--shared-fs-usage", "none", "--job-deploy-sources"]
    words += ["--seconds-between-status-checks", "1"]
    words += [f"--cluster-generic-{name}-cmd={tmp_path / name}" for name in ("submit", "status")]
    words += ["--profile", "profiles/s3", "--default-storage-prefix", f"s3://{BUCKET}/tiny", "--", TARGET]
    # Jobs start `python`.
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        words, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=900, check=False
    )
    logs = [path.read_text() for path in tmp_path.glob("pod-*/log")]
    assert done.returncode == 0, "\n".join([done.stderr[-3000:], *(log[-3000:] for log in logs)])
    assert len(logs) == 3  # splits, corpus, pieces
    # No job can ask git there.
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert all(f"STUDY_COMMIT='{commit.strip()}'" in path.read_text() for path in tmp_path.glob("pod-*/job.sh"))
    left = {path.name for path in (folder / "results").rglob("*") if path.is_file()}
    assert left <= {".lock", ".jobs", "questions.json", "study.json"}
    assert f"tiny/{TARGET}" in {item.key for item in bucket.objects.all()}
