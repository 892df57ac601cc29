"""Published studies packed: nothing lost, the same bytes again, nothing from elsewhere; and a rebuild compared."""

import os
import shutil
import tarfile

import pytest

from common.errors import StudyError
from common.files import sha256, write_json, write_text, write_tsv
from study.configuration import load_study
from support.studies import ROOT
from tools import compare, packs, restore
from tools.checked import check_results

COLUMNS = ("id", "label", "prediction", "probability")


def write_run(folder, arm, seed, probability=0.5540773272514343):
    rows = [dict(zip(COLUMNS, (n, n % 2, 1, probability / (n + 1)), strict=True)) for n in range(5)]
    write_tsv(folder / "predictions" / arm / f"seed{seed}.tsv", rows, COLUMNS)
    write_json(folder / "finetuning" / arm / f"seed{seed}" / "run.json", {"arm": arm, "seed": seed})


@pytest.fixture
def study(tmp_path):
    """A study of few files: two runs, one whose labels are words, tables, a figure, a page and a crate."""
    folder = tmp_path / "own"
    write_run(folder, "a", 1)
    write_run(folder, "a", 2, probability=1e-05)
    write_text(folder / "predictions" / "words" / "seed0.tsv", "id\tlabel\tprediction\tprobability\n0\tyes\tno\t1\n")
    write_tsv(folder / "runs.tsv", [{"arm": "a", "seed": 1}], ("arm", "seed"))
    write_tsv(folder / "errors.tsv", [{"id": 1}], ("id",))
    write_text(folder / "figures" / "arms.svg", "<svg/>")
    write_text(folder / "figures" / "other.svg", "<svg></svg>")
    write_text(folder / "report.html", "<html></html>")
    write_text(folder / "README.md", "own\n")
    built = {"name": "build_report", "softwareVersion": "abc", "@type": "SoftwareApplication", "@id": "#b"}
    write_json(folder / "ro-crate-metadata.json", {"@graph": [built]})
    return folder


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def packed(study, tmp_path):
    folder = shutil.copytree(study, tmp_path / "published" / "own")
    packs.pack(folder)
    return folder


def test_what_a_reader_opens_stays_and_the_rest_comes_back_byte_for_byte(study, packed, tmp_path):
    beside = {"README.md", "report.html", "runs.tsv", "figures/arms.svg", packs.PACK, packs.SUMS}
    assert set(files_of(packed)) == beside
    packs.unpack(packed, tmp_path / "again")
    before, after = files_of(study), files_of(tmp_path / "again")
    assert set(before) - set(after) == {"figures/other.svg"}
    assert {name: data for name, data in after.items() if name != packs.SUMS} == {
        name: data for name, data in before.items() if name in after
    }
    with tarfile.open(packed / packs.PACK) as archive:
        names = archive.getnames()
    # Runs of the usual columns are one table; another is a file of its own.
    assert packs.PREDICTIONS in names and "predictions/words/seed0.tsv" in names
    assert "predictions/a/seed1.tsv" not in names


def test_the_list_names_what_a_rebuild_must_give_and_nothing_that_it_cannot(study, packed):
    listed = packs.listed(packed)
    derived = {"runs.tsv", "errors.tsv", "figures/arms.svg", "figures/other.svg", "report.html"}
    assert set(listed) == derived | {"ro-crate-metadata.json", packs.PACK}
    assert all(listed[name] == sha256(study / name) for name in derived)


def test_a_second_pack_has_the_same_bytes(study, packed, tmp_path):
    other = shutil.copytree(study, tmp_path / "other")
    (other / "errors.tsv").touch()
    packs.pack(other)
    assert files_of(other) == files_of(packed)


