"""The study of the sources: what the settings may say, the arms and seeds that it makes, what each run is told."""

import types

import pytest

from finetuning.protocol import arm_settings
from finetuning.seeds import run_seeds
from study import spread
from study.checkpoint_checks import check_pretrainings
from study.questions import asked_by
from study.run_files import RunFiles
from support.settings import changed, message
from tools import plan

ARM = "fairseq-pretrained"
PAIR = [ARM, "huggingface-pretrained"]
SOURCES = {"arm": ARM, "vary": ["initialisation", "order", "split"], "runs": 3}
COMMAND = {"framework": "command", "model": "none", "init": "none", "train": "t {train} {out}", "predict": "p"}
GIVEN = {"framework": "predictions", "model": "none", "init": "none", "predictions": "config.yaml"}
STOCK = {"framework": "run_glue", "model": "checkpoint", "init": "pretrained"}
PROBE = {"framework": "linear", "model": "checkpoint", "init": "pretrained", "features": "mean"}
TABLE = {"data.source": "table", "data.table.train": "a.csv", "data.table.test": "b.csv"}


def asking(**changes):
    return {"sources": [{key: value for key, value in (SOURCES | changes).items() if value is not None}]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (asking(vary=["order", "splits"]), "sources, entry 1, vary, entry 2 is 'splits'"),
        (asking(vary=["order"]), "sources, entry 1, vary"),
        (asking(runs=1), "sources, entry 1, runs is 1"),
        (asking(runs=None), "sources, entry 1, runs is missing"),
        (asking(arm=None), "sources, entry 1 must have either arm (one arm) or compare"),
        (asking(compare=PAIR), "sources, entry 1 must have either arm (one arm) or compare"),
        (
            asking(arm="fairseq-pretraned"),
            "sources, entry 1, arm: fairseq-pretraned is no arm of the study. Did you mean fairseq-pr",
        ),
        (
            asking(arm=None, compare=[ARM, "tfidf_words"]),
            "sources, entry 1, compare: tfidf_words is no arm of the study",
        ),
        (asking(arm=None, compare=[ARM, ARM]), "sources, entry 1, compare: both sides are the same arm"),
        (asking(arm="x") | {"finetuning.arms.x": COMMAND}, "arm x is of"),
        (asking(arm="x") | {"finetuning.arms.x": GIVEN}, "has no seed for each source of chance; name an arm of"),
        (asking(arm="x") | {"finetuning.arms.x": STOCK}, "has no seed for each source of chance"),
        (asking(arm="x") | {"finetuning.arms.x": PROBE}, "trains no weights by seeds; name an arm of fairseq or hugg"),
        (
            asking() | {"finetuning.init_seed": 4},
            "sources, entry 1: vary has initialisation, and finetuning.init_seed is 4",
        ),
        (asking() | {"finetuning.data_seed": 4}, "sources, entry 1: vary has order, and finetuning.data_seed is 4"),
        (asking(vary=["split", "bootstrap"]), "sources, entry 1: vary has split and bootstrap, two ways to draw"),
        (
            asking() | {"finetuning.vary": ["order", "initialisation", "bootstrap"]},
            "sources and finetuning.vary have bootstrap and split, two ways to draw the texts of a study",
        ),
        (
            asking() | TABLE | {"data.table.valid": "c.csv"},
            "sources, entry 1: vary has split, which draws validation texts",
        ),
        (asking() | TABLE, "sources, entry 1: vary has split, so any labelled text may validate a run"),
        (asking(vary=["order", "checkpoint"]), "checkpoint.pretraining.seeds lists 0; list 3"),
        (
            asking(vary=["order", "checkpoint"]) | {"checkpoint.source": "fetch"},
            "which gives one checkpoint made",
        ),
        (
            asking(arm="fairseq-random", vary=["order", "checkpoint"]),
            "sources, entry 1: vary has checkpoint, and no arm of it starts from the study's checkpoint",
        ),
        ({"sources": 2 * asking()["sources"]}, f"sources: arm {ARM} is in entries 1 and 2; leave it in one"),
        (asking() | {"finetuning.seeds": {"looks": [2, 4]}}, "sources: finetuning.seeds has looks"),
        (
            asking()
            | {f"finetuning.arms.{ARM}--all": {"framework": "fairseq", "model": "checkpoint", "init": "random"}},
            f"finetuning.arms.{ARM}--all has the name that sources gives to runs of {ARM}",
        ),
    ],
    ids=str,
)
def test_faults_are_refused(changes, said):
    assert said in message(changes)


@pytest.mark.parametrize(
    "changes",
    [
        asking(),
        asking(arm=None, compare=PAIR),
        asking(vary=["bootstrap", "order"]),
        asking() | {"finetuning.seeds": {"seen": [1, 2], "confirm": [3, 4]}},
        asking() | {"finetuning.arms.x": COMMAND},
    ],
    ids=str,
)
def test_sources_that_an_arm_can_vary_are_taken(changes):
    assert list(spread.check_sources(changed(changes))) == []


