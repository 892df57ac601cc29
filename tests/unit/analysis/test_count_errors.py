"""How many runs get each test review right."""

import pytest

from analysis import count_errors
from common.errors import StudyError
from common.files import read_tsv, write_tsv

COLUMNS = ("id", "label", "prediction", "probability")


def predictions(path, labels, answers):
    rows = [
        (i, label, answer, 0.9 if answer else 0.1)
        for i, (label, answer) in enumerate(zip(labels, answers, strict=True))
    ]
    write_tsv(path, [dict(zip(COLUMNS, row, strict=True)) for row in rows], COLUMNS)
    return path


def test_outcomes(tmp_path):
    labels = [0, 1, 1, 0]
    one = predictions(tmp_path / "1.tsv", labels, [0, 0, 1, 1])
    two = predictions(tmp_path / "2.tsv", labels, [0, 1, 0, 1])
    count_errors.main([one, two], tmp_path / "errors.tsv")
    rows = read_tsv(tmp_path / "errors.tsv")
    assert [row["n_right"] for row in rows] == ["2", "1", "1", "0"]
    assert [row["outcome"] for row in rows] == ["all right", "runs disagree", "runs disagree", "all wrong"]
    assert {row["n_runs"] for row in rows} == {"2"}


def test_other_reviews_are_told(tmp_path):
    one = predictions(tmp_path / "1.tsv", [0, 1], [0, 0])
    two = predictions(tmp_path / "2.tsv", [0, 0], [0, 1])
    with pytest.raises(StudyError, match="2.tsv and .*1.tsv are not of the same test reviews"):
        count_errors.main([one, two], tmp_path / "errors.tsv")
