"""How long a run is expected to take, by hand, on jobs made up here."""

import json
import os
import random
import types

import pytest
import yaml

from common.files import read_tsv
from study import expected_times
from study.expected_times import Expected, in_words, share_of_time, weights_of
from study.training_progress import standing
from support.studies import ROOT
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


def job(name, file="/w/rules/finetuning.smk", benchmark=None, threads=1, gpu=0, **wildcards):
    rule = types.SimpleNamespace(name=name, script=None, snakefile=file, resources={"gpu": gpu})
    return types.SimpleNamespace(
        rule=rule,
        wildcards_dict=wildcards,
        threads=threads,
        benchmark=benchmark,
        is_norun=False,
        is_group=lambda: False,
    )


def expected(jobs, config=None, results=None, cores=1, needs=(), gpu=None):
    """Return what is expected of jobs; `needs` are {place of a job: places of those that it waits for}."""
    waits = {id(jobs[one]): [jobs[other] for other in others] for one, others in dict(needs).items()}
    dag = types.SimpleNamespace(
        needrun_jobs=lambda exclude_finished: list(jobs),
        jobid=lambda one: [id(other) for other in jobs].index(id(one)),
        dependencies=types.SimpleNamespace(get=lambda one, otherwise: waits.get(id(one), otherwise)),
    )
    workflow = types.SimpleNamespace(
        dag=dag,
        resource_settings=types.SimpleNamespace(cores=cores, nodes=None),
        global_resources={"gpu": gpu},
    )
    return Expected(workflow, config or {}, results)


def test_the_time_left_is_that_of_the_chain_of_the_cores_and_of_the_gpu(monkeypatch):
    monkeypatch.setattr(expected_times, "SECONDS", {"long": 90})
    monkeypatch.setattr(expected_times, "OTHER", 5)
    jobs = [job("long", gpu=1), job("short"), job("short", n="2", gpu=1)]
    assert expected(jobs).left({}) == pytest.approx(100)  # 90 + 5 + 5, on one core
    assert expected(jobs, cores=2).left({}) == pytest.approx(90)  # the two short ones beside the long one
    assert expected(jobs, cores=2, gpu=1).left({}) == pytest.approx(95)  # one of them waits for its GPU
    assert expected(jobs, cores=3, needs={0: [1]}).left({}) == pytest.approx(95)
    # Both beside each other, and then the long one.
    assert expected(jobs, cores=2, needs={0: [1, 2]}).left({}) == pytest.approx(95)


def test_the_speed_of_this_machine_corrects_what_is_left(monkeypatch):
    monkeypatch.setattr(expected_times, "SECONDS", {"long": 90})
    monkeypatch.setattr(expected_times, "OTHER", 5)
    run = expected([job("long"), job("short"), job("short", n="2")])
    run.finish(1, 10)
    # All: (10 + 5) / (5 + 5) = 1.5. The rule: (10 + 0.3 * 5 * 1.5) / (5 + 0.3 * 5) = 12.25 / 6.5.
    short, long = 5 * 12.25 / 6.5, 90 * 1.5
    assert run.left({}) == pytest.approx(short + long)
    # A job without a word of its progress, and one that takes longer than expected: 0.15 of its time so far.
    assert run.left({0: (35, None)}) == pytest.approx(short + long - 35)
    assert run.left({2: (200, None)}) > 0.15 * 200


def test_a_training_of_a_misjudged_size_says_nothing_of_the_jobs_without_one(monkeypatch):
    monkeypatch.setattr(expected_times, "SECONDS", {"finetune": 90, "plot": 5})
    jobs = [job("finetune", arm="a", seed="1"), job("finetune", arm="a", seed="2"), job("plot")]
    run = expected(jobs)
    run.finish(0, 900)
    # The other training of the arm is expected to be as slow. The plot is as long as before.
    assert run.seconds(2, run._observed({})) == pytest.approx(5)
    assert run.seconds(1, run._observed({})) > 600


def test_the_bar_is_the_share_of_the_time():
    assert share_of_time(100, 200) == pytest.approx(1 / 3)
    assert (share_of_time(0, 50), share_of_time(50, 0), share_of_time(0, 0)) == (0, 1, 0)


def test_a_training_goes_on_at_its_own_pace(monkeypatch):
    monkeypatch.setattr(expected_times, "SECONDS", {"finetune": 90})
    run = expected([job("finetune")])
    run.left({0: (20, 0.1)})
    # From a tenth to a half in 40 s, so that the other half takes 50 s, of which 5 s have passed.
    run.left({0: (60, 0.5)})
    assert run.left({0: (65, 0.5)}) == pytest.approx(45)


def recorded():
    """Return {job: (rule, wildcards, jobs that it waits for, seconds)} of a run of the embedded study."""
    rows = read_tsv(os.path.join(os.path.dirname(__file__), "recorded_run.tsv"))
    return {
        int(row["job"]): (
            row["rule"],
            {key: row[key] for key in ("arm", "seed") if row[key]},
            [int(one) for one in row["needs"].split()],
            float(row["end"]) - float(row["start"]),
        )
        for row in rows
    }


