"""The settings that each framework trains with in the studies that have the lab's data."""

import os

import pytest

from finetuning.protocol import framework_settings
from study.configuration import load_study
from support.studies import ROOT


@pytest.fixture(scope="module")
def lab():
    return {name: load_study(ROOT, os.path.join(ROOT, "studies", f"{name}.yaml"))[0] for name in ("lab", "lab-matched")}


# The lab's commands: `fairseq-train` with the flags of its handout, and run_glue with transformers' own defaults.
SHARED = {"batch_size": 8, "epochs": 5, "lr": 1e-5, "warmup_ratio": 0.06, "batching": "random", "precision": "float32"}
OWN = {
    "fairseq": {"betas": [0.9, 0.98], "eps": 1e-8, "weight_decay": 0.01, "clip_norm": 0.0},
    "huggingface": {"betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0, "token_types": True}
    | {"head_initialisation": "bert", "classifier_dropout": 0.1},
}
# The stock recipe, in either protocol, pads to the lab's 256.
STOCK = OWN["huggingface"] | {"max_seq_length": 256, "pad_to_max_length": True}


@pytest.mark.parametrize("framework", OWN)
def test_the_lab_trains_as_the_lab_did(lab, framework):
    settings = framework_settings(lab["lab"]["finetuning"], framework)
    wanted = SHARED | OWN[framework]
    assert {key: settings[key] for key in wanted} == wanted
    matched = framework_settings(lab["lab-matched"]["finetuning"], framework)
    assert {key: matched[key] for key in wanted} != wanted


def test_the_stock_recipe_trains_as_the_lab_did_in_either_protocol(lab):
    for name in lab:
        settings = framework_settings(lab[name]["finetuning"], "run_glue")
        wanted = SHARED | STOCK | {"precision": lab[name]["finetuning"]["training"]["precision"]}
        assert {key: settings[key] for key in wanted} == wanted


def test_both_have_the_labs_data_checkpoints_arms_and_seeds(lab):
    first, second = lab.values()
    assert first["data"] == second["data"] and first["checkpoint"] == second["checkpoint"]
    assert first["checkpoint"]["fetch"]["huggingface"]["url"]
    for key in ("arms", "seeds", "evaluation"):
        assert first["finetuning"][key] == second["finetuning"][key]
    assert first["finetuning"]["seeds"] == [1, 2, 3] and len(first["finetuning"]["arms"]) == 4
