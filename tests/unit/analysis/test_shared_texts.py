"""Accuracy with and without the test texts that training or validation has: by hand."""

import numpy as np
import pytest

from analysis import measure_shared_texts
from common.errors import StudyError
from common.files import read_tsv, write_lines, write_tsv
from finetuning.prediction_files import write_rows

# Texts 0 and 3 of test are in train or valid; the others are not (a space more makes another text).
SPLITS = {"train": ["one", "two"], "valid": ["three", "four"], "test": ["one", "five", "two ", "four"]}
LABELS = [0, 1, 0, 1]
ANSWERS = {("arm", "1"): [0, 0, 0, 1], ("arm", "2"): [0, 1, 1, 1], ("simple", "0"): [0, 0, 0, 0]}


@pytest.fixture
def study(tmp_path):
    for split, texts in SPLITS.items():
        write_lines(tmp_path / f"{split}.review", texts)
    for (arm, seed), answers in ANSWERS.items():
        write_rows(tmp_path / f"{arm}{seed}.tsv", LABELS, answers, np.eye(2)[answers] * 0.8 + 0.1)
    write_tsv(tmp_path / "runs.tsv", [{"arm": "arm", "seed": seed} for seed in "12"], ("arm", "seed"))
    return tmp_path


def rows_of(folder, splits=("train", "valid", "test")):
    given = str(folder / "runs.tsv"), [str(folder / f"arm{seed}.tsv") for seed in "12"], [str(folder / "simple0.tsv")]
    reviews = [str(folder / f"{split}.review") for split in splits]
    table = str(folder / "shared.tsv")
    measure_shared_texts.main(*given, reviews, table, [("arm", "1"), ("arm", "2")], ["simple"])
    return read_tsv(table)


def test_texts_that_are_shared_are_left_out(study):
    arm, simple = rows_of(study)
    # Both runs are right on 3 of 4; without texts 0 and 3 on 1 of 2 each.
    assert (arm["n_test"], arm["n_shared"], arm["n_seeds"]) == ("4", "2", "2")
    assert (float(arm["mean"]), float(arm["mean_unshared"])) == (0.75, 0.5)
    assert (float(simple["mean"]), float(simple["mean_unshared"])) == (0.5, 0.5)
    assert simple["sd_unshared_ddof1"] == "" and float(arm["sd_ddof1"]) == 0


def test_where_nothing_is_shared_both_are_one(study):
    write_lines(study / "test.review", ["a", "b", "c", "d"])
    assert [(row["n_shared"], row["mean"] == row["mean_unshared"]) for row in rows_of(study)] == [("0", True)] * 2


def test_where_everything_is_shared_nothing_is_left_to_measure(study):
    write_lines(study / "test.review", ["one", "two", "three", "four"])
    assert rows_of(study) == []


def test_other_test_texts_are_refused(study):
    write_lines(study / "test.review", ["a", "b"])
    with pytest.raises(StudyError, match="has 2 texts, the predictions 4"):
        rows_of(study)
