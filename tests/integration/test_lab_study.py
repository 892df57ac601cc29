"""The lab study end to end: stand-ins of the course's three zips, served on this machine, in place of the real ones."""

import csv
import json
import os
import zipfile

import pytest
import yaml

from common.files import sha256
from data.embedded_reviews import generate
from data.reviews import normalise
from support import servers, studies

# The tiny study counts as set-up of the first test that needs it.
pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

FAIRSEQ_FILES = ("model.pt", "dict.txt", "sentencepiece.bpe.model")
ARMS = [("fairseq", "pretrained"), ("fairseq", "random"), ("huggingface", "pretrained"), ("run_glue", "pretrained")]
N = {"train": 40, "valid": 20, "test": 24}


def json_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def reviews():
    """Generated reviews in the course's three splits: lists of (text, label)."""
    content = generate(seed=7, n_labelled=N["train"] + N["valid"], n_test=N["test"], n_unlabelled=0)
    labelled = content["labelled"]
    return {"train": labelled[: N["train"]], "valid": labelled[N["train"] :], "test": content["test"]}


@pytest.fixture(scope="module")
def zips(tmp_path_factory, tiny_study, reviews):
    """A folder to serve: the data, the fairseq files and the Hugging Face folder, of a checkpoint made here."""
    folder = tmp_path_factory.mktemp("served")
    checkpoint = tiny_study / "results" / "tiny" / "checkpoint"
    with zipfile.ZipFile(folder / "cls.books.zip", "w") as archive:
        for split, rows in reviews.items():
            archive.writestr(f"cls.books/{split}.review", "".join(f"{text}\n" for text, _ in rows))
            archive.writestr(f"cls.books/{split}.label", "".join(f"{label}\n" for _, label in rows))
    with zipfile.ZipFile(folder / "RoBERTa_small_fr.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in FAIRSEQ_FILES:
            archive.write(checkpoint / name, f"RoBERTa_small_fr/{name}")
    with zipfile.ZipFile(folder / "RoBERTa_small_fr_HuggingFace.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((checkpoint / "huggingface").iterdir()):
            archive.write(path, f"RoBERTa_small_fr_HuggingFace/{path.name}")
    return folder


@pytest.fixture(scope="module", params=["lab", pytest.param("lab-matched", marks=pytest.mark.long)])
def lab(request, tmp_path_factory, zips):
    """The working folder of a study of the lab after its run, and the paths that the server was asked for."""
    folder = tmp_path_factory.mktemp(request.param)
    with open(os.path.join(studies.ROOT, "studies", f"{request.param}.yaml"), encoding="utf-8") as handle:
        base = yaml.safe_load(handle)
    with servers.serve(zips) as server:
        changes = {
            "data": {"cls_books_zip": {"url": f"{server.address}/cls.books.zip"}},
            "checkpoint": {
                "fetch": {
                    "fairseq": {"url": f"{server.address}/RoBERTa_small_fr.zip"},
                    # The one whose hash is given.
                    "huggingface": {
                        "url": f"{server.address}/RoBERTa_small_fr_HuggingFace.zip",
                        "sha256": sha256(zips / "RoBERTa_small_fr_HuggingFace.zip"),
                    },
                },
                "architecture": studies.TINY["checkpoint"]["architecture"],
            },
            "finetuning": {"seeds": [1], "training": {"epochs": 1}, "evaluation": {"test_curves": False}},
            "qa": {"enabled": False},
        }
        study = studies.write_study(folder / "study.yaml", changes, base=base)
        done = studies.snakemake(folder, "--quiet", "progress", study=study)
        assert done.returncode == 0, done.output
        assert studies.plan(folder, study=study) == {}
        return folder, server.host, list(server.requests), request.param


@pytest.fixture(scope="module")
def results(lab):
    return lab[0] / "results" / lab[3]


def test_each_zip_is_downloaded_once_and_its_hash_recorded(lab, zips):
    folder, host, requests, _ = lab
    assert sorted(requests) == sorted(f"/{path.name}" for path in zips.iterdir())
    for path in zips.iterdir():
        came = folder / "resources" / host / path.name
        assert came.read_bytes() == path.read_bytes()
        (record,) = json_of(came.with_name(f"{path.name}.retrieved.json"))["files"]
        assert record["url"] == f"http://{host}/{path.name}"
        assert (record["sha256"], record["bytes"]) == (sha256(path), path.stat().st_size)
        assert record["from"] == "network" and record["pinned"] == ("HuggingFace" in path.name)
    assert not list(folder.rglob(".part-*"))


def test_the_reviews_are_the_served_ones_in_the_courses_split(results, reviews, lab, zips):
    for split, rows in reviews.items():
        texts = (results / "data" / f"{split}.review").read_text(encoding="utf-8").splitlines()
        assert texts == [normalise(text) for text, _ in rows]
        assert (results / "data" / f"{split}.label").read_text().split() == [str(label) for _, label in rows]
    manifest = json_of(results / "data" / "manifest.json")
    assert manifest["source"] == "cls_books_zip" and manifest["own_split"] and not manifest["synthetic"]
    assert manifest["files"] == {f"http://{lab[1]}/cls.books.zip": sha256(zips / "cls.books.zip")}


def test_the_checkpoint_is_the_served_one(results, tiny_study):
    for name in FAIRSEQ_FILES:
        served = tiny_study / "results" / "tiny" / "checkpoint" / name
        assert sha256(results / "checkpoint" / name) == sha256(served)
    assert not (results / "checkpoint" / "corpus").exists()


def test_the_fetched_hugging_face_folder_is_compared_with_the_conversion(results):
    assert (results / "checkpoint" / "fetched" / "huggingface" / "config.json").is_file()
    comparison = json_of(results / "checkpoint" / "huggingface-comparison.json")
    assert comparison.pop("n_equal") > 0
    assert comparison == {"different": [], "only_ours": [], "only_theirs": []}


@pytest.mark.parametrize("arm", ARMS, ids="-".join)
def test_pretrained_arms_loaded_every_tensor_and_the_random_one_none(results, arm):
    with open(results / "weights.tsv", encoding="utf-8", newline="") as handle:
        rows = {(row["framework"], row["init"]): row for row in csv.DictReader(handle, delimiter="\t")}
    loaded, new = (int(rows[arm][name]) for name in ("n_equal", "n_new"))
    assert (loaded > 0, new > 0) == (arm[1] == "pretrained", arm[1] == "random")


def test_the_frameworks_trained_alike_or_as_the_lab_did(results, lab):
    with open(results / "protocol_diff.tsv", encoding="utf-8", newline="") as handle:
        rows = {row["setting"]: (row["fairseq"], row["huggingface"]) for row in csv.DictReader(handle, delimiter="\t")}
    matched = lab[3] == "lab-matched"
    assert rows["batching"] == (("length_grouped",) * 2 if matched else ("random",) * 2)
    assert rows["betas"] == ("[0.9, 0.98]", "[0.9, 0.98]" if matched else "[0.9, 0.999]")
    assert rows["clip_norm"] == ("0.0", "0.0" if matched else "1.0")


def test_the_study_ends_with_its_three_arms_and_a_report(results, lab):
    with open(results / "runs.tsv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    assert [(row["framework"], row["init"]) for row in rows] == ARMS
    for row in rows:
        assert (row["study"], row["seed"], row["synthetic"]) == (lab[3], "1", "false")
        assert [int(row[f"n_{split}"]) for split in N] == list(N.values())
        assert (results / "predictions" / row["arm"] / "seed1.tsv").is_file()
    page = (results / "report.html").read_text(encoding="utf-8")
    assert f"Study {lab[3]}" in page and "(synthetic data)" not in page
