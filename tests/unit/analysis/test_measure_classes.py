"""Measures by class: by hand, as scikit-learn has them, and over seeds."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from analysis import measure_classes, measure_errors
from common.files import read_tsv, write_tsv

COLUMNS = ("arm", "seed", "label", "prediction", "n_reviews", "share")


def written(folder, runs, n_classes, labels):
    """Measure runs, {(arm, seed): (N,) answers}, through `measure_confusion`; return the three tables."""
    import pandas

    texts = pandas.Series([str(label) for label in labels])
    answers = pandas.DataFrame({run: [str(answer) for answer in of] for run, of in runs.items()})
    classes = [str(k) for k in range(n_classes)]
    confusion = measure_errors.measure_confusion(list(runs), texts, answers, classes)
    write_tsv(folder / "confusion.tsv", confusion.to_dict("records"), COLUMNS)
    paths = [str(folder / f"{name}.tsv") for name in ("by_class", "macro", "confusion_arms")]
    measure_classes.main(str(folder / "confusion.tsv"), *paths)
    return [read_tsv(path) for path in paths]


def random_runs(n_classes, n=400, seeds=3, seed=7):
    """Labels of unequal classes, and answers that are right in three of five."""
    generator = np.random.default_rng(seed)
    weights = np.arange(n_classes, 0, -1) ** 2.0
    labels = np.concatenate([np.arange(n_classes), generator.choice(n_classes, n, p=weights / weights.sum())])
    runs = {}
    for arm in ("fairseq-random", "mine"):
        for number in range(1, seeds + 1):
            other = generator.choice(n_classes, len(labels))
            runs[arm, str(number)] = np.where(generator.uniform(size=len(labels)) < 0.6, labels, other)
    return labels, runs


def test_three_classes_by_hand(tmp_path):
    # Class 0: 2 of 3 right; class 1: 1 of 2; class 2: its one review missed, and the answer never given.
    labels, answers = [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 0, 0]
    by_class, macro, cells = written(tmp_path, {("mine", "1"): answers}, 3, labels)
    found = {(row["label"], row["metric"]): float(row["mean"]) for row in by_class}
    # Answers: class 0 four times, two right; class 1 twice, one right; class 2 never.
    assert [found[str(k), "precision"] for k in range(3)] == [0.5, 0.5, 0.0]
    assert [found[str(k), "recall"] for k in range(3)] == [pytest.approx(2 / 3), 0.5, 0.0]
    # 2 · 2 / (3 + 4), 2 · 1 / (2 + 2)
    assert [found[str(k), "f1"] for k in range(3)] == [pytest.approx(4 / 7), 0.5, 0.0]
    assert {row["metric"]: float(row["mean"]) for row in macro}["macro_f1"] == pytest.approx((4 / 7 + 0.5) / 3)
    assert [row["n_reviews"] for row in by_class[::3]] == ["3", "2", "1"]
    shares = {(row["label"], row["prediction"]): float(row["mean"]) for row in cells}
    assert shares == {("0", "0"): pytest.approx(2 / 3), ("0", "1"): pytest.approx(1 / 3), ("1", "0"): 0.5,
                      ("1", "1"): 0.5, ("2", "0"): 1.0, ("2", "2"): 0.0}  # fmt: skip
    # One seed has no interval.
    assert {row["t_low"] for row in [*by_class, *macro, *cells]} == {""}


@pytest.mark.parametrize("n_classes", [2, 3, 5, 40])
def test_as_scikit_learn_and_scipy_have_them(tmp_path, n_classes):
    labels, runs = random_runs(n_classes)
    by_class, macro, cells = written(tmp_path, runs, n_classes, labels)
    classes = list(range(n_classes))
    for arm in ("fairseq-random", "mine"):
        own = [answers for (name, _), answers in runs.items() if name == arm]
        theirs = [precision_recall_fscore_support(labels, answers, labels=classes, zero_division=0) for answers in own]
        for place, name in enumerate(("precision", "recall", "f1")):
            rows = [row for row in by_class if (row["arm"], row["metric"]) == (arm, name)]
            values = np.array([one[place] for one in theirs])  # (seeds, classes)
            assert [float(row["mean"]) for row in rows] == pytest.approx(values.mean(axis=0).tolist())
            assert [float(row["sd_ddof1"]) for row in rows] == pytest.approx(values.std(axis=0, ddof=1).tolist())
            assert [int(row["n_reviews"]) for row in rows] == theirs[0][3].tolist()
        (row,) = [row for row in macro if (row["arm"], row["metric"]) == (arm, "macro_f1")]
        values = [f1_score(labels, answers, average="macro") for answers in own]
        assert float(row["mean"]) == pytest.approx(np.mean(values))
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert (float(row["t_low"]), float(row["t_high"])) == pytest.approx((low, high))
        shares = np.mean([confusion_matrix(labels, answers, normalize="true") for answers in own], axis=0)
        found = {(int(r["label"]), int(r["prediction"])): float(r["mean"]) for r in cells if r["arm"] == arm}
        assert all(found.get(at, 0.0) == pytest.approx(value) for at, value in np.ndenumerate(shares))


def test_two_classes_have_every_cell(tmp_path):
    _, _, cells = written(tmp_path, {("mine", "1"): [0, 0, 1]}, 2, [0, 0, 1])
    assert [(row["label"], row["prediction"], float(row["mean"])) for row in cells] == [
        ("0", "0", 1.0), ("0", "1", 0.0), ("1", "0", 0.0), ("1", "1", 1.0),
    ]  # fmt: skip
