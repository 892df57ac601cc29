"""`make sizes`: what git keeps, beside its aim."""

import subprocess

import pytest

from common.errors import StudyError
from tools import sizes


def test_sizes_are_those_of_the_index(tmp_path):
    pages = {"open": 10, "recipes": 2_000_000, "own": 2_000_000}
    for study, size in pages.items():
        (tmp_path / "published" / study).mkdir(parents=True)
        (tmp_path / "published" / study / "report.html").write_bytes(b"x" * size)
    (tmp_path / "code.py").write_bytes(b"12345")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    # Neither an untracked file nor a later change counts.
    (tmp_path / "large.bin").write_bytes(b"x" * 1000)
    (tmp_path / "code.py").write_bytes(b"")
    rows = sizes.measured(sizes.tracked(tmp_path))
    assert rows[0] == ("all tracked files", 4_000_015, sizes.TRACKED) and rows[1] == ("published/", 4_000_010, None)
    lines = sizes.in_words(rows)
    assert [line.split()[-1] for line in lines if "report.html" in line] == ["met", "missed", "met"]
    assert lines[1].split() == ["all", "tracked", "files", "4.00", "12.00", "met"]


def test_a_folder_without_git_is_refused(tmp_path):
    with pytest.raises(StudyError, match="sizes are read from git"):
        sizes.tracked(tmp_path)
