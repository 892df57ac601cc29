"""Sources of chance: the settings, each run's parameters, and the texts that it reads."""

import types

import pytest

from finetuning.protocol import arm_settings
from finetuning.seeds import run_seeds
from study import variation
from study.run_files import RunFiles, part_of, splits_of
from support.settings import changed, message

DRAWN = ["initialisation", "order", "split"]
TABLE = {"data.source": "table", "data.table.train": "a.csv", "data.table.test": "b.csv"}
COMMAND = {"framework": "command", "model": "none", "init": "none", "train": "t {train} {out}", "predict": "p"}
GIVEN = {"framework": "predictions", "model": "none", "init": "none", "predictions": "config.yaml"}
STOCK = {"framework": "run_glue", "model": "checkpoint", "init": "pretrained"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"finetuning.vary": ["splits"]},
            "finetuning.vary, entry 1 is 'splits'; it must be one of initialisation",
        ),
        ({"finetuning.vary": ["splits"]}, "Did you mean split?"),
        ({"finetuning.vary": "split"}, "finetuning.vary is 'split'"),
        ({"finetuning.vary": []}, "finetuning.vary is an empty list"),
        ({"finetuning.vary": ["order", "order"]}, "finetuning.vary holds order twice"),
        ({"finetuning.vary": ["split", "bootstrap"]}, "split and bootstrap, two ways to draw a run's texts; leave one"),
        (
            TABLE | {"finetuning.vary": DRAWN, "data.table.valid": "c.csv"},
            "add that file to data.table.train and set data.table.valid to null, or take split out",
        ),
        (TABLE | {"finetuning.vary": DRAWN}, "none may be pretrained on, and there is no other corpus"),
        ({"finetuning.vary": DRAWN, "finetuning.arms.x": GIVEN}, "the predictions of arm x come from elsewhere"),
        (
            {"finetuning.vary": ["order"], "finetuning.arms.x": COMMAND},
            "finetuning.vary lacks initialisation, and runs",
        ),
        ({"finetuning.vary": ["initialisation"], "finetuning.arms.x": STOCK}, "finetuning.vary lacks order, and runs"),
    ],
)
def test_faults_are_refused(changes, said):
    assert said in message(changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"finetuning.vary": ["split"]},
        {"finetuning.vary": ["bootstrap", "order"]},
        {"finetuning.vary": DRAWN, "finetuning.arms.x": STOCK},
        {"finetuning.vary": DRAWN, "finetuning.seeds": {"looks": [2, 4]}},
        TABLE | {"finetuning.vary": DRAWN, "checkpoint.source": "folder", "checkpoint.folder": "."},
    ],
    ids=str,
)
def test_sources_that_arms_can_vary_are_taken(changes):
    assert list(variation.check_variation(changed(changes))) == []


def settings_of(vary, arm="fairseq-pretrained", **more):
    finetuning = changed({f"finetuning.{key}": value for key, value in {"vary": vary, **more}.items()})["finetuning"]
    variation.leave_out(finetuning)
    return arm_settings(finetuning, arm)


def test_the_default_leaves_no_trace():
    finetuning = changed({})["finetuning"]
    variation.leave_out(finetuning)
    assert "vary" not in finetuning and variation.run_settings(finetuning) == {}
    assert variation.varied(finetuning) == ["initialisation", "order"] and variation.draw_of(finetuning) is None
    assert settings_of(["order", "initialisation"]) == arm_settings(finetuning, "fairseq-pretrained")


def test_each_source_has_a_seed_of_its_own():
    default = {"init_seed": 7, "data_seed": 7}
    assert run_seeds(settings_of(["initialisation", "order"]), 7) == default
    assert run_seeds(settings_of(DRAWN), 7) == default | {"split_seed": 7}
    assert run_seeds(settings_of(["split"]), 7) == {
        "init_seed": 1, "data_seed": 1, "dropout_seed": 1, "split_seed": 7,
    }  # fmt: skip
    assert run_seeds(settings_of(["order"]), 7) == {"init_seed": 1, "data_seed": 7}
    assert run_seeds(settings_of(["initialisation"], "huggingface-pretrained"), 7) == {
        "init_seed": 7, "data_seed": 1, "dropout_seed": 1,
    }  # fmt: skip
    # A seed that all runs share stays theirs, and its source is not varied.
    assert run_seeds(settings_of(["order"], init_seed=5), 7) == {"init_seed": 5, "data_seed": 7}
    assert variation.varied({"init_seed": 5, "data_seed": None}) == ["order"]


@pytest.mark.parametrize(
    ("part", "splits"),
    [
        ("test", ["test"]),
        ("train-valid", ["train", "valid"]),
        ("train-300-valid", ["train-300", "valid"]),
        ("train-valid-seed12", ["train-seed12", "valid-seed12"]),
        ("train-300-valid-seed12", ["train-300-seed12", "valid-seed12"]),
    ],
)
def test_parts_and_splits_are_named_alike(part, splits):
    assert splits_of(part) == splits and part_of(splits[0]) == part
    # Validation texts of several subsets are the same ones, in the part of the whole.
    assert splits_of(part_of(splits[-1]))[-1] == splits[-1]


def test_a_run_reads_the_texts_of_its_seed_and_the_test_set_of_all():
    arm = {"fairseq-pretrained": {"framework": "fairseq", "model": "checkpoint", "init": "pretrained", "n_train": 30}}
    run = types.SimpleNamespace(arm="fairseq-pretrained", seed="4")
    for vary, ends in ((DRAWN, "-seed4"), (["initialisation", "order"], "")):
        files = RunFiles(changed({"finetuning.arms": arm, "finetuning.vary": vary}), str, None, None)
        assert files.training_split(run) == f"train-30{ends}" and files.drawn("valid", run) == f"valid{ends}"
        assert files.drawn("test", run) == "test"
        assert files.of_valid("data/{split}.label")(run) == f"data/valid{ends}.label"
        assert files.token_ids("valid")(run) == f"<results>/finetuning/token-ids/checkpoint/valid{ends}.npz"
        assert files.training_ids(run) == f"<results>/finetuning/token-ids/checkpoint/train-30{ends}.npz"
