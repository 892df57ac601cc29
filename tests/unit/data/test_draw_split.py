"""The draws of seeds: stratified, disjoint, each seed's own, and nothing of them in the corpus."""

import json
from collections import Counter

import pytest

from common.errors import StudyError
from common.files import read_lines
from data import build_splits, draw_split
from data.draw_split import draw_reviews

LABELS = [0] * 60 + [1] * 30 + [2] * 10


@pytest.mark.parametrize("replace", [False, True], ids=["split", "bootstrap"])
def test_a_draw_has_the_shares_of_every_class_and_no_review_in_both_splits(replace):
    train, valid = draw_reviews(LABELS, 50, 20, [1, 3], 3, replace)
    # 20 of 60/30/10 are 12, 6 and 2; 50 of the 48/24/8 that are left are 30, 15 and 5.
    assert Counter(LABELS[k] for k in valid) == {0: 12, 1: 6, 2: 2}
    assert Counter(LABELS[k] for k in train) == {0: 30, 1: 15, 2: 5}
    assert not set(train) & set(valid) and len(set(valid)) == 20
    # 50 draws with replacement from 80 leave about 38 distinct ones.
    assert (30 < len(set(train)) < 46) if replace else len(set(train)) == 50


def test_a_seed_draws_the_same_again_and_another_seed_or_split_seed_draws_others():
    first = draw_reviews(LABELS, 50, 20, [1, 3], 3, False)
    assert draw_reviews(LABELS, 50, 20, [1, 3], 3, False) == first
    others = [draw_reviews(LABELS, 50, 20, seeds, 3, False) for seeds in ([1, 4], [2, 3])]
    assert all(set(other[0]) != set(first[0]) and set(other[1]) != set(first[1]) for other in others)
    # Both draws have the same validation reviews, so that they differ in the training reviews alone.
    assert draw_reviews(LABELS, 50, 20, [1, 3], 3, True)[1] == first[1]


def drawn(folder, seed, texts, values, sizes=(40, 20), **more):
    folder.mkdir(exist_ok=True)
    (folder / "pool.review").write_text("".join(f"{text}\n" for text in texts))
    (folder / "pool.label").write_text("".join(f"{value}\n" for value in values))
    counts = dict(zip(("train", "valid"), ({"n": n} for n in sizes), strict=True))
    (folder / "manifest.json").write_text(json.dumps({"splits": counts}))
    reviews, labels = ([str(folder / f"{split}-{seed}.{end}") for split in counts] for end in ("review", "label"))
    record = str(folder / f"{seed}.json")
    draw_split.main(
        *(str(folder / name) for name in ("pool.review", "pool.label", "manifest.json")), reviews, labels, record,
        seed=seed, split_seed=1, **{"how": "split", **more},
    )  # fmt: skip
    return [read_lines(file) for pair in zip(reviews, labels, strict=True) for file in pair], json.loads(
        (folder / f"{seed}.json").read_text()
    )


@pytest.mark.parametrize(
    ("task", "values", "classes"),
    [
        ("classification", [k % 2 for k in range(80)], ["no", "yes"]),
        ("multilabel", [f"{k % 2}{k % 3 // 2}" for k in range(80)], ["joy", "fear"]),
        ("regression", [k / 7 for k in range(80)], []),
    ],
)
def test_every_kind_of_label_is_drawn_with_its_text(tmp_path, task, values, classes):
    texts = [f"text {k}" for k in range(80)]
    (train, train_labels, valid, valid_labels), record = drawn(
        tmp_path, 5, texts, values, task=task, classes=classes, how="bootstrap"
    )
    of = dict(zip(texts, map(str, values), strict=True))
    assert [of[text] for text in (*train, *valid)] == [*train_labels, *valid_labels]
    assert [record["splits"][split]["n"] for split in ("train", "valid")] == [40, 20]
    assert record["splits"]["train"]["n_distinct"] == len(set(train)) < 40 and record["n_pool"] == 80


def test_a_class_that_is_too_rare_for_both_splits_is_refused(tmp_path):
    values = [0] * 79 + [1]
    with pytest.raises(StudyError, match="finetuning.vary has split, and the train split of seed 5 has no review of"):
        drawn(tmp_path, 5, [f"text {k}" for k in range(80)], values, classes=["no", "yes"])


def test_the_pool_is_all_that_is_labelled_beside_test_and_none_of_it_is_pretrained_on(tmp_path):
    sizes = {"seed": 1, "n_labelled": 60, "n_test": 20, "n_unlabelled": 30}
    pool = [str(tmp_path / f"pool.{end}") for end in ("review", "label")]
    for given in (None, pool):
        build_splits.main(
            "embedded", [], [],
            *([str(tmp_path / f"{split}.{end}") for split in build_splits.SPLITS] for end in ("review", "label")),
            *(str(tmp_path / name) for name in ("unlabelled", "pretraining", "manifest.json")),
            n_train=20, n_valid=10, n_test=None, split_seed=1, embedded=sizes, pool=given,
        )  # fmt: skip
        texts = {name: read_lines(str(tmp_path / f"{name}.review")) for name in ("train", "valid", "test")}
        corpus = set(read_lines(str(tmp_path / "pretraining"))) | set(read_lines(str(tmp_path / "unlabelled")))
        if given is None:
            before = texts
            assert set(texts["train"]) <= corpus
    assert texts == before
    found = read_lines(pool[0])
    assert len(found) == len(read_lines(pool[1])) == 60 and set(texts["train"]) | set(texts["valid"]) <= set(found)
    assert not corpus & (set(found) | set(texts["test"]))
