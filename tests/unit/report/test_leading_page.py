"""A page that another measure than accuracy leads: words and numbers are that measure's, and every one is checked."""

import html
import random
import re

import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss

import measures
from analysis import answer_questions, compare_baselines, compute_statistics
from common.files import read_tsv, write_json
from finetuning.prediction_files import write_rows
from report.leading import Shown
from study.questions import register
from support.report_study import make_study
from support.result_sets import check_page, make_page

ARMS = {
    f"{framework}-{init}": {"framework": framework, "model": "checkpoint", "init": init}
    for framework, init in (("fairseq", "pretrained"), ("fairseq", "random"), ("huggingface", "pretrained"))
}
QUESTION = {"ask": "Does pretraining help?", "compare": ["fairseq-pretrained", "fairseq-random"]}


def settings_of(measure):
    return {"study": "led", "measure": measure, "finetuning": {"arms": ARMS, "seeds": [1, 2, 3], "select_by": measure}}


def simple_model(folder, measure):
    """Write a simple model that answers by chance; return its files."""
    rows = read_tsv(folder / "predictions" / "fairseq-random" / "seed1.tsv")
    labels, draw = [int(row["label"]) for row in rows], random.Random(1)
    probable = np.array([[1 - p, p] for p in (draw.random() for _ in labels)])
    files = [str(folder / f"simple-{name}") for name in ("run.json", "selected.json", "predictions.tsv")]
    record = {"arm": "tfidf_words", "model": "tfidf_words", "features": "TF-IDF", "n_train": 1800, "n_valid": 200}
    write_json(files[0], record)
    write_json(files[1], {"C": 1.0, "valid_accuracy": 0.5, "measure": measure, "valid_score": 0.5})
    write_rows(files[2], labels, probable.argmax(axis=1).tolist(), probable)
    return files


@pytest.fixture(scope="module", params=["macro_f1", "loss", "mcc"])
def led(request, tmp_path_factory):
    """(measure, folder, text of the page) of three arms of three seeds, with statistics, a question, a simple model."""
    measure, folder = request.param, tmp_path_factory.mktemp(request.param)
    files = make_study(folder, measure=measure)
    keys = [(arm, str(seed)) for arm in ARMS for seed in (1, 2, 3)]
    predictions = [str(folder / "predictions" / arm / f"seed{seed}.tsv") for arm, seed in keys]
    names = ("arms", "pairs", "mcnemar", "method", "learned")
    made = {name: str(folder / f"{name}.{'json' if name == 'method' else 'tsv'}") for name in names}
    compute_statistics.main(files["runs"], predictions, keys, files["manifest"], **made)
    record, selected, answers = simple_model(folder, measure)
    tables = [str(folder / name) for name in ("baselines.tsv", "against.tsv", "questions.tsv")]
    simple = ([record], [selected], [answers], ["tfidf_words"])
    compare_baselines.main(files["runs"], predictions, keys, *simple, *tables[:2])
    question = QUESTION | {"measure": measure}
    register(str(folder), [question], lambda measure: [])
    answer_questions.main(
        files["runs"], predictions, [], made["learned"], tables[2], keys, [], [question], folder / "questions.json"
    )
    files |= {"arm_statistics": made.pop("arms"), "baselines": tables[0], "against_baselines": tables[1]}
    files |= made | {"questions": tables[2]}
    files.pop("mcnemar")
    page = make_page(folder, files, settings_of(measure))
    check_page(folder, files, settings_of(measure))
    return measure, folder, " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())


def test_the_page_names_the_measure_and_not_accuracy(led):
    measure, _, text = led
    lead = Shown({"measure": measure})
    for words in (
        f"has the {lead.best} mean test {lead.label}:",
        f"Test {lead.label} by arm",
        f"{lead.title} by epoch",
        f"of test {lead.label}",
        f"test {lead.axis}",
        f"{lead.title} of the row",
        f"the {lead.best} {lead.label} on 200 validation reviews",
        f"Simple models on the same splits, test {lead.label}",
    ):
        assert words in text, words
    for words in ("test accuracy", "Test accuracy", "Accuracy by epoch", "Accuracies are", "permutation of paired"):
        assert words not in text, words


def test_its_numbers_are_scikit_learns(led):
    measure, folder, text = led
    if measure == "mcc":
        pytest.skip("compared in tests/unit/measures")
    means = {}
    for arm in ARMS:
        scores = []
        for seed in (1, 2, 3):
            rows = read_tsv(folder / "predictions" / arm / f"seed{seed}.tsv")
            labels, answers = ([int(row[name]) for row in rows] for name in ("label", "prediction"))
            probable = [float(row["probability"]) for row in rows]
            of_classes = measure == "macro_f1"
            scores.append(f1_score(labels, answers, average="macro") if of_classes else log_loss(labels, probable))
        means[arm] = np.mean(scores)
    lead = Shown({"measure": measure})
    best = max(means.values(), key=lead.worth)
    printed = f"{100 * best:.2f} %" if measure == "macro_f1" else f"{best:.3f} nats"
    assert f"mean test {lead.label}: {printed} (" in text
    (row,) = read_tsv(folder / "questions.tsv")
    gap = means["fairseq-pretrained"] - means["fairseq-random"]
    assert (row["measure"], float(row["score_difference"])) == (measure, pytest.approx(gap, abs=1e-9))


def test_a_study_that_names_no_measure_is_led_by_accuracy():
    assert Shown({}).default and Shown(None).name == measures.DEFAULT