def test_a_changed_file_is_refused_by_name(packed, tmp_path):
    check_results(packed)
    for name in ("runs.tsv", packs.PACK):
        kept = (packed / name).read_bytes()
        (packed / name).write_bytes(kept + b"x")
        with pytest.raises(StudyError, match=f"{name} is not the published file"):
            check_results(packed)
        with pytest.raises(StudyError, match=f"{name} is not the published file"):
            packs.unpack(packed, tmp_path / "never")
        (packed / name).write_bytes(kept)
    (packed / packs.SUMS).write_text("nonsense\n", encoding="utf-8")
    with pytest.raises(StudyError, match="line 1 is no SHA-256 with a file's name"):
        packs.listed(packed)


def test_an_archive_with_a_file_outside_the_study_is_refused(packed, tmp_path):
    (packed / packs.PACK).write_bytes(packs.archived({"../evil": b"x"}))
    lines = [f"{sha256(packed / packs.PACK)}  {packs.PACK}"]
    write_text(packed / packs.SUMS, "\n".join(lines) + "\n")
    with pytest.raises(StudyError, match=r"names \.\./evil, a file outside the study"):
        packs.unpack(packed, tmp_path / "never")
    assert not (tmp_path / "evil").exists() and not (tmp_path / "never").exists()


def test_a_folder_that_is_there_or_not_packed_is_refused(study, packed, tmp_path):
    with pytest.raises(StudyError, match="is there; name a folder that is not"):
        packs.unpack(packed, tmp_path)
    with pytest.raises(StudyError, match="name a folder of published/"):
        packs.unpack(study, tmp_path / "never")


def test_a_packed_study_is_opened_once_and_another_folder_is_itself(study, packed):
    assert packs.opened(str(study)) == str(study)
    first = packs.opened(str(packed))
    assert packs.opened(str(packed)) == first and first.endswith("/own") and first != str(packed)


def test_a_comparison_with_a_packed_study_says_how_to_unpack_it(packed):
    with pytest.raises(StudyError, match=r"is packed, .*unpack it by `python -m tools.packs .*own FOLDER`"):
        compare.Side(str(packed))


def test_a_rebuild_is_compared_file_by_file(study, packed, capsys):
    same, sentence = restore.compared(str(study), str(packed))
    assert same and sentence == f"6 of 6 files the same as in {packed}"
    (study / "figures" / "other.svg").unlink()
    write_text(study / "errors.tsv", "id\n2\n")
    same, sentence = restore.compared(str(study), str(packed))
    assert not same and "4 of 6 files the same" in sentence
    assert sentence.endswith("missing: figures/other.svg; not the same: errors.tsv")


def test_pages_of_another_commit_are_no_fault(study, packed):
    write_text(study / "report.html", "<html>other</html>")
    assert restore.compared(str(study), str(packed))[0] is False
    crate = study / "ro-crate-metadata.json"
    write_text(crate, crate.read_text(encoding="utf-8").replace("abc", "def"))
    same, sentence = restore.compared(str(study), str(packed))
    assert same and "report.html, ro-crate-metadata.json name the commit that built them, abc there and def" in sentence


def test_records_are_restored_from_the_archive_and_the_register_of_questions_is_one(study, packed, tmp_path):
    restore.copy_records(str(packed), str(tmp_path / "results"))
    restored = files_of(tmp_path / "results")
    assert restored["predictions/a/seed1.tsv"] == (study / "predictions" / "a" / "seed1.tsv").read_bytes()
    assert "finetuning/a/seed2/run.json" in restored and "errors.tsv" not in restored
    # A rebuild that asked the questions anew would date them today.
    assert "questions.json" in restore.KEPT


@pytest.mark.parametrize(
    ("path", "rules"),
    [
        ("config.yaml", []),
        ("studies/open.yaml", ["retrieve_cls_books_pieces"]),
        ("studies/english/trec.yaml", ["retrieve_table"]),
    ],
)
def test_the_texts_of_a_published_study_are_downloaded_whatever_their_source(path, rules):
    assert restore.retrieving_rules(*load_study(ROOT, os.path.join(ROOT, path))) == rules
