"""A study led by macro-F1: what every screen, table and figure says is macro-F1, and its values are scikit-learn's."""

import re

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from common.files import read_json, read_tsv
from support import studies, trees

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

STUDY = studies.merged(
    studies.TINY,
    {"study": "led", "measure": "macro_f1", "finetuning": {"seeds": [1, 2], "measures": ["accuracy"]}},
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return trees.finished(trees.ROOT, tmp_path_factory.mktemp("study"), STUDY)


def macro_f1(results, arm, seed):
    rows = read_tsv(results / "predictions" / arm / f"seed{seed}.tsv")
    labels, answers = (np.array([int(row[name]) for row in rows]) for name in ("label", "prediction"))
    return f1_score(labels, answers, average="macro", zero_division=0), accuracy_score(labels, answers)


def test_every_run_and_mean_is_scikit_learns(results):
    runs = read_tsv(results / "runs.tsv")
    for row in runs:
        score, accuracy = macro_f1(results, row["arm"], row["seed"])
        assert (float(row["test_score"]), float(row["test_accuracy"])) == (score, accuracy)
    for row in read_tsv(results / "test_macro_f1.tsv"):
        values = [macro_f1(results, row["arm"], seed)[0] for seed in (1, 2)]
        assert float(row["mean"]) == pytest.approx(np.mean(values), abs=1e-12)
        assert float(row["sd_ddof1"]) == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    for row in read_tsv(results / "baselines.tsv"):
        assert float(row["test_score"]) == macro_f1(results, row["baseline"], 0)[0]


def test_the_epoch_with_the_best_macro_f1_is_tested(results):
    for path in sorted(results.glob("finetuning/*-*/seed*/selected.json")):
        chosen, history = read_json(path), read_tsv(path.with_name("history.tsv"))
        values = {int(row["epoch"]): float(row["value"]) for row in history if row["metric"] == "macro_f1"}
        assert len(values) == 2 and chosen["valid_score"] == max(values.values()) == values[chosen["epoch"]]


def test_the_curves_are_of_macro_f1(results):
    for row in read_tsv(results / "figures" / "macro_f1_by_epoch" / "huggingface-pretrained.tsv"):
        if row["split"] == "test" and row["chosen"] == "true":
            score = macro_f1(results, "huggingface-pretrained", row["seed"])[0]
            assert float(row["score"]) == pytest.approx(score, abs=1e-12)
    drawing = (results / "figures" / "macro_f1_by_epoch" / "huggingface-pretrained.svg").read_text(encoding="utf-8")
    assert "macro-F1 (%)" in drawing and "accuracy" not in drawing


def test_questions_and_pairs_are_about_macro_f1(results):
    means = {row["arm"]: float(row["mean"]) for row in read_tsv(results / "test_macro_f1.tsv")}
    for row in read_tsv(results / "statistics" / "pairs.tsv"):
        assert float(row["difference"]) == pytest.approx(means[row["arm_a"]] - means[row["arm_b"]], abs=1e-12)
    asked = read_tsv(results / "questions.tsv")
    assert {row["measure"] for row in asked} == {"macro_f1"}
    first = asked[0]["contrast"].split()
    assert float(asked[0]["score_difference"]) == pytest.approx(means[first[0]] - means[first[2]], abs=1e-12)
    assert {row["measure"] for row in read_tsv(results / "measures" / "arms.tsv")} == {"accuracy"}


def test_the_page_leads_with_macro_f1(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    text = " ".join(re.sub("<[^>]+>", " ", re.sub("&nbsp;", " ", page)).split())
    best = max(float(row["mean"]) for row in read_tsv(results / "test_macro_f1.tsv"))
    assert re.search(rf"the highest mean test macro-F1[:,] {100 * best:.2f} %", text)
    for words in (
        "Test macro-F1 by arm",
        "Macro-F1 by epoch",
        "points of test macro-F1",
        "Values of macro-F1 are in per cent",
        "test macro-F1 (%)",
        "highest macro-F1 on",
        "beside macro-F1, which alone leads the page",
    ):
        assert words in text, words
    for words in ("mean test accuracy", "Test accuracy in percent", "Accuracy by epoch", "Accuracies are"):
        assert words not in text, words
    figures = read_tsv(results / "report_numbers.tsv")
    assert "results/led/test_macro_f1.tsv" in {row["file"] for row in figures}
