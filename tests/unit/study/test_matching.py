"""Arms that must match, and whose settings do not: refused before anything is trained."""

import pytest

from study.matching import check_matches


def finetuning(own, other=None, **more):
    arms = {"pre": {"framework": "huggingface", **(other or {})}, "ran": {"match": "pre", **own}}
    return {
        "arms": arms,
        "grids": [],
        "protocol": "matched",
        "training": {"lr": 1e-3, "epochs": 5, "save_every": 9},
    } | more


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"training": {"lr": 10}}, "finetuning.arms.ran must match pre, and its training.lr is 10, not 0.001"),
        ({"training": {"epochs": 6}}, "its training.epochs is 6, not 5"),
        ({"freeze": "encoder"}, "its freeze is encoder, not null"),
        ({"lora": {"r": 8}}, "its lora is {'r': 8}, not null"),
        ({"n_train": 100}, "its n_train is 100, not null"),
    ],
)
def test_a_difference_is_refused_before_training(own, words):
    (message,) = check_matches(finetuning(own))
    assert words in message and "give both the same, or leave match out" in message


def test_what_matches_or_need_not_is_let_through():
    lower = {"training": {"lr": 1e-4}}
    assert list(check_matches(finetuning(lower, lower))) == []
    assert list(check_matches(finetuning({"training": {"save_every": 1}}))) == []
    assert list(check_matches(finetuning(lower, protocol="published"))) == []
    assert list(check_matches(finetuning({**lower, "protocol": "published"}))) == []
    assert list(check_matches(finetuning(lower, grids=[{"arms": ["pre", "ran"], "lr": [1e-3]}]))) == []
