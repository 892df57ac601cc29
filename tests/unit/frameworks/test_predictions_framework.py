"""Predictions as arms: the files of each seed, what is refused, and what is not claimed of them."""

import types

import numpy as np
import pytest

from analysis.measured import Answered
from common.errors import StudyError
from finetuning.plain_results import UNVALIDATED, write_results
from frameworks.predictions.score import score
from frameworks.predictions.train import train
from measures import accuracy, loss
from study.run_files import RunFiles
from support.settings import changed, message

ARM = "finetuning.arms.fairseq-random"
GIVEN = {"framework": "predictions", "model": "none", "init": "none"}
CLASSES = ["negative", "positive"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2, 3):
        (tmp_path / f"{seed}.tsv").write_text(f"id\tprediction\n0\t{CLASSES[seed % 2]}\n1\tpositive\n")
    (tmp_path / "one.csv").write_text("id,prediction\n0,negative\n1,positive\n")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, f"{ARM} has no predictions; name its files"),
        ({"predictions": "none/{seed}.tsv"}, f"{ARM}: there is no file none/1.tsv; put it there, or take its seed out"),
        (
            {"predictions": "{seed}.tsv", "fixed": True},
            f"{ARM}.fixed is true, and predictions has a file for each seed",
        ),
        ({"predictions": "{seed}.tsv", "valid_predictions": "v.tsv"}, f"{ARM}: there is no file v.tsv"),
        ({"predictions": "{seed}.tsv", "n_train": 10**6}, f"{ARM}.n_train is 1000000, more than"),
        ({"predictions": "{seed}.tsv", "match": "fairseq-pretrained"}, f"{ARM}.match is for arms that train weights"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes, said):
    assert said in message({ARM: GIVEN | changes})


def test_the_best_of_several_needs_validation():
    compare = ["best of fairseq-pretrained, fairseq-random", "huggingface-pretrained"]
    asked = {"questions": [{"ask": "Which is best?", "compare": compare}]}
    given = GIVEN | {"predictions": "{seed}.tsv"}
    assert "fairseq-random has no validation result to be chosen by" in message({ARM: given} | asked)


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"predictions": "{seed}.tsv"}, [[[0, 1], [0, 1]], [[1, 0], [0, 1]]]),
        ({"predictions": "one.csv", "fixed": True}, [[[1, 0], [0, 1]]] * 2),
    ],
)
def test_each_seed_has_its_predictions(tmp_path, settings, wanted):
    for seed, of_seed in zip((1, 2), wanted, strict=True):
        folder = tmp_path / f"model{seed}"
        folder.mkdir()
        said = train([], [], (["x"], [0]), CLASSES, seed, settings, str(folder))
        assert said["scores"] == {"train": None, "valid": None} and said["record"]["train_seconds"] is None
        # A file that changes later changes no finished run.
        (tmp_path / "1.tsv").unlink(missing_ok=True)
        assert score(str(folder), ["a", "b"], 2) == of_seed


def test_one_table_without_seeds_is_not_taken_for_a_fixed_system(tmp_path):
    (tmp_path / "model").mkdir()
    train([], [], (["x"], [0]), CLASSES, 1, {"predictions": "one.csv"}, str(tmp_path / "model"))
    with pytest.raises(StudyError, match="one.csv has no run of seed 1.*or set fixed: true"):
        score(str(tmp_path / "model"), ["a", "b"], 2)


def test_a_run_without_validation_has_no_choice(tmp_path):
    from common.files import read_json, read_tsv

    write_results(tmp_path / "history.tsv", tmp_path / "selected.json", {})
    assert read_json(tmp_path / "selected.json") == UNVALIDATED and read_tsv(tmp_path / "history.tsv") == []


def test_answers_without_probabilities_have_no_loss(tmp_path):
    hard = np.array([[1.0, 0.0], [0.0, 1.0]])
    write_results(tmp_path / "history.tsv", tmp_path / "selected.json", {"valid": (hard, [0, 0])})
    assert "loss" not in (tmp_path / "history.tsv").read_text()
    run = Answered("p.tsv", np.array([0, 0]), np.array([0, 1]), hard)
    assert run.score(accuracy)[0] == 0.5
    with pytest.raises(StudyError, match="p.tsv has no probabilities, which the measure loss needs"):
        run.score(loss)


def test_where_a_commands_jobs_run_is_the_arms_choice():
    arm = {"framework": "command", "model": "none", "init": "none", "train": "t {train} {out}",
           "predict": "p {model} {texts} {predictions}"}  # fmt: skip
    config = changed({ARM: arm | {"conda": "own.yaml", "mem_mb": 100, "hours": 2.5, "gpu": 1}})
    config["finetuning"]["arms"]["plain"] = arm
    files, own, plain = RunFiles(config, str, list, dict), *(
        types.SimpleNamespace(arm=name, seed="1") for name in ("fairseq-random", "plain")
    )  # fmt: skip
    environment, resources = files.environment("command", "/root"), files.resources("command", 3500, 4)
    assert environment(own).endswith("/own.yaml") and environment(plain) == "/root/envs/data.yaml"
    assert [resources["mem_mb"](one, 2) for one in (own, plain)] == [200, 7000]
    # 2.5 and 4 hours in minutes, and five for what is around the command.
    assert [resources["runtime"](one, 1) for one in (own, plain)] == [155, 245]
    assert [resources["gpu"](one) for one in (own, plain)] == [1, 0]
    # Arms of other frameworks cannot say so.
    assert files.environment("predictions", "/root") == "/root/envs/data.yaml"
