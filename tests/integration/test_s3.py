"""The tiny study with everything on object storage, a local server of the S3 protocol: the same files, and go on."""

import csv
import hashlib
import io
import json
import os

import boto3
import pytest
import torch
from moto.server import ThreadedMotoServer

from support import studies

# The tiny study counts as set-up of the first test that needs it.
pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

BUCKET, FOLDER = "studies", "shared/tiny-1"
PROFILE = ("--profile", os.path.join(studies.ROOT, "profiles", "s3"))
PREFIX = ("--default-storage-prefix", f"s3://{BUCKET}/{FOLDER}")
# Files that hold the time of day, seconds taken or paths of the run: their bytes differ between any two runs.
TIMED = {
    "benchmarks/",
    "logs/",
    "checkpoint/model.pt",
    "checkpoint/huggingface/conversion.json",  # the hash of model.pt
    "frameworks/",
    "questions.tsv",  # when they were asked
    "report.html",
    "report_alone.html",
    "report_numbers.tsv",  # sentences about seconds
    "ro-crate-metadata.json",
    "runs.tsv",
}
TIMED_NAMES = ("run.json", "checkpoint1.pt", "checkpoint2.pt")
LOCAL = (".lock", ".jobs", ".digests.json", "questions.json", "study.json")


@pytest.fixture(scope="module")
def bucket():
    """A bucket on a server of this machine, with the environment in which Snakemake finds it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("ENDPOINT_URL", endpoint), ("ACCESS_KEY", "key"), ("SECRET_KEY", "secret")):
            patch.setenv(f"SNAKEMAKE_STORAGE_S3_{name}", value)
        for name in ("NO_PROXY", "no_proxy"):
            patch.setenv(name, host)
        keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
        yield boto3.resource("s3", endpoint_url=endpoint, **keys).Bucket(BUCKET)
    server.stop()


@pytest.fixture(scope="module")
def run(bucket, tmp_path_factory):
    """The folder of a tiny study that ran with the profile."""
    folder = tmp_path_factory.mktemp("s3-study")
    study = studies.write_study(folder / "study.yaml")
    done = studies.snakemake(folder, "--quiet", "progress", *PROFILE, *PREFIX, study=study)
    assert done.returncode == 0, done.output
    return folder


@pytest.fixture(scope="module")
def stored(run, bucket):
    """{path as in a local run: bytes} of the bucket."""
    found = bucket.objects.filter(Prefix=f"{FOLDER}/")
    return {item.key.removeprefix(f"{FOLDER}/"): item.get()["Body"].read() for item in found}


@pytest.fixture(scope="module")
def local(tiny_study):
    """{path: bytes} of the same study run without storage; what remembers the folder's owner and training's states are
    no outputs.
    """
    files = (p for p in (tiny_study / "results").rglob("*") if p.is_file() and p.name not in LOCAL)
    found = {str(path.relative_to(tiny_study)): path.read_bytes() for path in files}
    return {path: content for path, content in found.items() if not path.startswith("results/tiny/state/")}


def without_events(paths):
    """Paths with TensorBoard's files, which are named by the time, replaced by their folders."""
    return {os.path.dirname(path) if "events.out" in path else path for path in paths}


def test_the_bucket_holds_what_a_local_run_leaves(stored, local):
    assert without_events(stored) == without_events(local)


def is_seal(path):
    return path.startswith("results/tiny/predictions/") and path.endswith(".json")


def test_the_objects_are_the_files_of_a_local_run(stored, local):
    compared = {path for path in stored.keys() & local if not is_seal(path)}
    different = {path.removeprefix("results/tiny/") for path in compared if stored[path] != local[path]}
    unexpected = {
        path for path in different if not path.startswith(tuple(TIMED)) and os.path.basename(path) not in TIMED_NAMES
    }
    assert not unexpected
    equal = {f"results/tiny/predictions/{arm}/seed1.tsv" for arm in ("fairseq-pretrained", "huggingface-pretrained")}
    assert equal <= stored.keys() and not {path.removeprefix("results/tiny/") for path in equal} & different


def test_the_seals_bind_the_stored_runs_to_the_predictions_of_a_local_run(stored, local):
    seals = [path for path in stored if is_seal(path)]
    assert len(seals) == 6
    for path in seals:
        ours, theirs = (json.loads(files[path]) for files in (stored, local))
        record = f"results/tiny/finetuning/{ours['arm']}/seed{ours['seed']}/run.json"
        # run.json holds the seconds taken.
        assert ours["sha256"].pop("record") == hashlib.sha256(stored[record]).hexdigest()
        theirs["sha256"].pop("record")
        assert ours == theirs


def test_the_weights_are_those_of_a_local_run(stored, local):
    path = "results/tiny/checkpoint/model.pt"
    ours, theirs = (torch.load(io.BytesIO(files[path]), weights_only=True)["model"] for files in (stored, local))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_no_table_or_record_names_the_local_copies(stored):
    naming = [path for path, content in stored.items() if b".snakemake/storage" in content]
    # The arguments of a run, as fairseq keeps them, and its output.
    allowed = ("/logs/", "/tensorboard/", ".pt")
    assert not [path for path in naming if not any(part in path for part in allowed)]


def test_the_numbers_of_the_report_name_files_of_the_study(stored):
    rows = csv.DictReader(io.StringIO(stored["results/tiny/report_numbers.tsv"].decode()), delimiter="\t")
    files = {file for row in rows for file in row["file"].split("; ")} - {"config", ""}
    assert files and files <= stored.keys()


def test_little_stays_on_the_machine(run):
    kept = {path.relative_to(run).parts[2] for path in (run / "results").rglob("*") if path.is_file()}
    assert kept <= {"state", *LOCAL}
    copies = [path for path in (run / ".snakemake" / "storage").rglob("*") if path.is_file()]
    assert not [path for path in copies if not {"logs", "benchmarks"} & set(path.parts)]


def test_another_machine_goes_on_from_the_bucket(stored, bucket, tmp_path):
    study = studies.write_study(tmp_path / "study.yaml")
    assert studies.plan(tmp_path, *PROFILE, *PREFIX, study=study) == {}
    bucket.Object(f"{FOLDER}/results/tiny/report.html").delete()
    jobs = studies.plan(tmp_path, *PROFILE, *PREFIX, study=study)
    assert jobs == {"build_report": 1, "check_report": 1, "all": 1}


def test_ones_own_files_are_read_from_the_disk(bucket, tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "pairs.json").write_text("[]")
    own = {"base": {"source": "folder", "folder": "base"}, "data": {"source": "file", "file": "pairs.json"}}
    study = studies.write_study(tmp_path / "study.yaml", {"qa": {"enabled": True, **own}})
    jobs = studies.plan(tmp_path, *PROFILE, "--default-storage-prefix", f"s3://{BUCKET}/other", study=study)
    assert jobs["build_qa_base_model"] == jobs["build_qa_pairs"] == 1


def test_a_missing_prefix_is_told(run, tmp_path):
    study = studies.write_study(tmp_path / "study.yaml")
    done = studies.snakemake(tmp_path, "--dry-run", *PROFILE, study=study)
    assert done.returncode != 0 and "--default-storage-prefix" in done.output
