"""Which arms are one start with several recipes."""

import copy

from finetuning.recipes import compared_recipes, describe, tried_recipes
from support.recipe_study import finetuning

HF = {"framework": "huggingface", "model": "checkpoint"}


def compared_of(section):
    return compared_recipes(tried_recipes(section))


def with_arms(**arms):
    return finetuning() | {"arms": arms}


def test_arms_of_a_grid_are_two_starts_of_one_pair():
    found = compared_of(finetuning())
    assert len(found) == 8
    assert {facts["pair"] for facts in found.values()} == {"Hugging Face"}
    assert {facts["start"] for facts in found.values()} == {"Hugging Face, pretrained", "Hugging Face, random"}
    assert {(facts["lr"], facts["epochs"]) for facts in found.values()} == {
        (rate, n) for rate in (1.0e-5, 3.0e-4) for n in (5, 10)
    }


def test_other_settings_make_another_start():
    section = with_arms(
        frozen=HF | {"init": "pretrained", "freeze": "encoder", "training": {"dropout": 0.3}},
        same=HF | {"init": "random", "protocol": "matched", "match": "frozen", "training": {"dropout": 0.1, "lr": 1}},
        other=HF | {"init": "random", "model": "mine"},
    )
    assert describe(section, "frozen")["start"] == "Hugging Face, pretrained, dropout 0.3, freeze encoder"
    # Settings that equal the study's, or only demand or describe, are no difference.
    assert describe(section, "same")["start"] == "Hugging Face, random"
    assert describe(section, "other")["start"] == "Hugging Face, mine, random"


def test_one_shared_recipe_asks_nothing():
    section = finetuning(rates=(1.0e-5,), epochs=(5,))
    assert compared_of(section) == {}
    # The random start has two rates, the pretrained one only one of them.
    more = copy.deepcopy(finetuning(epochs=(5,)))
    del more["arms"]["pretrained-lr0.0003-epochs5"]
    assert compared_of(more) == {}
    assert compared_of(finetuning(epochs=(5,)))


def test_a_start_with_several_recipes_has_one_to_choose_whoever_shares_them():
    """Two models, each with rates of its own; a third arm has one recipe, and nothing to choose."""
    section = with_arms(
        a=HF | {"init": "pretrained", "training": {"lr": 1}},
        b=HF | {"init": "pretrained", "training": {"lr": 2}},
        again=HF | {"init": "pretrained", "training": {"lr": 2}},
        c=HF | {"init": "pretrained", "lora": {"r": 8, "lora_alpha": 16}, "training": {"epochs": 1}},
        d=HF | {"init": "pretrained", "lora": {"r": 8, "lora_alpha": 16}, "training": {"epochs": 2}},
        e=HF | {"init": "random", "freeze": 2},
    )
    found = tried_recipes(section)
    assert {name: facts["start"] for name, facts in found.items()} == {
        "a": "Hugging Face, pretrained",
        "b": "Hugging Face, pretrained",
        "c": "Hugging Face, pretrained, lora (r 8, lora_alpha 16)",
        "d": "Hugging Face, pretrained, lora (r 8, lora_alpha 16)",
    }
    assert compared_recipes(found) == {}


def test_several_epochs_are_enough():
    assert len(compared_of(finetuning(rates=(1.0e-5,)))) == 4


def test_arms_of_another_framework_are_left_out():
    section = finetuning()
    section["arms"]["fairseq-random"] = {"framework": "fairseq", "model": "checkpoint", "init": "random"}
    assert "fairseq-random" not in compared_of(section)
    section["arms"] |= finetuning(framework="fairseq")["arms"]
    assert {facts["pair"] for facts in compared_of(section).values()} == {"fairseq"}


def test_of_two_arms_that_are_the_same_the_first_counts():
    section = finetuning()
    section["arms"]["again"] = section["arms"]["random-lr1e-05-epochs5"]
    assert "again" not in compared_of(section)
