"""Several pretrainings: what the settings may say, and which files a run starts from."""

import types

import pytest

from common.files import write_json
from finetuning.protocol import arm_settings
from study import pretrainings, questions, seed_plans, variation
from study.checkpoint_checks import check_pretrainings
from study.run_files import RunFiles
from support.settings import changed, message

OWN = ["initialisation", "order", "checkpoint"]
VARIED = {"finetuning.vary": OWN, "checkpoint.pretraining.seeds": [11, 12, 13], "finetuning.seeds": [1, 5, 9]}
START = {"model": "checkpoint", "init": "pretrained"}
ARMS = {
    "whole": START | {"framework": "fairseq"},
    "early": START | {"framework": "fairseq", "at_update": 450},
    "theirs": START | {"framework": "huggingface"},
    "probe": START | {"framework": "linear", "features": "mean"},
    "fresh": START | {"framework": "huggingface", "init": "random"},
    "foreign": {"framework": "huggingface", "model": "camembert", "init": "pretrained"},
}
RANDOM = {"r": START | {"framework": "fairseq", "init": "random"}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"finetuning.vary": OWN}, "seeds is null, which is one pretraining; list two or more, one for each of the 3"),
        ({"checkpoint.pretraining.seeds": [1]}, "checkpoint.pretraining.seeds"),
        ({"checkpoint.pretraining.seeds": [4, 4]}, "checkpoint.pretraining.seeds holds 4 twice"),
        ({"checkpoint.pretraining.seeds": [1, 2, 3]}, "lists 3 pretrainings, and finetuning.vary lacks checkpoint"),
        (
            VARIED | {"checkpoint.pretraining.seeds": [1, 2]},
            "pretraining.seeds lists 2 and finetuning.seeds 3; list as",
        ),
        (VARIED | {"finetuning.seeds": {"looks": [2, 4]}}, "pretraining.seeds lists 3 and finetuning.seeds 4; list as"),
        (
            VARIED | {"checkpoint.source": "folder", "checkpoint.folder": "."},
            "checkpoint.source is folder, which gives",
        ),
        (
            VARIED | {"finetuning.arms": RANDOM, "questions": []},
            "no arm starts from the study's checkpoint (model: checkpoint, init: pre",
        ),
        ({"finetuning.vary": ["order", "checkpoints"]}, "Did you mean checkpoint?"),
    ],
)
def test_faults_are_refused(changes, said):
    found = message(changes)
    assert said in found and len(found.splitlines()) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {},
        VARIED,
        VARIED | {"finetuning.vary": ["checkpoint", "split"]},
        VARIED | {"finetuning.seeds": {"seen": [1], "confirm": [2, 3]}},
        # Nothing reads these seeds, and a notice says so.
        {"checkpoint.pretraining.seeds": [1, 2], "checkpoint.source": "folder", "checkpoint.folder": "."},
    ],
    ids=str,
)
def test_other_settings_are_taken(changes):
    assert list(check_pretrainings(changed(changes))) == []


def test_the_default_leaves_no_trace():
    config = changed({})
    pretrainings.leave_out(config)
    assert "seeds" not in config["checkpoint"]["pretraining"] and pretrainings.starts(config) == {}
    assert pretrainings.pretraining_seeds(config) == [1] and pretrainings.further_seeds(config) == []
    pretrainings.leave_out(config)
    several = changed(VARIED)
    pretrainings.leave_out(several)
    assert pretrainings.pretraining_seeds(several) == [11, 12, 13]
    # No arm's settings know of it: a run's seed says which pretraining it starts from.
    assert variation.varied(several["finetuning"]) == OWN
    assert arm_settings(several["finetuning"], "fairseq-pretrained") == arm_settings(
        config["finetuning"], "fairseq-pretrained"
    )


def run(arm, seed):
    return types.SimpleNamespace(arm=arm, seed=seed)


