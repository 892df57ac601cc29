"""Class weights, smoothing, patience and accumulation: where they may be set, and that unset ones leave no trace."""

import math

import pytest

from finetuning.protocol import arm_settings, framework_settings
from frameworks.matched import OPTIONAL, leave_out
from study.configuration import load_study
from study.matching import check_matches
from study.settings import cross_checks, validate_study
from support.settings import ROOT, SCHEMA, changed, defaults, message

ARM = "finetuning.arms.huggingface-pretrained"
SET = {"class_weights": "balanced", "label_smoothing": 0.1, "patience": 3, "accumulation": 2}


def faults(changes):
    return list(cross_checks(changed(changes)))


def cannot(changes):
    return [fault for fault in faults(changes) if "cannot do that" in fault]


@pytest.mark.parametrize("key", SET)
def test_each_is_taken_for_the_study_and_for_an_arm(key):
    arms = {f"finetuning.arms.{name}.training": {key: SET[key]} for name in defaults()["finetuning"]["arms"]}
    for changes in ({f"finetuning.training.{key}": SET[key]}, arms):
        validate_study(changed(changes), SCHEMA)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("class_weights", [1, 0]),
        ("class_weights", [1, -2]),
        ("class_weights", [1]),
        ("class_weights", [1, math.inf]),
        ("class_weights", [1, math.nan]),
        ("class_weights", "equal"),
        ("class_weights", {"negative": 1, "positive": 2}),
        ("label_smoothing", 1),
        ("label_smoothing", -0.1),
        ("label_smoothing", math.nan),
        ("patience", 0),
        ("patience", 1.5),
        ("patience", True),
        ("accumulation", 0),
        ("accumulation", "auto"),
    ],
)
def test_other_values_are_refused_by_key(key, value):
    assert f"finetuning.training.{key}" in message({f"finetuning.training.{key}": value})


def test_what_labels_batch_or_framework_cannot_have_is_refused():
    (fault,) = faults({"finetuning.training.class_weights": [1, 2, 3]})
    assert fault == (
        "finetuning.training.class_weights has 3 weights, and data.labels 2 classes; give one weight for each, in that "
        "order"
    )
    (fault,) = [f for f in faults({f"{ARM}.training": {"accumulation": 9}}) if "must match" not in f]
    assert fault == (f"{ARM}.training.accumulation is 9, more than the 8 texts of an update (batch_size); lower it")
    glue = {f"{ARM}.framework": "run_glue", f"{ARM}.match": None}
    (fault,) = cannot(glue | {"finetuning.training.patience": 2})
    assert fault == (
        f"finetuning.training.patience: Hugging Face, run_glue cannot do that; set it to null in {ARM}.training, or "
        "set the framework to fairseq or huggingface"
    )
    assert cannot(glue | {"finetuning.training.patience": 2, f"{ARM}.training": {"patience": None}}) == []
    (fault,) = cannot(glue | {f"{ARM}.training": {"class_weights": "balanced"}})
    assert "run_glue cannot do that; take it out, or set the framework" in fault


def test_unset_ones_leave_no_trace():
    """A finished study plans nothing anew because of a key that it does not set."""
    config, _ = load_study(str(ROOT))
    assert not OPTIONAL.keys() & config["finetuning"]["training"].keys()
    told = [arm_settings(config["finetuning"], name) for name in config["finetuning"]["arms"]]
    assert not any({*OPTIONAL, "select_by"} & settings.keys() for settings in told)
    # As null, 0 and 1; and at an arm that says so as well.
    spelled = defaults()["finetuning"]
    spelled["training"] |= {"label_smoothing": 0.0, "accumulation": 1}
    spelled["arms"]["fairseq-random"]["training"] = {"patience": None, "accumulation": 1}
    leave_out(spelled)
    assert spelled["training"] == config["finetuning"]["training"]
    assert spelled["arms"]["fairseq-random"]["training"] == {}


def test_an_arm_may_undo_what_the_study_sets():
    finetuning = defaults()["finetuning"]
    finetuning["training"] |= SET
    finetuning["arms"]["fairseq-random"]["training"] = {"patience": None, "label_smoothing": 0}
    leave_out(finetuning)
    whole, own = (arm_settings(finetuning, name) for name in ("fairseq-pretrained", "fairseq-random"))
    assert whole.items() >= (SET | {"select_by": "accuracy"}).items()
    assert own.keys() == whole.keys() - {"patience", "label_smoothing", "select_by"}
    assert framework_settings(finetuning, "huggingface").items() >= SET.items()
    finetuning["select_by"] = "loss"
    assert arm_settings(finetuning, "fairseq-pretrained")["select_by"] == "loss"
    assert "select_by" not in arm_settings(finetuning, "fairseq-random")


def test_arms_that_must_match_share_them():
    finetuning = defaults()["finetuning"]
    finetuning["arms"]["fairseq-random"]["training"] = {"class_weights": "balanced"}
    (fault,) = check_matches(finetuning)
    assert "its training.class_weights is balanced, not null" in fault
    finetuning["arms"]["fairseq-random"]["training"] = {"accumulation": 1, "label_smoothing": 0}
    assert list(check_matches(finetuning)) == []
    del finetuning["arms"]["fairseq-random"]["training"]
    finetuning["arms"]["fairseq-pretrained"]["training"] = {"patience": 2}
    assert len(list(check_matches(finetuning))) == 2