def play(seconds, needs, cores):
    """Return {job: when it starts} where each job starts as soon as a core is free, in the order of their numbers."""
    starts, ends, now = {}, {}, 0.0
    while len(starts) < len(seconds):
        busy = sum(end > now for end in ends.values())
        waiting = (number for number in sorted(seconds) if number not in starts)
        ready = [number for number in waiting if all(ends.get(one, now + 1) <= now for one in needs[number])]
        for number in ready[: cores - busy]:
            starts[number], ends[number] = now, now + seconds[number]
        now = min((end for end in ends.values() if end > now), default=now)
    return starts, ends


def progress(rule, seconds, whole):
    """Return the share of a training that it reports: nothing before its first update, then every tenth."""
    if rule != "pretrain" and (not rule.startswith("finetune") or rule == "finetune_linear"):
        return None
    return min(1, int(10 * (seconds - 0.25 * whole) / (0.7 * whole)) / 10) if seconds > 0.33 * whole else None


# Machines of other speeds than that of the record, at which trainings are also slower or faster than other jobs.
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("speed", [0.15, 0.3, 0.5, 1, 2])
@pytest.mark.parametrize("trainings", [0.7, 1, 1.25])
def test_after_a_third_the_time_left_is_within_30_percent(speed, cores, trainings):
    record, random_state = recorded(), random.Random(f"{speed} {cores} {trainings}")
    numbers = list(record)
    seconds, needs = {}, {}
    for place, (rule, wildcards, waits, taken) in enumerate(record.values()):
        factor = trainings if "arm" in wildcards or rule == "pretrain" else 1
        seconds[place] = max(0.2, taken * speed * factor * random_state.lognormvariate(0, 0.2))
        needs[place] = [numbers.index(one) for one in waits]
    starts, ends = play(seconds, needs, cores)
    with open(os.path.join(ROOT, "config.yaml"), encoding="utf-8") as handle:
        config = yaml.safe_load(handle)
    jobs = [job(rule, **wildcards) for rule, wildcards, _, _ in record.values()]
    run, whole, finished = expected(jobs, config, cores=cores, needs=needs), max(ends.values()), set()
    for step in range(1, 11):
        now = step / 10 * whole / 3
        for place in ends.keys() - finished:
            if ends[place] <= now:
                finished.add(place)
                run.finish(place, seconds[place])
        running = {
            place: (now - starts[place], progress(jobs[place].rule.name, now - starts[place], seconds[place]))
            for place in starts
            if starts[place] <= now < ends[place]
        }
        left = run.left(running)
    assert left == pytest.approx(whole - now, rel=0.3)


def test_sizes_give_the_first_estimate_and_a_benchmark_a_better_one(tmp_path):
    # Weights of the layers: 1 * 100 * (4 * 100 + 2 * 200) = 80,000; the embedded study's: 128 * (512 + 512).
    jobs = [
        job("pretrain"),
        *(job("finetune_x", arm=arm, seed="1") for arm in "ab"),
        job("evaluate_x", arm="a", seed="1"),
        job("finetune_x", arm="c", seed="1"),
    ]
    run = expected(jobs, CONFIG)
    share = 80_000 / 131_072
    assert run.seconds(0, {}) == pytest.approx(98 * 900 / 1800 * (0.35 + 0.65 * share))
    # Twice the texts: 13 s * (0.5 + 0.5 * 2 * what grows with the weights).
    grows = 1 - 0.033 + 0.033 * share
    assert run.seconds(1, {}) == pytest.approx(13 * (0.5 + grows))
    assert run.seconds(2, {}) > 10 * run.seconds(1, {})  # a model of others counts as base-sized
    assert run.seconds(3, {}) == pytest.approx(
        13 * (0.5 + 0.5 * 0.5 * grows)
    )  # half of the embedded study's test texts
    assert run.seconds(4, {}) == pytest.approx(13 * 1.5)  # a trainer without a model counts as the embedded study's
    measured = tmp_path / "benchmarks" / "finetune_x" / "a"
    measured.mkdir(parents=True)
    (measured / "seed2.tsv").write_text("s\th:m:s\n33.5\t0:00:33\n")
    assert expected(jobs, CONFIG, str(tmp_path)).seconds(1, {}) == 33.5


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
    assert run.unfinished() == 1 and run.left({}) > 0 and not list(run.finished_stages())
    run.know(2)
    run.finish(2, 1)
    # Two jobs of a second each.
    assert list(run.finished_stages()) == [("finetuning", 2, 2)]
    # Another job in the place of a planned one, which never runs.
    jobs.append(job("three", "/w/rules/report.smk"))
    run.refresh(4)
    assert run.unfinished() == 1
    jobs[3:] = []
    assert run.unfinished() == 0 and run.left({}) == 0


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