def test_the_arms_of_a_seed_start_from_its_pretraining_and_random_ones_from_none():
    files = RunFiles(changed(VARIED | {"finetuning.arms": ARMS}), str, None, None)
    place = "<results>/checkpoint"
    for seed, folder, known in (("1", "", 11), ("5", "seed12/", 12), ("9", "seed13/", 13)):
        assert files.checkpoint_file(run("whole", seed)) == f"{place}/{folder}model.pt"
        assert files.checkpoint_file(run("early", seed)) == f"{place}/{folder}kept/update450/model.pt"
        assert files.start_folder(run("theirs", seed)) == f"{place}/{folder}huggingface"
        assert files.start_folder(run("early", seed)) == f"{place}/{folder}kept/update450/huggingface"
        features = f"<results>/finetuning/features/checkpoint/{folder}mean/test.npy"
        assert files.features(run("probe", seed), "test") == features
        for name in ("whole", "early", "theirs", "probe"):
            assert files.run_facts(run(name, seed)) == files.facts(run(name, seed)) | {"checkpoint_seed": known}
        # Arms that start elsewhere are the same for every seed.
        assert files.start_folder(run("fresh", seed)) == f"{place}/huggingface"
        assert files.start_folder(run("foreign", seed)) == "<results>/finetuning/models/camembert"
        for name in ("fresh", "foreign"):
            assert "checkpoint_seed" not in files.run_facts(run(name, seed))
    there = ("whole", "early", "theirs", "probe")
    expected = {f"{name}/seed{seed}": known for name in there for seed, known in (("5", 12), ("9", 13))}
    assert files.further_starts() == expected
    # One tokenizer, so that all runs see the same token ids.
    assert files.token_ids("valid")(run("theirs", "9")) == "<results>/finetuning/token-ids/checkpoint/valid.npz"


def test_with_one_pretraining_every_seed_starts_from_its_file():
    files = RunFiles(changed({"finetuning.arms": ARMS}), str, None, None)
    assert files.checkpoint_file(run("whole", "3")) == "<results>/checkpoint/model.pt"
    assert files.start_folder(run("theirs", "3")) == "<results>/checkpoint/huggingface"
    assert files.run_facts(run("whole", "3")) == files.facts(run("whole", "3")) and files.further_starts() == {}


def test_every_start_is_proved_by_its_own_folder():
    files = RunFiles(changed(VARIED | {"finetuning.arms": ARMS}), str, None, None)
    place = "<results>/checkpoint"
    assert files.every_start(["checkpoint", "camembert"], [450], [12]) == {
        "checkpoint": f"{place}/huggingface",
        "camembert": "<results>/finetuning/models/camembert",
        "checkpoint at update 450": f"{place}/kept/update450/huggingface",
        "checkpoint of seed 12": f"{place}/seed12/huggingface",
        "checkpoint at update 450 of seed 12": f"{place}/seed12/kept/update450/huggingface",
    }
    assert files.every_start(["camembert"], [], []) == {"camembert": "<results>/finetuning/models/camembert"}


def test_other_pretrainings_for_finished_runs_are_another_plan_of_seeds(tmp_path):
    """As with other seeds, the question is judged again, and its answer costs more."""
    asked = [{"ask": "Does pretraining help?", "compare": ["whole", "fresh"]}]
    (entry,) = (questions.digest(one) for one in asked)

    def register(seeds, runs):
        config = changed(VARIED | {"checkpoint.pretraining.seeds": seeds})
        plan = seed_plans.plan_of(config["finetuning"]) | pretrainings.noted(config)
        questions.register(tmp_path, asked, lambda measure: runs, lambda measure: plan)
        write_json(tmp_path / "settings.json", {key: config[key] for key in ("checkpoint", "finetuning")})
        return questions.continuations(questions.read_register(tmp_path / questions.REGISTER)[entry])

    assert register([11, 12, 13], []) == 0
    # Nothing was seen yet.
    assert register([11, 12, 14], []) == 0
    assert register([11, 12, 14], ["whole/seed1"]) == 0
    assert register([11, 12, 15], ["whole/seed1"]) == 1
    assert pretrainings.noted(changed({})) == {} == pretrainings.noted({})
