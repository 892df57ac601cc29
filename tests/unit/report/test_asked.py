"""What the first screen makes of an answered question: a hint, an explanation, or neither."""

import pytest

from report.asked import told, unseen_failures

QUESTION = {"ask": "Is it so?", "compare": ["fairseq-pretrained", "tfidf_words"]}
ROW = {"answer": "open", "n_runs_then": "0", "n_failed": "0", "measure": "accuracy", "score_difference": "0.05"}
ROW |= {"equal_within": "", "texts_half_width": "0.01", "failure_high": "0.7", "seeds_planned": "6"}
ROW |= {"score_difference_low": "0.002", "score_difference_high": "0.1"}


def of(**changes):
    return told(ROW | changes, QUESTION)


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
    # Of a margin of 6 points one is left beside a difference of 5.
    assert of(equal_within="0.06", texts_half_width="0.0101")["texts_alone"]
    assert not of(equal_within="0.06", texts_half_width="0.0099")["texts_alone"]


def test_a_contrast_is_written_with_names_for_readers():
    assert of()["contrast"] == "fairseq, pretrained − a linear model of words"
    pairs = {"compare": [["a", "b"], ["c", "tfidf_words-n300"]]}
    assert told(ROW, pairs)["contrast"] == "(a − b) − (c − a linear model of words on 300 texts)"


def test_the_failure_rate_is_told_only_where_no_run_failed():
    assert unseen_failures([ROW, ROW | {"failure_high": "0.9"}]) == "0.9"
    assert unseen_failures([ROW, ROW | {"n_failed": "1"}]) is None
    assert unseen_failures([ROW | {"failure_high": ""}]) is None
