"""The simple models: what they learn, what they do not see, and the predictions that they leave like every arm."""

import random

import pytest

from analysis.prediction_tables import read_predictions
from common.errors import StudyError
from common.files import read_json, read_tsv, write_lines
from data.reviews import SPLITS
from finetuning.seals import check_seal
from frameworks.linear import score, train
from frameworks.linear.models import FEATURES, answers, choose
from study.baselines import check_baselines, linear_arms


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


def accuracy(model, split):
    chosen, _ = answers(model, split[0], 2)
    return sum(chosen == split[1]) / len(split[1])


def test_the_largest_class_and_of_equals_the_first():
    for labels, expected in (([1, 0, 1], 1), ([1, 0], 0)):
        penalty, *_, model = choose((["a"] * len(labels), labels), (["b"], [0]), "majority")
        assert penalty is None and answers(model, ["c"], 2)[0].tolist() == [expected]


@pytest.mark.parametrize("features", ["tfidf_words", "tfidf_characters"])
def test_words_that_decide_are_learnt(features):
    penalty, n_correct, _, model = choose(reviews(80, 1), reviews(20, 2), features)
    assert penalty == 0.1 and n_correct == 20  # the smallest of equals
    assert accuracy(model, reviews(40, 3)) == 1


@pytest.mark.parametrize("features", list(FEATURES))
def test_labels_without_words_are_not_learnt(features):
    *_, model = choose(reviews(300, 1, False), reviews(50, 2, False), features)
    assert abs(accuracy(model, reviews(400, 3, False)) - 0.5) < 0.1


def test_the_vocabulary_is_of_train_alone():
    *_, model = choose(reviews(40, 1), reviews(20, 2), "tfidf_words")
    # Unseen words only: both texts must look alike.
    assert len(set(answers(model, ["inconnu", "jamais vu"], 2)[0].tolist())) == 1


def test_a_class_that_training_never_saw_has_probability_0():
    texts, labels = reviews(40, 1)
    *_, model = choose(
        (texts, [2 * label for label in labels]), (texts, [2 * label for label in labels]), "tfidf_words"
    )
    _, probabilities = answers(model, ["excellent"], 3)
    assert probabilities[0, 1] == 0 and probabilities.sum() == pytest.approx(1)


def write_splits(folder):
    paths = {kind: {split: str(folder / f"{split}.{kind}") for split in SPLITS} for kind in ("review", "label")}
    for number, (split, n) in enumerate(zip(SPLITS, (60, 20, 30), strict=True)):
        for kind, lines in zip(("review", "label"), reviews(n, number + 1), strict=True):
            write_lines(paths[kind][split], map(str, lines))
    return paths["review"], paths["label"]


def run(folder, texts, labels):
    """Choose and score the default simple models; return their predictions' paths by arm."""
    arms = linear_arms({"arms": {}, "baselines": list(FEATURES)})
    records, selected, predictions = (
        [str(folder / name / file) for name in arms] for file in ("run.json", "selected.json", "test.tsv")
    )
    learnt = [texts["train"]], [labels["train"]]
    train.main(*learnt, texts["valid"], labels["valid"], records, selected, arms, ["train"])
    seals = [str(folder / "predictions" / name / "seed0.json") for name in arms]
    score.main(*learnt, records, selected, texts["test"], labels["test"], predictions, seals, arms, ["train"])
    for files in zip(seals, predictions, records, selected, strict=True):
        check_seal(files[0], dict(zip(("predictions", "record", "selected"), files[1:], strict=True)))
    return dict(zip(arms, predictions, strict=True))


def test_they_leave_records_and_predictions_like_every_arm(tmp_path):
    texts, labels = write_splits(tmp_path)
    made = {name: run(tmp_path / name, texts, labels) for name in ("first", "again")}
    for arm, path in made["first"].items():
        frame = read_predictions(path)
        assert frame["label"].tolist() == read_tsv_column(labels["test"])
        with open(path, "rb") as one, open(made["again"][arm], "rb") as other:
            assert one.read() == other.read()
        record = read_json(str(tmp_path / "first" / arm / "run.json"))
        assert (record["arm"], record["framework"], record["model"], record["seed"]) == (arm, "linear", arm, 0)
        assert (record["n_train"], record["n_valid"]) == (60, 20)
    right = read_tsv(made["first"]["tfidf_words"])
    assert all(row["label"] == row["prediction"] for row in right)
    write_lines(labels["valid"], ["1"])
    with pytest.raises(StudyError, match="valid.review has 20 reviews but .*valid.label has 1 labels"):
        run(tmp_path / "broken", texts, labels)


def read_tsv_column(path):
    with open(path, encoding="utf-8") as handle:
        return handle.read().split()


def test_the_test_labels_decide_no_answer(tmp_path):
    texts, labels = write_splits(tmp_path)
    before = [row["prediction"] for row in read_tsv(run(tmp_path / "a", texts, labels)["tfidf_words"])]
    write_lines(labels["test"], [str(1 - int(label)) for label in read_tsv_column(labels["test"])])
    after = [row["prediction"] for row in read_tsv(run(tmp_path / "b", texts, labels)["tfidf_words"])]
    assert before == after


def test_three_classes_have_three_probabilities(tmp_path):
    train_split = (["un deux"] * 6 + ["trois quatre"] * 6 + ["cinq six"] * 6, [0] * 6 + [1] * 6 + [2] * 6)
    *_, model = choose(train_split, train_split, "tfidf_words")
    chosen, probabilities = answers(model, ["un", "trois", "six"], 3)
    assert chosen.tolist() == [0, 1, 2] and probabilities.argmax(axis=1).tolist() == [0, 1, 2]
    assert probabilities.sum(axis=1) == pytest.approx([1, 1, 1])


def test_the_arms_of_a_study_with_subsets_and_a_name_that_is_taken():
    finetuning = {"arms": {"a": {"n_train": 300}, "b": {}}, "baselines": ["majority", "tfidf_words"]}
    assert list(linear_arms(finetuning)) == ["majority-n300", "tfidf_words-n300", "majority", "tfidf_words"]
    assert linear_arms(finetuning)["majority-n300"] == {"features": "majority", "split": "train-300"}
    assert list(check_baselines(finetuning)) == []
    finetuning["arms"]["tfidf_words"] = {}
    assert "finetuning.arms.tfidf_words has the name of a simple model" in next(check_baselines(finetuning))