def test_a_study_that_does_not_ask_is_as_it_was():
    config = changed({})
    spread.leave_out(config)
    assert "sources" not in config
    assert spread.source_arms(config) == {} and spread.source_runs(config) == [] and spread.draw_in(config) is None
    assert spread.with_source_arms(config) == config


def test_each_way_to_vary_is_an_arm_with_seeds_of_its_own():
    config = changed(asking())
    names = [f"{ARM}--{way}" for way in ("initialisation", "order", "split", "all")]
    assert list(spread.source_arms(config)) == names
    # No seed is 1, at which the other sources are held: the three ways would share that run. The last has new ones.
    assert spread.source_runs(config) == [(name, seed) for name in names[:3] for seed in (2, 3, 4)] + [
        (names[3], seed) for seed in (5, 6, 7)
    ]
    assert not set(names) & set(config["finetuning"]["arms"]) and spread.draw_in(config) == "split"
    assert len(spread.source_runs(changed(asking(arm=None, compare=PAIR)))) == 24
    # No question and no comparison is about them.
    assert all("--" not in str(question["compare"]) for question in asked_by(config))


def test_one_source_of_a_run_has_its_seed_and_the_others_are_held():
    config = changed(asking())
    finetuning = spread.with_source_arms(config)["finetuning"]
    held = {"init_seed": 1, "data_seed": 1, "dropout_seed": 1}
    found = {way: run_seeds(arm_settings(finetuning, f"{ARM}--{way}"), 4) for way in spread.ways(SOURCES)}
    assert found == {
        "initialisation": held | {"init_seed": 4},
        "order": {"init_seed": 1, "data_seed": 4},
        "split": held | {"split_seed": 4},
        "all": {"init_seed": 4, "data_seed": 4, "split_seed": 4},
    }
    # The study's own arm varies what the study says.
    assert run_seeds(arm_settings(finetuning, ARM), 4) == {"init_seed": 4, "data_seed": 4}


def test_a_run_reads_its_own_draw_where_its_way_varies_the_split():
    files = RunFiles(changed(asking()), str, None, None)
    for way, end in (("split", "-seed4"), ("all", "-seed4"), ("order", ""), ("initialisation", "")):
        run = types.SimpleNamespace(arm=f"{ARM}--{way}", seed="4")
        assert files.training_split(run) == f"train{end}" and files.drawn("valid", run) == f"valid{end}"
    assert files.training_split(types.SimpleNamespace(arm=ARM, seed="4")) == "train"


@pytest.mark.parametrize("vary", [["initialisation", "order"], ["initialisation", "order", "checkpoint"]])
def test_each_run_that_varies_the_pretraining_starts_from_its_own(vary):
    own = asking(arm=None, compare=[ARM, "fairseq-random"], vary=["order", "checkpoint"])
    more = {"checkpoint.pretraining.seeds": [11, 12, 13], "finetuning.vary": vary}
    config = changed(own | more)
    assert not list(spread.check_sources(config)) and not list(check_pretrainings(config))
    files = RunFiles(config, str, None, None)

    def start(arm, seed):
        return files.pretraining(types.SimpleNamespace(arm=arm, seed=str(seed)))

    assert [start(f"{ARM}--checkpoint", seed) for seed in (2, 3, 4)] == [(11, ""), (12, "seed12/"), (13, "seed13/")]
    # The runs with all sources share them; where the source is held, and at random, all start from the first.
    assert [start(f"{ARM}--all", seed)[0] for seed in (5, 6, 7)] == [11, 12, 13]
    assert start(f"{ARM}--order", 3) == start("fairseq-random--checkpoint", 3) == (None, "")
    assert start(ARM, 2) == ((12, "seed12/") if "checkpoint" in vary else (None, ""))
    expected = {f"{ARM}--checkpoint/seed3": 12, f"{ARM}--all/seed7": 13}
    assert expected.items() <= files.further_starts().items() and f"{ARM}--order/seed3" not in files.further_starts()


def test_a_plan_counts_the_runs_of_sources():
    config = changed(asking(arm=None, compare=PAIR))
    # Two arms, three sources alone and all together, three runs of each.
    assert spread.runs_by_arm(config) == dict.fromkeys(PAIR, 12) and not spread.runs_by_arm(changed({}))
    seconds = dict.fromkeys(config["finetuning"]["arms"], 10.0)
    # Three arms of five seeds, and 24 runs more.
    assert plan.costs(config, {}, seconds, 5)["seconds"] == 10 * (3 * 5 + 24)
    assert plan.costs(changed({}), {}, seconds, 5)["seconds"] == 10 * 3 * 5
