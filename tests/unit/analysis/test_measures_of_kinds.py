"""Measures of numbers and of sets of labels: values of scipy and scikit-learn, and the jackknife by its definition."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, root_mean_squared_error

import measures
from measures._jackknife import leave_one_out


def numbers(n, ties, seed=1):
    generator = np.random.default_rng(seed)
    labels = generator.normal(3, 1, n)
    answers = 0.7 * labels + generator.normal(0, 0.5, n)
    return (labels.round(1), answers.round(1)) if ties else (labels, answers)


def sets(n, k, seed=1):
    generator = np.random.default_rng(seed)
    labels = (generator.random((n, k)) < np.linspace(0.02, 0.6, k)).astype(int)
    return labels, np.where(generator.random((n, k)) < 0.8, labels, 1 - labels)


NUMBERS = {
    "pearson": lambda x, y: pearsonr(x, y).statistic,
    "spearman": lambda x, y: spearmanr(x, y).statistic,
    "rmse": root_mean_squared_error,
}
SETS = {
    "micro_f1": lambda x, y: f1_score(x, y, average="micro", zero_division=0),
    "macro_f1": lambda x, y: f1_score(x, y, average="macro", zero_division=0),
    "subset_accuracy": accuracy_score,
}


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", NUMBERS)
def test_of_numbers_value_and_items(name, ties):
    labels, answers = numbers(300, ties)
    measure = measures.load(name)
    assert measure.value(labels, answers, None) == pytest.approx(NUMBERS[name](labels, answers), abs=1e-12)
    wanted = [measure.value(np.delete(labels, i), np.delete(answers, i), None) for i in range(300)]
    wanted = 300 * measure.value(labels, answers, None) - 299 * np.array(wanted)
    assert measure.items(labels, answers, None) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_of_sets_value_and_items(name):
    labels, answers = sets(200, 5)
    measure, probabilities = measures.load(name), np.zeros((200, 5))
    assert measure.value(labels, answers, probabilities) == pytest.approx(SETS[name](labels, answers), abs=1e-12)
    wanted = leave_one_out(measure.value, labels, answers, probabilities)
    assert measure.items(labels, answers, probabilities) == pytest.approx(wanted, abs=1e-9)


def test_by_hand():
    # Distances 1, 0, 2: the root of 5 / 3.
    assert measures.load("rmse").value(np.array([1.0, 2, 3]), np.array([2.0, 2, 5]), None) == (5 / 3) ** 0.5
    labels, answers = np.array([[1, 0], [1, 1], [0, 0]]), np.array([[1, 0], [1, 0], [0, 1]])
    # Right: 2 of the first label; labels and answers: 2 + 1 and 2 + 1, so 2 * 2 / 6. By label: 2 * 2 / 4 and 0 / 2.
    assert measures.load("micro_f1").value(labels, answers, None) == 4 / 6
    assert measures.load("macro_f1").value(labels, answers, None) == 0.5
    assert measures.load("subset_accuracy").value(labels, answers, None) == 1 / 3


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_answers_that_never_vary_correlate_with_nothing(name):
    labels = np.arange(5.0)
    assert measures.load(name).value(labels, np.full(5, 0.1), None) == 0
    assert np.isfinite(measures.load(name).items(labels, np.full(5, 0.1), None)).all()
