"""Grids of arms: what they are written out as, and what a user reads where they contradict the arms."""

import copy
import pathlib

import pytest

from common.errors import StudyError
from study.configuration import load_study
from study.grids import expand_grids, written
from support import studies
from support.settings import ROOT, changed, message

HF = {"framework": "huggingface", "model": "checkpoint"}
ARMS = {
    "pre": HF | {"init": "pretrained", "training": {"dropout": 0.2}},
    "alone": HF | {"init": "random"},
    "ran": HF | {"init": "random", "match": "pre"},
}
GRID = {"arms": ["pre", "ran"], "lr": [1.0e-5, 3.0e-4], "epochs": [5, 10]}


def expanded(arms=None, grids=(GRID,)):
    finetuning = copy.deepcopy({"arms": arms or ARMS, "grids": list(grids)})
    assert expand_grids(finetuning) == bool(grids)
    assert "grids" not in finetuning
    return finetuning["arms"]


def faulty(grids, arms=None):
    return message({"finetuning.arms": copy.deepcopy(arms or ARMS), "finetuning.grids": grids})


def test_every_cell_is_an_arm_with_its_settings_in_the_order_of_the_file():
    arms = expanded()
    ends = ["lr1e-5-epochs5", "lr1e-5-epochs10", "lr3e-4-epochs5", "lr3e-4-epochs10"]
    assert list(arms) == [f"pre-{end}" for end in ends] + ["alone"] + [f"ran-{end}" for end in ends]
    assert arms["pre-lr1e-5-epochs10"] == HF | {
        "init": "pretrained",
        "training": {"dropout": 0.2, "lr": 1.0e-5, "epochs": 10},
    }
    assert arms["alone"] == ARMS["alone"]


def test_a_match_is_the_other_arm_of_the_same_cell():
    arms = expanded()
    assert arms["ran-lr3e-4-epochs5"] == HF | {
        "init": "random",
        "match": "pre-lr3e-4-epochs5",
        "training": {"lr": 3.0e-4, "epochs": 5},
    }


def test_no_grid_changes_nothing():
    assert expanded(grids=()) == ARMS


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0e-5, "1e-5"), (3.0e-4, "3e-4"), (2.5e-4, "2.5e-4"), (0.1, "1e-1"), (1.5, "1.5e0"), (10, "10")],
)
def test_a_rate_is_short_in_a_name(value, text):
    assert written(value) == text


FAULTS = {
    "no list": ({"arms": ["pre"]}, "grids must be a list"),
    "no axis": ([{"arms": ["pre"]}], "entry 1 varies nothing: give at least one of lr, epochs, n_train, at_update"),
    "no arms": ([{"lr": [0.1]}], "finetuning.grids, entry 1, arms is missing"),
    "unknown arm": ([GRID | {"arms": ["prr", "ran"]}], "arms: prr is no arm of the study. Did you mean pre?"),
    "an arm twice": ([GRID, GRID], "the arm pre is in entries 1 and 2; leave it in one"),
    "a rate twice": ([GRID | {"lr": [1.0e-4, 0.0001]}], "lr holds 0.0001 twice"),
    "a rate as text": ([GRID | {"lr": ["1e-5"]}], "YAML takes 1e-5 for text: write 1.0e-5"),
    "half an epoch": ([GRID | {"epochs": [2.5]}], "finetuning.grids, entry 1, epochs, entry 1 is 2.5"),
    "unknown axis": ([GRID | {"dropout": [0.1]}], "unknown key finetuning.grids, entry 1, dropout"),
    "a match left out": ([GRID | {"arms": ["ran"]}], "ran.match is pre, and only one of the two is in that grid"),
    "a match outside": ([GRID | {"arms": ["pre"]}], "ran.match is pre, and only one of the two is in that grid"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name):
    grids, words = FAULTS[name]
    if name == "no list":
        words = "finetuning.grids is a block of keys; it must be a list"
    assert words in faulty(grids)


def test_an_arm_that_sets_what_the_grid_varies_is_named():
    arms = ARMS | {"pre": ARMS["pre"] | {"training": {"lr": 0.1}}}
    assert "finetuning.arms.pre.training.lr is set, and finetuning.grids, entry 1 varies it" in faulty([GRID], arms)


def test_a_name_too_long_for_a_folder_is_named():
    arms = {"p" * 30: ARMS["pre"]}
    text = faulty([{"arms": ["p" * 30], "lr": [1.0e-5], "epochs": [100]}], arms)
    # 30 characters, -lr1e-5 and -epochs100: 30 + 7 + 10 = 47
    assert "has 47 characters; at most 40 are allowed" in text


def test_what_a_cell_makes_is_checked_as_if_written_by_hand(tmp_path):
    """A made arm may have the name of another one."""
    own = {"finetuning": {"arms": ARMS | {"pre-lr1e-5": ARMS["alone"]}, "grids": [{"arms": ["pre"], "lr": [1.0e-5]}]}}
    own["finetuning"]["arms"].pop("ran")
    study = studies.write_study(tmp_path / "study.yaml", own)
    with pytest.raises(Exception, match="pre-lr1e-5 is made by finetuning.grids and is an arm of its own"):
        load_study(str(ROOT), str(study))


def test_a_study_reads_its_grid(tmp_path):
    alike = ARMS | {"ran": ARMS["ran"] | {"training": ARMS["pre"]["training"]}}
    own = {"finetuning": {"arms": alike, "grids": [GRID]}}
    config, _ = load_study(str(ROOT), str(studies.write_study(tmp_path / "study.yaml", own)))
    assert len(config["finetuning"]["arms"]) == 9
    # The settings that a study is known by are those of its arms alone: a grid written by hand is the same study.
    assert "grids" not in config["finetuning"]


def test_the_defaults_have_none():
    assert changed({})["finetuning"]["grids"] == []
    assert pathlib.Path(ROOT, "config.yaml").is_file()


def test_a_question_may_name_what_a_grid_makes(tmp_path):
    """Before, the arms were looked for before the grid had written them."""
    alike = ARMS | {"ran": ARMS["ran"] | {"training": ARMS["pre"]["training"]}}
    own = {"finetuning": {"arms": alike, "grids": [GRID]}}
    config, _ = load_study(str(ROOT), str(studies.write_study(tmp_path / "study.yaml", own)))
    made = next(name for name in config["finetuning"]["arms"] if name not in alike)
    own["questions"] = [{"ask": "Is it so?", "compare": [made, "alone"]}]
    assert load_study(str(ROOT), str(studies.write_study(tmp_path / "asked.yaml", own)))[0]["questions"]
    own["questions"][0]["compare"][0] += "0"
    with pytest.raises(StudyError, match=f"{made}0 is no arm and no simple model of the study. Did you mean {made}"):
        load_study(str(ROOT), str(studies.write_study(tmp_path / "wrong.yaml", own)))
