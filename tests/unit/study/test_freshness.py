"""Freshness of results, by today's settings and files: by content, whatever time stamps say."""

import os

import pytest

from common.errors import StudyError
from common.files import read_json, sha256, write_json
from study.freshness import (
    METADATA,
    Digests,
    changed_settings,
    check_downloads,
    check_fresh,
    hides_changes,
    visible_files,
    without_records,
)


def test_a_file_is_read_again_whenever_it_may_have_changed(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("one")
    first = Digests(str(tmp_path))
    assert first.digest(str(path)) == sha256(str(path))
    first.save()
    # The note spares the reading of what is as it was.
    monkeypatch.setattr("study.freshness.sha256", lambda path: pytest.fail("read"))
    known = Digests(str(tmp_path)).digest(str(path))
    monkeypatch.undo()
    assert known == sha256(str(path))
    # As many bytes and the same time of modification, as `cp -p` brings: the time of change tells.
    times = path.stat()
    path.write_text("two")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert Digests(str(tmp_path)).digest(str(path)) == sha256(str(path)) != known
    assert Digests(str(tmp_path)).digest(str(tmp_path / "absent")) is None


def test_a_note_that_cannot_be_read_is_made_anew(tmp_path):
    (tmp_path / ".digests.json").write_text("{")
    (tmp_path / "a").write_text("x")
    digests = Digests(str(tmp_path))
    assert digests.digest(str(tmp_path / "a")) == sha256(str(tmp_path / "a"))
    digests.save()
    assert list(read_json(str(tmp_path / ".digests.json"))) == [str(tmp_path / "a")]
    Digests(str(tmp_path / "nowhere")).save()


def test_every_visible_file_of_a_folder(tmp_path):
    for name in ("b", "a", ".hidden", "sub/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [os.path.basename(path) for path in visible_files(str(tmp_path))] == ["a", "b"]


CONFIG = {"study": "own", "measure": "accuracy", "finetuning": {"training": {"lr": 0.1}}, "mirror": None}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_json("results/own/settings.json", {"study": "own", "finetuning": {"training": {"lr": 0.1}}})
    write_json("results/own/data/manifest.json", {"files": {"a.csv": "1" * 64}})
    write_json("results/own/finetuning/arm/seed1/run.json", {})
    return tmp_path


def keep_records():
    os.makedirs(METADATA)
    # The two files, as Snakemake 9 names them.
    for name in (
        "cmVzdWx0cy9vd24vZGF0YS9tYW5pZmVzdC5qc29u",
        "cmVzdWx0cy9vd24vZmluZXR1bmluZy9hcm0vc2VlZDEvcnVuLmpzb24=",
    ):
        open(os.path.join(METADATA, name), "w").close()


def test_what_snakemake_can_make_again_is_left_to_it(here):
    keep_records()
    assert without_records("results/own") == []
    check_fresh("results/own", {**CONFIG, "study": "other"}, {"a.csv": "2" * 64}, None)


def test_what_it_cannot_is_refused(here):
    assert len(without_records("results/own")) == 2
    check_fresh("results/own", CONFIG, {"a.csv": "1" * 64}, None)
    changed = {**CONFIG, "finetuning": {"training": {"lr": 10}}}
    assert changed_settings("results/own", changed) == {"finetuning.training.lr": (0.1, 10)}
    with pytest.raises(StudyError, match="finetuning.training.lr: the results in results/own were made.*are gone"):
        check_fresh("results/own", changed, {}, None)
    with pytest.raises(StudyError, match="a.csv is not the file that the results in results/own were made from"):
        check_fresh("results/own", CONFIG, {"a.csv": "2" * 64}, None)
    # A mirror is a place on one machine, and no result's.
    check_fresh("results/own", {**CONFIG, "mirror": "/elsewhere"}, {}, None)


def test_results_are_not_marked_as_fresh_by_hand(here):
    keep_records()
    with pytest.raises(StudyError, match="--touch would leave them as they are"):
        check_fresh("results/own", {**CONFIG, "finetuning": {}}, {}, "--touch")
    check_fresh("results/own", CONFIG, {}, "--touch")


def test_a_study_that_was_never_run_has_nothing_to_be_stale(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_fresh("results/own", CONFIG, {"a.csv": "2" * 64}, "--touch")


def test_a_models_files_are_compared_where_snakemakes_records_are_gone(here):
    write_json("results/own/finetuning/models/mine/conversion.json", {"source_sha256": {"a.safetensors": "1" * 64}})
    same, other = ({"mine": {"folder/a.safetensors": digit * 64, "folder/README.md": "3" * 64}} for digit in "12")
    check_fresh("results/own", CONFIG, {}, None, same)
    with pytest.raises(StudyError, match="folder/a.safetensors is not the file .*conversion.json.*are gone"):
        check_fresh("results/own", CONFIG, {}, None, other)
    keep_records()
    # Snakemake itself takes the model again: its digests are a parameter.
    check_fresh("results/own", CONFIG, {}, None, other)


def test_an_interrupted_study_is_compared_with_what_its_runs_recorded(here):
    """It has no settings.json, and its page would name a rate that no run had."""
    os.remove("results/own/settings.json")
    write_json(
        "results/own/finetuning/arm/seed1/run.json", {"arm": "mine", "settings": {"lr": 0.1, "betas": [0.9, 0.98]}}
    )
    check_fresh("results/own", CONFIG, {}, None, None, {"mine": {"lr": 0.1, "betas": (0.9, 0.98)}})
    changed = {"mine": {"lr": 0.2, "betas": [0.9, 0.98]}, "other": {"lr": 3}}
    with pytest.raises(StudyError, match="finetuning.arms.mine: lr: the results in .* made with 0.1, .* now say 0.2"):
        check_fresh("results/own", CONFIG, {}, None, None, changed)
    # A run of before settings were recorded says nothing.
    write_json("results/own/finetuning/arm/seed1/run.json", {"arm": "mine"})
    check_fresh("results/own", CONFIG, {}, None, None, changed)


def test_a_download_that_was_edited_after_it_was_checked_is_refused(tmp_path):
    place, record = tmp_path / "host" / "a.csv", "host/a.csv.retrieved.json"
    retrieved = [(["host/a.csv"], record), (["host/not-fetched.csv"], "host/not-fetched.csv.retrieved.json")]
    check_downloads(str(tmp_path), retrieved, sha256)
    place.parent.mkdir()
    place.write_text("text,label\n", encoding="utf-8")
    check_downloads(str(tmp_path), retrieved, sha256)
    write_json(str(tmp_path / record), {"files": [{"sha256": sha256(str(place))}]})
    check_downloads(str(tmp_path), retrieved, sha256)
    place.write_text("text;label\n", encoding="utf-8")
    with pytest.raises(StudyError, match="a.csv is not the file that was downloaded and checked .*fetch it again"):
        check_downloads(str(tmp_path), retrieved, sha256)
    place.unlink()
    check_downloads(str(tmp_path), retrieved, sha256)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("snakemake --cores 1", None),
        ("snakemake --touch", "--touch"),
        ("snakemake -t --cores 1", "--touch"),
        ("snakemake --rerun-triggers mtime params --cores 1", None),
        ("snakemake --rerun-triggers=params", None),
        ("snakemake --rerun-triggers mtime input --cores 1", "--rerun-triggers without params"),
        ("snakemake --rerun-triggers=mtime --cores params", "--rerun-triggers without params"),
    ],
)
def test_what_hides_a_change_from_snakemake(here, words, option):
    """A changed setting would be "Nothing to be done", and nothing but this check is reached then."""
    assert hides_changes(words.split()) == option
    keep_records()
    changed = {**CONFIG, "finetuning": {"training": {"lr": 10}}}
    if option is None:
        check_fresh("results/own", changed, {}, option)
        return
    with pytest.raises(StudyError, match=f"lr: the results in results/own were made with 0.1, .*{option}"):
        check_fresh("results/own", changed, {}, option)
