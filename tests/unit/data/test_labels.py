"""More than two classes in the data: labels, draws, the audit's shares, the simple models."""

from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from common.errors import StudyError
from data.audit_data import describe_splits
from data.build_splits import split_reviews
from data.reviews import pair, parse_labels
from data.stratified import draw
from frameworks.linear.models import FEATURES, answers, choose, described
from study.figures import majority_shares
from tasks.classification import counts

CLASSES = ["delivery", "payment", "product"]


def test_labels_are_numbers_of_classes():
    assert parse_labels(b"0\n2\n1\n", "x.label", CLASSES) == [0, 2, 1]
    for text in ("3", "-1", "00", "product", "1.0"):
        with pytest.raises(StudyError, match=r"x.label, line 2: label '.*' is no number of a class, 0 \(del"):
            parse_labels(f"0\n{text}\n".encode(), "x.label", CLASSES)
    with pytest.raises(StudyError, match=r"x.label has no review of class 1: every class is \(payment has number 1\)"):
        pair(["a", "b"], [0, 2], "x.review", "x.label", CLASSES)


def test_draws_keep_the_shares_of_every_class():
    labels = [0] * 60 + [1] * 30 + [2] * 10
    valid, train = draw(labels, [20, 50], 3, 3)
    assert not set(valid) & set(train)
    assert Counter(labels[i] for i in valid) == {0: 12, 1: 6, 2: 2}
    assert Counter(labels[i] for i in train) == {0: 30, 1: 15, 2: 5}
    # Two classes are drawn as before there were more.
    assert draw([0, 1] * 10, [6], 1) == draw([0, 1] * 10, [6], 1, 2)


def test_a_split_without_a_rare_class_names_it():
    rows = [(f"text {i}", 0 if i < 30 else 1 if i < 58 else 2) for i in range(60)]
    source = {"train": rows, "test": rows}
    with pytest.raises(StudyError, match=r"the valid split has no review of class 2 \(product\): raise data.n_valid"):
        split_reviews(source, 40, 2, None, 1, CLASSES)
    # 6 of 60 in proportion would be 3, 3 and 0: the rare class takes one of the largest's.
    assert {label for _, label in split_reviews(source, 40, 6, None, 1, CLASSES)["valid"]} == {0, 1, 2}
    assert {label for _, label in split_reviews(source, 30, 30, None, 1, CLASSES)["valid"]} == {0, 1, 2}


def test_the_manifest_counts_each_class_and_the_bar_is_the_largest():
    assert counts([0, 2, 2, 1, 2], 3) == {"n_by_class": [1, 1, 3]}
    assert counts([0, 1, 1], 2) == {"n_positive": 2, "n_by_class": [1, 2]}
    manifest = {"splits": {"test": {"n": 5, "n_by_class": [1, 1, 3]}}}
    assert majority_shares(manifest, ["test"]) == {"test": 0.6}


def test_the_audit_has_the_share_of_every_class():
    rows = list(describe_splits({"train": [0, 0, 1, 2]}, {}, CLASSES))
    assert [(row["check"], row["value"]) for row in rows] == [
        ("share delivery", 0.5), ("share payment", 0.25), ("share product", 0.25),
    ]  # fmt: skip
    (row,) = describe_splits({"train": [0, 0, 1, 1, 1]}, {})
    assert (row["check"], row["value"], row["n"]) == ("share positive", 0.6, 5)


def texts(n, seed):
    generator = np.random.default_rng(seed)
    labels = generator.choice(3, n, p=[0.6, 0.3, 0.1]).tolist()
    fillers = generator.choice(["le", "colis", "carte", "objet"], (n, 4))
    return [
        " ".join([*words, ("livraison", "paiement", "produit")[k]]) for words, k in zip(fillers, labels, strict=True)
    ], labels


def test_the_simple_models_tell_three_classes_apart():
    splits = {"train": texts(120, 1), "valid": texts(40, 2), "test": texts(60, 3)}
    for features in FEATURES:
        *_, model = choose(splits["train"], splits["valid"], features)
        chosen, _ = answers(model, splits["test"][0], 3)
        expected = splits["test"][1] if features != "majority" else [0] * 60
        assert chosen.tolist() == expected
        if features == "majority":
            assert described(model, features, CLASSES) == "always class 0 (delivery)"


def test_each_class_against_the_others_is_what_two_classes_have():
    """The solver refuses three classes itself: of two, one model against the other is the same as without."""
    features, labels = np.random.default_rng(1).normal(size=(40, 3)), [0, 1] * 20
    own = LogisticRegression(C=1.0, solver="liblinear", random_state=0)
    wrapped = OneVsRestClassifier(own).fit(features, labels).predict(features)
    assert (wrapped == own.fit(features, labels).predict(features)).all()
