"""The hours of a plan: of finished runs of the same model, else of a benchmark of one update; where from, in words."""

import json
import os

import pytest

from common.errors import StudyError
from study.configuration import load_study
from support import encoders, studies
from tools import plan_times, update_benchmark
from tools.plan_spread import Pilot

PILOT = os.path.join(studies.ROOT, "published", "recipes")
WHOLE = {"framework": "huggingface", "model": "checkpoint", "init": "random"}


def study(tmp_path, **changes):
    path = studies.write_study(tmp_path / "study.yaml", changes)
    return load_study(studies.ROOT, path)[0]


def timed(request):
    """Return what a benchmark might find."""
    return {"update_seconds": 0.5, "text_seconds": 0.01, "start_seconds": 7.0, "updates": 20, "tokens": 8 * 64.0}


def test_a_benchmark_counts_updates_scoring_and_starts(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(plan_times, "measured", lambda request: asked.append(request) or timed(request))
    config = study(tmp_path)
    found = plan_times.times(config, None, None, True, lambda line: None)
    # 40 texts in batches of 8 for 2 epochs: 10 updates of 0.5 s. Validation twice 20 texts, test 30 texts once and, for
    # the curve, after each of 2 epochs: 130 texts of 0.01 s. Two starts of 7 s: 5 + 1.3 + 14.
    assert {round(seconds, 9) for seconds, _ in found.values()} == {20.3}
    assert all(
        "benchmark on " in words and "0.5 s an update of 8 texts of 64 tokens" in words for _, words in found.values()
    )
    # Both starts of a framework are one workload; each framework is timed.
    assert [one["framework"] for one in asked] == ["fairseq", "huggingface"]
    shape = config["checkpoint"]["architecture"]
    assert all(one["architecture"] == shape and one["n_ids"] == 400 and one["longest"] == 64 for one in asked)
    assert {one["settings"]["batch_size"] for one in asked} == {8}
    none = plan_times.times(config, None, None, False)
    assert set(none.values()) == {(None, "no finished runs, no benchmark")}


def test_finished_runs_count_where_they_trained_the_same_model(tmp_path, monkeypatch):
    monkeypatch.setattr(plan_times, "measured", timed)
    pilot, lab = Pilot(PILOT), {"layers": 4, "width": 512, "ffn_width": 512, "heads": 8, "max_positions": 256}
    arms = {"mine": WHOLE | {"training": {"lr": 1e-5}}}
    for shape, source in ((lab, "finished runs of"), (lab | {"layers": 2}, "benchmark on")):
        config = study(tmp_path, checkpoint={"architecture": shape}, finetuning={"arms": arms})
        # The settings merge, so that the other arms are there, too.
        _, words = plan_times.times(config, pilot, None, True, lambda line: None)["mine"]
        assert source in words
    config = study(
        tmp_path, checkpoint={"architecture": lab}, finetuning={"arms": arms, "training": {"batch_size": 16}}
    )
    assert "benchmark on" in plan_times.times(config, pilot, None, True, lambda line: None)["mine"][1]


COMMAND = {"framework": "command", "model": "none", "init": "none", "train": "a", "predict": "b"}
OTHER = {"framework": "huggingface", "model": "other", "init": "pretrained"}


@pytest.mark.parametrize(
    ("arm", "said"),
    [
        (COMMAND, "command is timed by finished runs only"),
        (OTHER, "other is not downloaded yet, and its config.json is not on this machine"),
    ],
)
def test_what_cannot_be_timed_is_said(tmp_path, arm, said):
    config = study(tmp_path)
    hub = {"repo": "o/n", "revision": "a" * 40, "files": ["config.json"]}
    config["finetuning"] |= {"models": {"other": {"hub": hub}}, "arms": {"mine": arm}}
    seconds, words = plan_times.times(config, None, None, True, lambda line: None)["mine"]
    assert seconds is None and said in words


@pytest.mark.parametrize("framework", ["fairseq", "huggingface", "bert"])
def test_updates_are_timed_by_the_frameworks_own_training(tmp_path, framework):
    """The real benchmark, of a tiny model; one of another's is drawn from its config.json alone."""
    config = study(tmp_path)
    if framework == "bert":
        encoders.write_encoder(tmp_path / "bert", "bert")
        (tmp_path / "bert" / "model.safetensors").unlink()
        models = {"other": {"folder": str(tmp_path / "bert")}}
        config["finetuning"] |= {"models": models, "arms": {"mine": OTHER}}
    else:
        config["finetuning"]["arms"] = {"mine": WHOLE | {"framework": framework}}
    request = plan_times.request_of("mine", config) | {"budget": 0.1}
    assert bool(request["config"]) == (framework == "bert")
    found = plan_times.measured(request)
    assert 0 < found["update_seconds"] < 10 and 0 <= found["text_seconds"] < 1 and found["start_seconds"] > 0
    assert found["tokens"] == 8 * (24 if framework == "bert" else 64) == 8 * found["longest"]
    assert found["updates"] >= update_benchmark.FIRST


def test_an_update_is_never_free():
    assert update_benchmark.one_update(1.0, 4.0, 6) == 0.5
    # The longer training was no longer: all of it counts.
    assert update_benchmark.one_update(1.0, 0.8, 6) == pytest.approx(0.1)


def test_a_benchmark_that_fails_is_no_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(plan_times.sys, "executable", "false")
    with pytest.raises(StudyError, match="the benchmark of one update failed"):
        plan_times.measured(plan_times.request_of("fairseq-random", study(tmp_path)))


def test_lengths_are_those_of_the_studys_texts(tmp_path):
    request = {"lengths": [5, 9], "longest": 64}
    assert set(update_benchmark.lengths_of(request, 50)) == {5, 9}
    sequences, labels = update_benchmark.texts(request, 20, 30)
    assert {len(one) for one in sequences} == {5, 9} and set(labels) == {0, 1}
    assert all(one[0] == 0 and one[-1] == 2 and 4 <= min(one[1:-1]) and max(one) < 30 for one in sequences)
    assert json.loads(plan_times.workload({"settings": {"lr": 1, "epochs": 2, "batch_size": 3}}))["settings"] == {
        "batch_size": 3
    }
