"""Guests come and go: a study runs without the lab and question answering, and with a guest planted beside it."""

import pathlib
import shutil

import pytest

from common.files import read_json, read_tsv
from support import studies, trees

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

ROOT = pathlib.Path(studies.ROOT)
GUIDE = (ROOT / "docs" / "development" / "add_a_guest.md").read_text(encoding="utf-8")
GUESTS = sorted(path.parent.name for path in ROOT.glob("scripts/*/guest.py"))
# One arm, which is enough for a page.
STUDY = studies.merged(studies.TINY, {"study": "alone", "qa": {"enabled": False}})
ARMS = {"huggingface-random": {"framework": "huggingface", "model": "checkpoint", "init": "random"}}
STUDY = studies.merged(STUDY, {"finetuning": {"arms": ARMS}})


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tree without its guests, and with the guide's."""
    root = trees.plant(tmp_path_factory.mktemp("tree"), GUIDE, most=3)
    assert GUESTS == ["lab", "qa"]
    for guest in GUESTS:
        shutil.rmtree(root / "scripts" / guest)
        (root / "rules" / f"{guest}.smk").unlink()
    return root


@pytest.fixture(scope="module")
def results(tree, tmp_path_factory):
    return trees.finished(tree, tmp_path_factory.mktemp("study"), STUDY)


def test_a_study_that_asks_for_no_guest_is_whole_without_them(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    assert 'id="answer"' in page and 'id="statistics"' in page
    assert not any(f'id="{name}"' in page for name in ("claims", "parameters", "question-answering"))
    assert not (results / "claims.tsv").exists() and not (results / "qa").exists()


def test_a_planted_guest_is_made_and_in_the_provenance(results):
    pace = read_json(results / "pace.json")
    (row,) = read_tsv(results / "runs.tsv")
    wanted = int(row["total_updates"]) / float(row["train_seconds"])
    assert pace == {"huggingface-random, seed 1": pytest.approx(wanted)}
    graph = {one["@id"]: one for one in read_json(results / "ro-crate-metadata.json")["@graph"]}
    assert graph["pace.json"]["description"] == "Updates a second of every run."


def test_nothing_is_left_to_do(tree, results):
    done = trees.snakemake(tree, results.parents[1], STUDY, "--dry-run")
    assert "Nothing to be done" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("asks", "said"),
    [
        ({"qa": {"enabled": True}}, "qa.enabled asks for scripts/qa, which is not here"),
        ({"claims": ["claims/open.yaml"]}, "claims asks for scripts/lab, which is not here"),
    ],
)
def test_who_asks_for_a_guest_that_is_not_here_is_told(tree, tmp_path, asks, said):
    done = trees.snakemake(tree, tmp_path, studies.merged(STUDY, asks), "--dry-run")
    assert done.returncode and said in done.stdout + done.stderr and "Traceback" not in done.stderr
