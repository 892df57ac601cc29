"""Runs of frameworks without rules of their own: what their `score` may give, and the labels that come afterwards."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import f1_score

from analysis.prediction_tables import read_predictions
from common.errors import StudyError
from common.files import read_json, read_tsv
from finetuning import join_labels
from finetuning.plain_results import write_results
from finetuning.prediction_files import checked_scores, summarise

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
        checked_scores(found, ["one text"], CLASSES, "nearest")
    assert said in str(caught.value) and str(caught.value).startswith("scripts/frameworks/nearest/score.py")


def test_loss_is_finite_where_a_true_class_has_probability_0():
    found = summarise(np.array([[1.0, 0.0], [0.25, 0.75]]), [1, 1])
    # -(log of the smallest normal float + log 0.75) / 2
    assert found["loss"] == pytest.approx(-(math.log(2.2250738585072014e-308) + math.log(0.75)) / 2)
    assert (found["accuracy"], found["n_correct"]) == (0.5, 1)


@pytest.mark.parametrize(
    ("task", "found"),
    [("regression", [[math.nan]]), ("regression", [[1.0, 2.0]]), ("multilabel", [[0.5, 1.5, 0.0]])],
)
def test_what_are_no_scores_of_a_kind_is_refused(task, found):
    with pytest.raises(StudyError, match=r"score\.py: score returned"):
        checked_scores(found, ["one text"], CLASSES if task == "multilabel" else [], "command", task)
    # Probabilities of labels may sum to more than 1.
    assert checked_scores([[0.9, 0.8, 0.0]], ["one text"], CLASSES, "command", "multilabel").shape == (1, 3)


SETS, SET_SCORES = ["110", "000", "001"], np.array([[0.9, 0.5, 0.1], [0.2, 0.7, 0.0], [0.0, 0.0, 1.0]])
NUMBERS, NUMBER_SCORES = [1.0, 2.0, 4.0], np.array([[1.5], [1.0], [3.0]])


def test_the_leading_measure_of_every_kind_is_recorded(tmp_path):
    bits = np.array([[int(digit) for digit in row] for row in SETS])
    found = summarise(SET_SCORES, SETS, "multilabel", "macro_f1")
    # Two of three sets are whole; the second text has a label too many.
    assert (found["accuracy"], found["n_correct"]) == (2 / 3, 2)
    assert found["macro_f1"] == pytest.approx(f1_score(bits, SET_SCORES >= 0.5, average="macro"), abs=1e-12)
    found = summarise(NUMBER_SCORES, NUMBERS, "regression", "pearson")
    assert found == {"pearson": pytest.approx(pearsonr(NUMBERS, NUMBER_SCORES[:, 0]).statistic, abs=1e-12)}
    labels, scores = [0, 1, 1, 2], np.eye(3)[[0, 1, 0, 1]]
    write_results(tmp_path / "h.tsv", tmp_path / "s.json", {"valid": (scores, labels)}, measure="macro_f1")
    chosen = read_json(tmp_path / "s.json")
    wanted = f1_score(labels, [0, 1, 0, 1], average="macro", zero_division=0)
    assert (chosen["measure"], chosen["valid_score"]) == ("macro_f1", pytest.approx(wanted, abs=1e-12))
    assert (chosen["valid_accuracy"], chosen["epoch"]) == (0.5, 1)
    # Nothing is claimed where validation was not scored.
    write_results(tmp_path / "h.tsv", tmp_path / "s.json", {}, "regression", "pearson")
    assert read_json(tmp_path / "s.json")["valid_score"] is None
    with pytest.raises(StudyError, match="the answers have no probabilities, which the measure loss needs"):
        summarise(scores, labels, measure="loss")


@pytest.mark.parametrize(
    ("task", "labels", "scores", "rows"),
    [
        ("regression", NUMBERS, NUMBER_SCORES, [("1.0", "1.5"), ("2.0", "1.0"), ("4.0", "3.0")]),
        ("multilabel", SETS, SET_SCORES, [("110", "110"), ("000", "010"), ("001", "001")]),
    ],
)
def test_labels_of_every_kind_join_the_scores(tmp_path, task, labels, scores, rows):
    (tmp_path / "test.review").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "test.label").write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    np.save(tmp_path / "test.npy", scores)
    paths = [str(tmp_path / name) for name in ("test.npy", "test.review", "test.label", "predictions.tsv")]
    join_labels.main(*paths, CLASSES if task == "multilabel" else [], task=task)
    assert [(row["label"], row["prediction"]) for row in read_predictions(paths[-1]).to_dict("records")] == rows


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
