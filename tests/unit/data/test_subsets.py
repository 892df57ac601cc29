"""Subsets of the training reviews: stratified, each within the next, the same at every draw."""

import pytest

from common.errors import StudyError
from common.files import read_lines, write_lines
from data import draw_subset
from data.subsets import nested_order

# 60 reviews of class 0, 30 of class 1, 10 of class 2, in no order.
LABELS = [0 if i % 10 < 6 else 1 if i % 10 < 9 else 2 for i in range(100)]


def test_every_subset_has_its_share_of_every_class():
    order = nested_order(LABELS, seed=1)
    assert sorted(order) == list(range(100))
    for n in range(1, 101):
        drawn = [LABELS[place] for place in order[:n]]
        for label, share in ((0, 0.6), (1, 0.3), (2, 0.1)):
            assert abs(drawn.count(label) - share * n) <= 1
    assert [[LABELS[i] for i in order[:50]].count(k) for k in (0, 1, 2)] == [30, 15, 5]


def test_the_seed_decides_who_is_drawn():
    assert nested_order(LABELS, 1) == nested_order(LABELS, 1)
    first, other = (set(nested_order(LABELS, seed)[:40]) for seed in (1, 2))
    assert first != other


@pytest.fixture
def training(tmp_path):
    write_lines(
        tmp_path / "train.review",
        [f"avis numéro {i} {'bon' if label else 'mauvais'}" for i, label in enumerate(LABELS)],
    )
    write_lines(tmp_path / "train.label", [str(min(label, 1)) for label in LABELS])
    return tmp_path


def drawn(folder, n):
    paths = [str(folder / f"train-{n}.{kind}") for kind in ("review", "label")]
    draw_subset.main(str(folder / "train.review"), str(folder / "train.label"), *paths, n, seed=1)
    return [read_lines(path) for path in paths]


def test_a_subset_lies_within_the_next_in_the_files_own_order(training):
    lines = read_lines(training / "train.review")
    small, middle = (drawn(training, n)[0] for n in (10, 30))
    assert len(small) == 10 and len(middle) == 30 and set(small) < set(middle)
    assert [lines.index(text) for text in small] == sorted(lines.index(text) for text in small)
    texts, labels = drawn(training, 30)
    assert all(("bon" in text) == (label == "1") for text, label in zip(texts, labels, strict=True))


def test_the_subset_of_all_is_the_training_reviews_themselves(training):
    assert drawn(training, 100) == [read_lines(training / f"train.{kind}") for kind in ("review", "label")]


def test_too_many_or_too_few_are_refused_with_the_remedy(training):
    with pytest.raises(StudyError, match="n_train is 101, more than the 100 training reviews"):
        drawn(training, 101)
    write_lines(training / "train.label", ["0"] * 98 + ["1"] * 2)
    with pytest.raises(StudyError, match="n_train is 2, and then positive has no review to learn from; raise it"):
        drawn(training, 2)
    assert not (training / "train-101.review").exists()
