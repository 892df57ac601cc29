"""Runs of frameworks without rules of their own: what their `score` may give, and the labels that come afterwards."""

import math

import numpy as np
import pytest

from analysis.prediction_tables import read_predictions
from common.errors import StudyError
from common.files import read_tsv
from finetuning import join_labels
from finetuning.prediction_files import checked_probabilities, summarise

CLASSES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([[0.5, 0.5]], "an array of shape (1, 2); return one row for each of the 1 texts"),
        ([0.5, 0.5, 0.0], "an array of shape (3,)"),
        ([[0.5, 0.6, 0.0]], "for text 1; return probabilities that sum to 1"),
        ([[1.5, -0.5, 0.0]], "for text 1"),
        ([[math.nan, 0.5, 0.5]], "for text 1"),
        ([[math.inf, 0.0, 0.0]], "for text 1"),
    ],
)
def test_what_are_no_probabilities_is_refused(found, said):
    with pytest.raises(StudyError) as caught:
        checked_probabilities(found, ["one text"], CLASSES, "nearest")
    assert said in str(caught.value) and str(caught.value).startswith("scripts/frameworks/nearest/score.py")


def test_loss_is_finite_where_a_true_class_has_probability_0():
    found = summarise(np.array([[1.0, 0.0], [0.25, 0.75]]), [1, 1])
    # -(log of the smallest normal float + log 0.75) / 2
    assert found["loss"] == pytest.approx(-(math.log(2.2250738585072014e-308) + math.log(0.75)) / 2)
    assert (found["accuracy"], found["n_correct"]) == (0.5, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_join_the_probabilities_and_ties_go_to_the_first_class(tmp_path, n_classes):
    classes = CLASSES[:n_classes]
    (tmp_path / "test.review").write_text("one\ntwo\nthree\nfour\n", encoding="utf-8")
    (tmp_path / "test.label").write_text(f"0\n1\n1\n{n_classes - 1}\n", encoding="utf-8")
    found = np.zeros((4, n_classes))
    found[:, :2] = [[0.5, 0.5], [0.1, 0.9], [0.75, 0.25], [1.0, 0.0]]
    np.save(tmp_path / "test.npy", found)
    paths = [str(tmp_path / name) for name in ("test.npy", "test.review", "test.label", "predictions.tsv")]
    join_labels.main(*paths, classes)
    rows = read_tsv(paths[-1])
    assert [(row["label"], row["prediction"]) for row in rows][:3] == [("0", "0"), ("1", "1"), ("1", "0")]
    column = "probability" if n_classes == 2 else "probability_1"
    assert [row[column] for row in rows] == ["0.5", "0.9", "0.25", "0.0"]
    assert len(read_predictions(paths[-1])) == 4
