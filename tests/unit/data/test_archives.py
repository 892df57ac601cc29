"""Archives: only what is asked for leaves them, and nothing harmful is touched."""

import os
import stat
import tarfile
import zipfile

import pytest

from common.errors import StudyError
from data import archives
from data.archives import extract_members, find_members, list_members, read_members
from support.archives import make_tar, make_zip

MAKERS = pytest.mark.parametrize("make", [make_zip, make_tar], ids=["zip", "tar.gz"])


@MAKERS
def test_members_are_found_by_the_end_of_their_path(tmp_path, make):
    files = [("old/cls/train.review", b"a"), ("old/cls/test.review", b"b"), ("other/test.review", b"c")]
    path = make(tmp_path / "archive", files)
    assert read_members(path, ["cls/train.review", "cls/test.review"]) == {
        "cls/train.review": b"a",
        "cls/test.review": b"b",
    }


@MAKERS
def test_members_at_the_top_are_found_by_name(tmp_path, make):
    path = make(tmp_path / "archive", [("train.review", b"a"), ("./test.review", b"b")])
    assert read_members(path, ["cls/train.review", "cls/test.review"]) == {
        "cls/train.review": b"a",
        "cls/test.review": b"b",
    }


@MAKERS
def test_a_longer_fit_wins_over_the_name_alone(tmp_path, make):
    # As in the CLS archive, which holds translations under fr/books/trans/en/books.
    path = make(
        tmp_path / "archive", [("x/fr/books/trans/en/books/test.review", b"t"), ("x/fr/books/test.review", b"f")]
    )
    assert read_members(path, ["fr/books/test.review"]) == {"fr/books/test.review": b"f"}


@MAKERS
def test_two_fitting_members(tmp_path, make):
    path = make(tmp_path / "archive", [("a/model.pt", b"1"), ("b/model.pt", b"2")])
    with pytest.raises(StudyError, match=r"a/model\.pt and b/model\.pt both fit"):
        read_members(path, ["model.pt"])


@MAKERS
def test_missing_members_are_named_with_what_was_found(tmp_path, make):
    path = make(tmp_path / "archive", [("readme.txt", b"x"), ("dict.txt", b"y")])
    with pytest.raises(StudyError) as caught:
        extract_members(path, {name: tmp_path / "out" / name for name in ("model.pt", "dict.txt", "s.model")})
    assert "model.pt, s.model" in str(caught.value)
    assert "readme.txt, dict.txt" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_empty_zip_and_a_long_list(tmp_path):
    with pytest.raises(StudyError, match="it holds nothing"):
        read_members(make_zip(tmp_path / "empty.zip", []), ["a"])
    path = make_zip(tmp_path / "many.zip", [(f"file{k}", b"x") for k in range(20)])
    with pytest.raises(StudyError, match="and 8 more"):
        read_members(path, ["a"])


@MAKERS
def test_macos_litter_is_no_second_file(tmp_path, make):
    files = [("m/model.pt", b"1"), ("__MACOSX/m/model.pt", b"2"), ("m/._model.pt", b"3"), ("m/.DS_Store", b"4")]
    assert [member.name for member in list_members(make(tmp_path / "archive", files))] == ["m/model.pt"]


@MAKERS
def test_extraction_is_all_or_nothing(tmp_path, make, monkeypatch):
    path = make(tmp_path / "archive", [("a", b"1" * 100), ("b", b"2" * 100)])
    real = archives._streams

    def broken(*arguments):
        for number, item in enumerate(real(*arguments)):
            if number:
                raise StudyError("the second one fails")
            yield item

    monkeypatch.setattr(archives, "_streams", broken)
    with pytest.raises(StudyError, match="second"):
        extract_members(path, {"a": tmp_path / "out" / "a", "b": tmp_path / "out" / "b"})
    assert os.listdir(tmp_path / "out") == []


@MAKERS
def test_extraction_writes_the_bytes(tmp_path, make):
    content = os.urandom(3_000_000)
    path = make(tmp_path / "archive", [("x/a", content), ("x/b", b"")])
    extract_members(path, {"a": tmp_path / "out" / "first", "b": tmp_path / "other" / "second"})
    assert (tmp_path / "out" / "first").read_bytes() == content
    assert (tmp_path / "other" / "second").read_bytes() == b""


@MAKERS
@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "C:/windows", "..\\up", "\\\\host\\share"])
def test_harmful_paths(tmp_path, make, name):
    path = make(tmp_path / "archive", [("good", b"1"), (name, b"2")])
    with pytest.raises(StudyError, match="refused"):
        read_members(path, ["good"])


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_a_tar(tmp_path, kind):
    path = make_tar(tmp_path / "archive", [("evil", b"")], kind=kind)
    with pytest.raises(StudyError, match="link or device"):
        list_members(path)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO])
def test_links_in_a_zip(tmp_path, kind):
    record = zipfile.ZipInfo("evil")
    record.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(record, "/etc/hosts")
    with pytest.raises(StudyError, match="link or device"):
        list_members(str(tmp_path / "a.zip"))


