"""How long a run is expected to take, by hand, on jobs made up here."""

import json
import types

import pytest

from study import expected_times
from study.expected_times import Expected, in_words, weights_of
from study.training_progress import standing
from training.loss_curves import progress_line

CONFIG = {
    "mirror": None,
    "data": {"n_train": 160, "n_test": 500},
    "checkpoint": {
        "architecture": {"layers": 1, "width": 100, "ffn_width": 200},
        "pretraining": {"updates": 900, "batch_size": 32, "tokens_per_sample": 96},
    },
    "finetuning": {
        "training": {"epochs": 10},
        "arms": {"a": {"model": "checkpoint"}, "b": {"model": "mine"}, "c": {"model": "none"}},
    },
}


class Params(dict):
    """Named parameters, as Snakemake's."""

    def keys(self):
        return list(super().keys())


def job(name, file="/w/rules/finetuning.smk", benchmark=None, threads=1, **wildcards):
    rule = types.SimpleNamespace(name=name, script=None, snakefile=file)
    return types.SimpleNamespace(
        rule=rule,
        wildcards_dict=wildcards,
        threads=threads,
        benchmark=benchmark,
        is_norun=False,
        is_group=lambda: False,
    )


def expected(jobs, config=None, results=None, cores=1):
    dag = types.SimpleNamespace(needrun_jobs=lambda exclude_finished: list(jobs), jobid=jobs.index)
    resources = types.SimpleNamespace(cores=cores, nodes=None)
    return Expected(types.SimpleNamespace(dag=dag, resource_settings=resources), config or {}, results)


def test_the_bar_is_weighted_by_times_and_not_by_jobs(monkeypatch):
    monkeypatch.setattr(expected_times, "SECONDS", {"long": 90})
    monkeypatch.setattr(expected_times, "OTHER", 5)
    run = expected([job("long"), job("short"), job("short", n="2")])
    assert run.left(0, {}) == pytest.approx(100)  # 90 + 5 + 5, on one core
    run.know(1)
    run.finish(1, 5)
    assert run.share({}) == pytest.approx(0.05)  # one of three jobs, and 5 of 100 seconds
    # Half of the long job by its own word, at the expected speed: 5 + 45 of 100.
    assert run.share({0: (45, 0.5)}) == pytest.approx(0.5)
    # A machine of half the speed. The short job took 10 s in place of 5, and half of the long one 90 s in place of 45:
    # slowness is (10 + 180 + 30) / (5 + 90 + 30) = 1.76. What is left is 90 s of the long job and, measured, 10 s; the
    # run made 10 + 90 of it in 100 s, so (100 + 30) / (100 + 30) s pass for each.
    slow = expected([job("long"), job("short"), job("short", n="2")])
    slow.finish(1, 10)
    assert slow.slowness({0: (90, 0.5)}) == pytest.approx(1.76)
    assert slow.left(100, {0: (90, 0.5)}) == pytest.approx(100)


def test_sizes_give_the_first_estimate_and_a_benchmark_a_better_one(tmp_path):
    # Weights of the layers: 1 * 100 * (4 * 100 + 2 * 200) = 80,000, a fifth of the embedded study's.
    jobs = [
        job("pretrain"),
        *(job("finetune_x", arm=arm, seed="1") for arm in "ab"),
        job("evaluate_x", arm="a", seed="1"),
        job("finetune_x", arm="c", seed="1"),
    ]
    run = expected(jobs, CONFIG)
    assert run.weight(0) == pytest.approx(100 * 900 / 1800 * 0.2)
    # Twice the texts, a fifth of the weights, which a tenth of the time grows with: 13 s * (0.5 + 0.5 * 2 * 0.92).
    assert run.weight(1) == pytest.approx(13 * 1.42)
    assert run.weight(2) > 10 * run.weight(1)  # a model of others counts as base-sized
    assert run.weight(3) == pytest.approx(14 * (0.5 + 0.5 * 0.5 * 0.92))  # half of the embedded study's test texts
    assert run.weight(4) == pytest.approx(13 * 1.5)  # a trainer without a model counts as the embedded study's
    measured = tmp_path / "benchmarks" / "finetune_x" / "a"
    measured.mkdir(parents=True)
    (measured / "seed2.tsv").write_text("s\th:m:s\n33.5\t0:00:33\n")
    assert expected(jobs, CONFIG, str(tmp_path)).weight(1) == 33.5


