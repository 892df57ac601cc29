"""The baselines: what they learn, what they do not see, and their exact interval."""

import random

import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from common.errors import StudyError
from common.files import read_tsv, write_lines
from data.lib.reviews import SPLITS
from data.lib.simple_models import baselines, fit_tfidf, majority
from data.train_baselines import main


def reviews(n, seed, informative=True):
    generator, texts, labels = random.Random(seed), [], []
    for i in range(n):
        label = i % 2
        words = [generator.choice(["roman", "page", "auteur", "texte", "fin"]) for _ in range(8)]
        if informative:
            words.append(("excellent" if label else "mauvais") + generator.choice(["", "s"]))
        texts.append(" ".join(words))
        labels.append(label)
    return texts, labels


def test_majority():
    assert majority([1, 0, 1]) == 1
    assert majority([1, 0]) == 0  # the first of equals


def test_words_that_decide_are_learnt():
    rows = baselines({"train": reviews(80, 1), "valid": reviews(20, 2), "test": reviews(40, 3)})
    assert [row["baseline"] for row in rows] == ["majority", "tfidf_words", "tfidf_characters"]
    assert rows[0]["test_accuracy"] == 0.5 and rows[0]["C"] is None
    assert rows[1]["test_accuracy"] == rows[2]["test_accuracy"] == 1
    assert rows[1]["C"] == 0.1  # the smallest of equals


def test_labels_without_words_are_not_learnt():
    rows = baselines({"train": reviews(300, 1, False), "valid": reviews(50, 2, False), "test": reviews(400, 3, False)})
    assert all(abs(row["test_accuracy"] - 0.5) < 0.1 for row in rows)


def test_exact_interval():
    # majority: 20 of 40; Clopper-Pearson: Beta(20, 21) and Beta(21, 20) quantiles
    row = baselines({"train": reviews(80, 1), "valid": reviews(20, 2), "test": reviews(40, 3)})[0]
    assert row["exact_low"] == pytest.approx(stats.beta.ppf(0.025, 20, 21))
    assert row["exact_high"] == pytest.approx(stats.beta.ppf(0.975, 21, 20))


def test_exact_interval_against_statsmodels():
    row = baselines({"train": reviews(80, 1, False), "valid": reviews(20, 2, False), "test": reviews(90, 3, False)})[1]
    oracle = proportion_confint(row["n_correct_test"], row["n_test"], alpha=0.05, method="beta")
    assert (row["exact_low"], row["exact_high"]) == pytest.approx(oracle)


def test_the_vocabulary_is_of_train_alone():
    _, _, predict = fit_tfidf(reviews(40, 1), reviews(20, 2), {"analyzer": "word"})
    # unseen words only: both texts must look alike
    assert len(set(predict(["inconnu", "jamais vu"]))) == 1


def test_files_twice_the_same(tmp_path):
    paths = {kind: [str(tmp_path / f"{split}.{kind}") for split in SPLITS] for kind in ("review", "label")}
    for number, n in enumerate((60, 20, 30)):
        for kind, lines in zip(paths, reviews(n, number + 1), strict=True):
            write_lines(paths[kind][number], map(str, lines))
    for name in ("a.tsv", "b.tsv"):
        main(paths["review"], paths["label"], str(tmp_path / name))
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    row = read_tsv(tmp_path / "a.tsv")[1]
    assert float(row["test_accuracy"]) == int(row["n_correct_test"]) / int(row["n_test"])
    write_lines(tmp_path / "valid.label", ["1"])
    with pytest.raises(StudyError, match="valid.review has 20 reviews but .*valid.label has 1 labels"):
        main(paths["review"], paths["label"], str(tmp_path / "a.tsv"))