@MAKERS
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice(tmp_path, make):
    path = make(tmp_path / "archive", [("a/b", b"1"), ("a//b", b"2")])
    with pytest.raises(StudyError, match="a/b twice"):
        list_members(path)


@MAKERS
def test_too_many_entries(tmp_path, make, monkeypatch):
    monkeypatch.setattr(archives, "COUNT_LIMIT", 2)
    with pytest.raises(StudyError, match="more than 2 entries"):
        list_members(make(tmp_path / "archive", [("a", b"1"), ("b", b"2"), ("c", b"3")]))


@MAKERS
def test_too_large_in_all(tmp_path, make, monkeypatch):
    monkeypatch.setattr(archives, "SIZE_LIMIT", 100)
    with pytest.raises(StudyError, match="more than 100 bytes"):
        list_members(make(tmp_path / "archive", [("a", b"1" * 60), ("b", b"2" * 60)]))


@MAKERS
def test_bomb(tmp_path, make):
    # 20 MB of zeros pack to about 20 kB: a thousandth.
    path = make(tmp_path / "archive", [("bomb", bytes(20_000_000))])
    assert os.path.getsize(path) < 100_000
    with pytest.raises(StudyError, match="200 times"):
        list_members(path)


def test_too_large_for_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MEMORY_LIMIT", 10)
    with pytest.raises(StudyError, match="is it the right file"):
        read_members(make_zip(tmp_path / "a.zip", [("a", b"1" * 20)]), ["a"])


@MAKERS
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_truncated_archive(tmp_path, make, share):
    path = make(tmp_path / "archive", [("a", os.urandom(50_000)), ("b", os.urandom(50_000))])
    with open(path, "rb") as handle:
        content = handle.read()
    with open(path, "wb") as handle:
        handle.write(content[: int(len(content) * share)])
    with pytest.raises(StudyError) as caught:
        extract_members(path, {"a": tmp_path / "out" / "a", "b": tmp_path / "out" / "b"})
    assert "damaged or cut short" in str(caught.value) and path in str(caught.value)
    assert not (tmp_path / "out").exists() or os.listdir(tmp_path / "out") == []


@MAKERS
def test_flipped_bytes(tmp_path, make):
    path = make(tmp_path / "archive", [("a", os.urandom(50_000))])
    with open(path, "r+b") as handle:
        handle.seek(20_000)
        handle.write(bytes(100))
    with pytest.raises(StudyError, match="damaged"):
        extract_members(path, {"a": tmp_path / "out" / "a"})
    assert not (tmp_path / "out").exists() or os.listdir(tmp_path / "out") == []


def test_a_zip_that_ends_before_it_begins(tmp_path):
    # Found by tests/fuzz.py: its first member lies before the file, and the library asks the system to go there.
    whole = make_zip(tmp_path / "whole.zip", [("a", os.urandom(5000)), ("b", b"1")])
    with open(whole, "rb") as handle:
        content = handle.read()
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK" + content[4002:])
    with pytest.raises(StudyError, match="damaged or cut short"):
        read_members(str(path), ["a", "b"])


def test_a_bomb_that_claims_to_be_hardly_packed(tmp_path):
    path = tmp_path / "a.zip"
    make_zip(path, [("bomb", bytes(20_000_000))])
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 20 : entry + 24] = (20_000_000).to_bytes(4, "little")  # the packed size, in the list of members
    path.write_bytes(content)
    with pytest.raises(StudyError, match="200 times"):
        list_members(str(path))


def test_encrypted_zip(tmp_path):
    path = tmp_path / "a.zip"
    make_zip(path, [("a", b"1")])
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flag in the central directory
    path.write_bytes(content)
    with pytest.raises(StudyError, match="encrypted"):
        list_members(str(path))


def test_plain_tar(tmp_path):
    path = make_tar(tmp_path / "a.tar", [("x/a", b"1" * 5000)], mode="w")
    assert read_members(path, ["a"]) == {"a": b"1" * 5000}


def test_a_tail_behind_the_last_file(tmp_path, monkeypatch):
    # The padding of a tar ends at the next 10 240 bytes; what follows it is nobody's.
    monkeypatch.setattr(archives, "REST_LIMIT", 100_000)
    path = make_tar(tmp_path / "a.tar", [("a", b"1")], mode="w")
    with open(path, "ab") as handle:
        handle.write(bytes(200_000))
    with pytest.raises(StudyError, match="continues long after"):
        list_members(path)


@pytest.mark.parametrize("content", [b"", b"plain text, long enough to be no header" * 40])
def test_no_archive_at_all(tmp_path, content):
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(StudyError, match="neither a zip nor a tar"):
        list_members(str(path))


def test_find_members_needs_no_file(tmp_path):
    members = [archives.Member("x/a", 1, None)]
    assert find_members("archive", members, ["a"]) == {"a": members[0]}
