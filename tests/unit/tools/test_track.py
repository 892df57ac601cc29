"""Runs copied to trackers: what they say is what the study's files say; each run once."""

import shutil
import sys

import pytest

from common.errors import StudyError
from common.files import read_tsv
from support.studies import published
from tools import track


@pytest.fixture
def results(tmp_path):
    """A copy of the open study, finished and published."""
    return str(shutil.copytree(published("open"), tmp_path / "open"))


def curve(arm, seed, split, metric):
    """The values of a run by epoch, as history.tsv has them."""
    rows = read_tsv(published("open") / "history.tsv")
    its = [row for row in rows if (row["arm"], row["seed"], row["split"], row["metric"]) == (arm, seed, split, metric)]
    return {int(row["epoch"]): float(row["value"]) for row in its}


def test_runs_are_those_of_the_studys_files(results):
    runs, rows = track.finished_runs(results), read_tsv(published("open") / "runs.tsv")
    assert [(run["arm"], run["seed"]) for run in runs] == [(row["arm"], row["seed"]) for row in rows]
    assert [run["scores"]["test_accuracy"] for run in runs] == [float(row["test_accuracy"]) for row in rows]
    assert len({run["key"] for run in runs}) == len(runs)
    for run in runs[::7]:
        valid = {epoch: values["valid/accuracy"] for epoch, values in run["epochs"].items()}
        assert valid == curve(run["arm"], run["seed"], "valid", "accuracy") != {}
        assert 0 < run["ended"] - run["started"] < 86_400 and run["parameters"]["framework"] in run["arm"]


def test_what_cannot_be_copied_is_refused(results, tmp_path, monkeypatch):
    with pytest.raises(StudyError, match="TRACKER is 'tensorboard'; set it to mlflow or wandb"):
        track.main(results, "tensorboard")
    with pytest.raises(StudyError, match="has no ro-crate-metadata.json: finish the study first"):
        track.main(str(tmp_path), "mlflow")
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(StudyError, match="mlflow.*; install the library beside Reseed"):
        track.main(results, "mlflow")
    with open(f"{results}/runs.tsv", "a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(StudyError, match="runs.tsv"):
        track.main(results, "wandb")


def test_mlflow_gives_back_what_was_copied_and_has_each_run_once(results, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert track.main(results, "mlflow") == "20 of 20 runs copied to mlflow, 0 were there already"
    assert track.main(results, "mlflow") == "0 of 20 runs copied to mlflow, 20 were there already"
    client = mlflow.MlflowClient(f"sqlite:///{results}/tracking/mlflow.db")
    found = client.search_runs([client.get_experiment_by_name("open").experiment_id])
    by_name = {run.info.run_name: run for run in found}
    for row in read_tsv(published("open") / "runs.tsv"):
        run = by_name.pop(f"{row['arm']}/seed{row['seed']}")
        assert run.data.metrics["test_accuracy"] == float(row["test_accuracy"]) and run.info.status == "FINISHED"
        losses = {one.step: one.value for one in client.get_metric_history(run.info.run_id, "train/loss")}
        assert losses == curve(row["arm"], row["seed"], "train", "loss")
    assert by_name == {}


def test_offline_files_of_wandb_are_written_once(results):
    pytest.importorskip("wandb")
    assert track.main(results, "wandb") == "20 of 20 runs copied to wandb, 0 were there already"
    assert track.main(results, "wandb") == "0 of 20 runs copied to wandb, 20 were there already"
