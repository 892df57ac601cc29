"""The mirror that is filled for a machine without network: what it needs, what stays, what is fetched again."""

import hashlib
import subprocess

import pytest

from common.errors import StudyError
from support import servers, studies
from tools import mirror as tool

FILES = {"cls.books.zip": b"reviews", "checkpoint.zip": b"weights", "faq.json": b"[]"}
DIGEST = hashlib.sha256(FILES["cls.books.zip"]).hexdigest()
FAST = {"attempts": 1, "timeout": (2, 2), "progress": False}


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "hosts"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    with servers.serve(folder) as running:
        running.folder = folder
        yield running


@pytest.fixture
def study(tmp_path, server):
    """A study of three files: one hash is given, two are recorded as they come."""
    return studies.write_study(tmp_path / "study.yaml", changes_of(server.address))


def changes_of(address, sha256=DIGEST):
    return {
        "mirror": "no such folder",
        "data": {
            "source": "cls_books_zip",
            "n_train": None,
            "n_valid": None,
            "cls_books_zip": {"url": f"{address}/cls.books.zip", "sha256": sha256},
        },
        "checkpoint": {"source": "fetch", "fetch": {"fairseq": {"url": f"{address}/checkpoint.zip"}}},
        "qa": {"enabled": True, "data": {"source": "url", "url": f"{address}/faq.json"}},
    }


def test_what_is_there_and_right_is_not_fetched_again(tmp_path, server, study):
    mirror = tmp_path / "a mirror"
    assert tool.main(study, str(mirror), **FAST) == (3, 3)
    assert {name: (mirror / server.host / name).read_bytes() for name in FILES} == FILES
    checked = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=mirror, capture_output=True)
    assert checked.returncode == 0 and checked.stdout.count(b": OK") == 3
    assert tool.main(study, str(mirror), **FAST) == (3, 0)
    assert len(server.requests) == 3

    # Damaged, gone, and emptied; the first two have no hash in the study.
    (mirror / server.host / "checkpoint.zip").write_bytes(b"Weights")
    (mirror / server.host / "faq.json").unlink()
    (mirror / server.host / "cls.books.zip").write_bytes(b"")
    assert tool.main(study, str(mirror), **FAST) == (3, 3)
    assert {name: (mirror / server.host / name).read_bytes() for name in FILES} == FILES


def test_it_goes_on_where_it_stopped_and_takes_what_was_put_there_by_hand(tmp_path, server, study):
    mirror, lost = tmp_path / "mirror", server.folder / "checkpoint.zip"
    lost.unlink()
    with pytest.raises(StudyError) as caught:
        tool.main(study, str(mirror), **FAST)
    place = mirror / server.host / "checkpoint.zip"
    for words in (f"{server.address}/checkpoint.zip", "404", "Of the 3 files 1 are in", str(place)):
        assert words in str(caught.value)
    assert len((mirror / "SHA256SUMS").read_text().splitlines()) == 1
    place.write_bytes(b"from a colleague")
    assert tool.main(study, str(mirror), **FAST) == (3, 1)
    digest = hashlib.sha256(b"from a colleague").hexdigest()
    assert f"{digest}  {server.host}/checkpoint.zip" in (mirror / "SHA256SUMS").read_text().splitlines()


def test_a_file_that_is_not_the_pinned_one_does_not_enter(tmp_path, server):
    study = studies.write_study(tmp_path / "study.yaml", changes_of(server.address, "0" * 64))
    with pytest.raises(StudyError, match="wrong hash"):
        tool.main(study, str(tmp_path / "mirror"), **FAST)
    assert not [path for path in (tmp_path / "mirror").rglob("*") if path.is_file()]


def test_studies_share_a_mirror_and_its_list(tmp_path, server, study):
    mirror = tmp_path / "mirror"
    assert tool.main("config.yaml", str(mirror), **FAST) == (0, 0) and mirror.is_dir()
    changes = {"qa": {"enabled": True, "data": {"source": "url", "url": f"{server.address}/faq.json"}}}
    other = studies.write_study(tmp_path / "other.yaml", changes)
    assert tool.main(other, str(mirror), **FAST) == (1, 1)
    assert tool.main(study, str(mirror), **FAST) == (3, 2)
    assert len((mirror / "SHA256SUMS").read_text().splitlines()) == 3


def test_faults_are_told_before_anything_is_fetched(tmp_path, server, study):
    with pytest.raises(StudyError, match="there is no study file absent.yaml"):
        tool.main("absent.yaml", str(tmp_path / "mirror"))
    (tmp_path / "broken.yaml").write_text("study: [\n")
    with pytest.raises(StudyError, match="broken.yaml, line 2: this is not YAML"):
        tool.main(str(tmp_path / "broken.yaml"), str(tmp_path / "mirror"))
    typo = studies.write_study(tmp_path / "typo.yaml", {"data": {"sorce": "embedded"}})
    with pytest.raises(StudyError, match="unknown key data.sorce"):
        tool.main(typo, str(tmp_path / "mirror"))
    (tmp_path / "mirror").mkdir(exist_ok=True)
    (tmp_path / "mirror" / "SHA256SUMS").write_text("nonsense\n")
    with pytest.raises(StudyError, match="SHA256SUMS, line 1"):
        tool.main(study, str(tmp_path / "mirror"), **FAST)
    assert server.requests == []


def test_a_mirror_that_is_no_folder_is_named(study, tmp_path):
    (tmp_path / "file").write_text("x")
    for place in ("file", "file/below"):
        with pytest.raises(StudyError, match="file.* cannot be made a folder .*; name another: MIRROR=FOLDER"):
            tool.main(study, str(tmp_path / place))