def test_a_model_on_this_machine_has_the_weights_of_its_layers(tmp_path):
    hub = {"repo": "a/b", "revision": "0" * 40, "files": ["config.json"]}
    folder = tmp_path / "huggingface.co" / "a" / "b" / "resolve" / hub["revision"]
    folder.mkdir(parents=True)
    sizes = {"num_hidden_layers": 6, "hidden_size": 384, "intermediate_size": 1536}
    (folder / "config.json").write_text(json.dumps(sizes))
    # 6 * 384 * (4 * 384 + 2 * 1536), by hand.
    assert weights_of({"hub": hub}, str(tmp_path)) == weights_of({"folder": str(folder)}, None) == 10_616_832
    assert weights_of({"hub": hub}, None) == weights_of({"folder": str(tmp_path)}, None) == weights_of(None, None)


def test_a_plan_that_grows_is_read_again_and_its_stage_ends_twice():
    jobs = [job("one", "/w/rules/data.smk"), job("two", "/w/rules/frameworks/x.smk")]
    run = expected(jobs)
    run.refresh(2)
    for number in (0, 1):
        run.know(number)
        run.finish(number, 1)
    assert [stage[:2] for stage in run.finished_stages()] == [("data", 1), ("finetuning", 1)]
    jobs.append(job("two", "/w/rules/frameworks/x.smk", seed="2"))
    run.refresh(3)
    assert run.unfinished() == 1 and run.share({}) < 1 and not list(run.finished_stages())
    run.know(2)
    run.finish(2, 1)
    # Two jobs of a second each.
    assert list(run.finished_stages()) == [("finetuning", 2, 2)]
    # Another job in the place of a planned one, which never runs.
    jobs.append(job("three", "/w/rules/report.smk"))
    run.refresh(4)
    assert run.unfinished() == 1
    jobs[3:] = []
    assert run.unfinished() == 0 and run.share({}) == 1


def test_a_training_is_read_from_the_line_that_it_prints(tmp_path):
    log = tmp_path / "log"
    training = job("finetune_x", arm="a", seed="2")
    training.params, training.log = Params(states="s"), [str(log)]
    assert standing(training) == ("a, seed 2", None)
    log.write_text(f"x\n{progress_line(10, 40, 8, 0.7, 0.6)}\n{progress_line(20, 40, 8, 0.61234, 0.7349)}\n")
    # 8 epochs of 5 updates: update 20 ends the fourth; half is done.
    assert standing(training) == ("a, seed 2: epoch 4 of 8, validation accuracy 73.5 %", 0.5)
    log.write_text(progress_line(450, 1800, loss=5.5))
    training.wildcards_dict, training.rule.name = {}, "pretrain"
    assert standing(training) == ("pretrain: update 450 of 1800, validation loss 5.500", 0.25)
    training.params = Params(states="s", pretraining={"updates": 1800})
    log.write_text("loss=6.2, num_updates=300, lr=0.1\n")
    assert standing(training) == ("pretrain: update 300 of 1800", pytest.approx(1 / 6))
    log.write_text(progress_line(450, 1800, loss=5.5) + "\nloss=6.2, num_updates=500, lr=0.1\n")
    assert standing(training) == ("pretrain: update 500 of 1800, validation loss 5.500", pytest.approx(500 / 1800))
    training.wildcards_dict, training.rule.name = {"seed": "12"}, "pretrain_again"
    assert standing(training)[0] == "pretrain again, seed 12: update 500 of 1800, validation loss 5.500"
    training.params = Params()
    assert standing(training) == ("", None)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "10 seconds"), (44, "40 seconds"), (61, "1 minute"), (200, "3 minutes"), (7900, "2 h 10 min"), (2e5, "56 h")],
)
def test_a_duration_promises_no_more_than_an_estimate(seconds, words):
    assert in_words(seconds) == words
