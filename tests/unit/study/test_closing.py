"""The terminal's closing lines, from tables written here."""

from common.files import write_tsv
from study.closing import closing, contrast

QUESTION = {
    "ask": "Does pretraining help?",
    "contrast": "fairseq-pretrained - my-arm",
    "measure": "accuracy",
    "unit": "share",
    "score_difference": "0.125",
    "level": "0.95",
    "score_difference_low": "-0.01",
    "score_difference_high": "0.26",
    "equal_within": "",
    "answer": "open",
}
SCORE = {"arm": "my-arm", "mean": "0.79499999", "sd_ddof1": "", "n_seeds": "1"}


def test_the_end_has_the_answers_a_table_and_the_path(tmp_path):
    assert closing(str(tmp_path)) == []  # there is no page
    (tmp_path / "report.html").touch()
    second = QUESTION | {"contrast": "a - b - c + d", "unit": "nats", "score_difference_low": "", "answer": "one_seed"}
    write_tsv(tmp_path / "questions.tsv", [QUESTION, second], list(QUESTION))
    write_tsv(tmp_path / "test_accuracy.tsv", [SCORE], list(SCORE))
    assert closing(str(tmp_path), 200) == [
        "",
        "Does pretraining help?",
        "  Not settled: fairseq, pretrained − my-arm is +12.50 points of accuracy (95 % interval −1.00 to +26.00).",
        "Does pretraining help?",
        "  Cannot be decided: (a − b) − (c − d) is +0.125 nats of accuracy.",
        "",
        "Test accuracy, %   mean     SD  seeds",
        "  my-arm  79.50      -      1",
        "",
        f"The report: {tmp_path}/report.html",
    ]
    assert max(map(len, closing(str(tmp_path), 60)[:-1])) < 60
    # An interval that leaves out 0 beside "Not settled" is explained; one that was asked for equality is not.
    for low, margin, said in (("0.01", "", True), ("0.01", "0.02", False), ("0.0", "", False)):
        one = QUESTION | {"score_difference_low": low, "equal_within": margin}
        write_tsv(tmp_path / "questions.tsv", [one], list(QUESTION))
        assert ("not corrected for the other questions; the answer is." in closing(str(tmp_path), 300)[2]) == said


def test_the_best_of_several_is_named_in_words():
    assert contrast("my-arm - best_of(baselines)") == "my-arm − the best simple model"
    assert contrast("best_of(a,b) - best_of(c,d)") == "the best of a, b − the best of c, d"
