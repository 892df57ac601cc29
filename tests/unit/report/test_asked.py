"""The first screen's words on an answered question: a hint, an explanation, or neither."""

import pytest

from report.asked import answered, asked_together, unseen_failures, written
from report.numbers import Value

ROW = {"answer": "open", "n_runs_then": "0", "n_failed": "0", "measure": "accuracy", "score_difference": "0.05"}
ROW |= {"equal_within": "", "texts_half_width": "0.01", "failure_high": "0.7", "seeds_planned": "6"}
ROW |= {"contrast": "fairseq-pretrained - tfidf_words", "score_difference_low": "0.002", "score_difference_high": "0.1"}


def of(**changes):
    return answered(ROW | changes)


def test_an_interval_without_zero_beside_an_open_answer_is_explained():
    assert of()["uncorrected"]
    assert not of(score_difference_low="-0.01")["uncorrected"]
    assert not of(answer="difference")["uncorrected"]
    assert not of(score_difference_low="", score_difference_high="")["uncorrected"]
    # Equality is another test, whose interval may leave out zero.
    assert not of(equal_within="0.2")["uncorrected"]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [({}, "shown"), ({"n_runs_then": "3"}, "partly"), ({"n_failed": "1"}, "partly")],
    ids=["beforehand", "later", "failed"],
)
def test_an_answer_asked_later_or_of_failed_runs_is_a_hint(changes, kind):
    assert of(answer="difference", **changes)["class"] == kind
    assert of(**changes)["class"] == "open"


def test_texts_that_leave_more_than_must_be_told_apart_are_named():
    assert not of()["texts_alone"] and of(texts_half_width="0.05")["texts_alone"]
    # A difference of 5 points leaves one point of a margin of 6.
    assert of(equal_within="0.06", texts_half_width="0.0101")["texts_alone"]
    assert not of(equal_within="0.06", texts_half_width="0.0099")["texts_alone"]


def test_a_contrast_is_written_with_names_for_readers():
    assert of()["contrast"] == "fairseq, pretrained − a linear model of words"
    assert written("a - b - c + tfidf_words") == "(a − b) − (c − a linear model of words)"


def test_a_name_with_a_digit_has_its_record_like_every_number_of_the_page():
    """Without one the page of a study whose arms are called after their rates was refused."""
    cell = Value("pretrained-lr1e-5 - random", "questions.tsv", 1, "contrast")
    shown = str(written(cell).__html__())
    assert "word,0(questions.tsv|1|contrast)" in shown and "pretrained-lr1e-5" in shown
    assert "word" not in str(written("a - b"))


def test_the_failure_rate_is_told_only_where_no_run_failed():
    assert unseen_failures([ROW, ROW | {"failure_high": "0.9"}]) == "0.9"
    assert unseen_failures([ROW, ROW | {"n_failed": "1"}]) is None
    assert unseen_failures([ROW | {"failure_high": ""}]) is None


def test_questions_asked_afterwards_at_one_time_say_so_once():
    later = {"asked": "2026-01-02T10:00:00+00:00", "n_runs_then": "20", "later": True}
    assert asked_together([later, later]) == {"asked": later["asked"], "n_runs_then": "20"}
    # Runs of question answering are others than those of fine-tuning.
    assert asked_together([later, later | {"n_runs_then": "3"}])["n_runs_then"] is None
    assert asked_together([later]) is None and asked_together([later, later | {"later": False}]) is None
    assert asked_together([later, later | {"asked": "2026-01-03T10:00:00+00:00"}]) is None
