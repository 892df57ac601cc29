"""The measures against scikit-learn's, and their values of single texts against what these stand for."""

import re

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    log_loss,
    matthews_corrcoef,
)

import measures
from analysis import contrasts, inference
from measures import _jackknife
from support.environments import ROOT

OF_SKLEARN = {
    "accuracy": lambda labels, answers, probabilities, classes: accuracy_score(labels, answers),
    "macro_f1": lambda labels, answers, probabilities, classes: f1_score(
        labels, answers, labels=classes, average="macro", zero_division=0
    ),
    "balanced_accuracy": lambda labels, answers, probabilities, classes: balanced_accuracy_score(labels, answers),
    "weighted_f1": lambda labels, answers, probabilities, classes: f1_score(
        labels, answers, labels=classes, average="weighted", zero_division=0
    ),
    "kappa": lambda labels, answers, probabilities, classes: cohen_kappa_score(labels, answers),
    "mcc": lambda labels, answers, probabilities, classes: matthews_corrcoef(labels, answers),
    "loss": lambda labels, answers, probabilities, classes: log_loss(labels, probabilities, labels=classes),
}

TO_THE_LAST_DIGIT = {"accuracy", "macro_f1", "balanced_accuracy", "weighted_f1", "kappa"}


def drawn(n, n_classes, seed, skill=2.0):
    """Labels with a rare last class, and answers of a classifier with some skill."""
    generator = np.random.default_rng(seed)
    shares = np.array([1.0] * (n_classes - 1) + [0.2])
    labels = generator.choice(n_classes, size=n, p=shares / shares.sum())
    logits = generator.normal(size=(n, n_classes))
    logits[np.arange(n), labels] += skill * generator.random(n)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return labels, probabilities.argmax(axis=1), probabilities


def test_each_measure_is_compared():
    """Measures of other kinds of labels: tests/unit/analysis/test_measures_of_kinds.py."""
    ours = [name for name in measures.names() if "classification" in measures.tasks_of(name)]
    assert set(OF_SKLEARN) == set(ours)
    for name in measures.names():
        assert measures.load(name).LABEL and isinstance(measures.load(name).UNIT, str)
        assert measures.best(name).endswith(measures.load(name).LABEL)


def test_names_are_quoted_in_their_own_folder_only():
    """Accuracy and loss, which every training records, apart; a kind of labels names the measure that leads it."""
    names = "|".join(set(measures.names()) - set(measures.RECORDED))
    quoting = [
        str(path.relative_to(ROOT))
        for folder in ("scripts", "rules", "report", "schemas", "tools")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".smk", ".j2", ".yaml") and path.parent.name not in ("measures", "tasks")
        if path != ROOT / "tools" / "coverage.py"  # it simulates them by name
        if re.search(rf"""(["'])({names})\1""", path.read_text(encoding="utf-8"))
    ]
    assert quoting == []


@pytest.mark.parametrize("name", OF_SKLEARN)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_a_runs_value_is_scikit_learns(name, n_classes):
    for seed in range(5):
        given = drawn(150, n_classes, seed)
        wanted = OF_SKLEARN[name](*given, list(range(n_classes)))
        found = measures.load(name).value(*given)
        assert found == (wanted if name in TO_THE_LAST_DIGIT else pytest.approx(wanted, abs=1e-12))


@pytest.mark.parametrize("name", OF_SKLEARN)
@pytest.mark.parametrize("answer", [0, 1])
def test_constant_answers_and_a_class_that_never_occurs_have_values(name, answer):
    labels, probabilities = np.zeros(10, dtype=int), np.tile(np.eye(3)[answer], (10, 1))
    given = labels, probabilities.argmax(axis=1), probabilities
    measure = measures.load(name)
    assert np.isfinite(measure.value(*given)) and np.isfinite(measure.items(*given)).all()
    assert measures.load("mcc").value(*given) == 0


@pytest.mark.parametrize("name", OF_SKLEARN)
def test_the_values_of_texts_are_those_of_the_jackknife(name):
    measure, given = measures.load(name), drawn(60, 3, 1)
    found = measure.items(*given)
    assert found.shape == (60,)
    assert found == pytest.approx(_jackknife.leave_one_out(measure.value, *given), abs=1e-9)
    # Exact for a mean over texts, otherwise but for the bias of the jackknife, which falls with the number of texts.
    assert found.mean() == pytest.approx(measure.value(*given), abs=1e-9 if name in ("accuracy", "loss") else 0.02)


def test_a_measure_without_values_of_texts_gets_them(monkeypatch):
    monkeypatch.delattr(measures.load("macro_f1"), "items")
    measures.load.cache_clear()
    given = drawn(40, 3, 2)
    found = measures.load("macro_f1").items(*given)
    monkeypatch.undo()
    measures.load.cache_clear()
    assert found == pytest.approx(measures.load("macro_f1").items(*given), abs=1e-9)


def test_a_certain_and_wrong_answer_costs_a_number():
    assert 80 < measures.load("loss").value(np.array([0]), np.array([1]), np.array([[0.0, 1.0]])) < 90


@pytest.mark.parametrize("name", ["macro_f1", "mcc", "balanced_accuracy", "weighted_f1", "kappa"])
def test_the_interval_with_pseudo_values_covers(name):
    """Arms of five seeds with a class of 5 %: seeds share their texts and differ in skill.

    With 200 studies a coverage of 95 % is seen as 92 to 98 % nearly always; Student's t over seeds alone has far less,
    since the texts' share of the spread is none of theirs.
    """
    generator, measure = np.random.default_rng(1), measures.load(name)
    n, n_seeds, shares = 400, 5, [0.95, 0.05]

    def study(n):
        labels = generator.choice(2, size=n, p=shares)
        hard = generator.normal(size=n)
        runs = []
        for _ in range(n_seeds):
            right = hard + 0.7 * generator.normal(size=n) + 0.05 * generator.normal() < np.where(labels == 1, 0.3, 2.0)
            runs.append(np.where(right, labels, 1 - labels))
        return labels, runs

    def scored(labels, runs):
        nothing = np.zeros((len(labels), 2))
        return [measure.value(labels, answers, nothing) for answers in runs], np.stack(
            [measure.items(labels, answers, nothing) for answers in runs]
        )

    truth = np.mean([scored(*study(100_000))[0] for _ in range(3)])
    covered = alone = 0
    for _ in range(200):
        values, items = scored(*study(n))
        low, high = contrasts.interval([contrasts.Term(1, items)], float(np.mean(values)), 0.95)
        covered += low <= truth <= high
        low, high = inference.t_interval(values)
        alone += low <= truth <= high
    assert covered / 200 >= 0.9 > 0.8 > alone / 200
