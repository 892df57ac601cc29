"""Folders that Snakemake was removing when it was killed."""

import fcntl

import pytest

from common.files import write_tsv
from study.remains import remove_remains


@pytest.fixture
def runs(tmp_path):
    """{kind: folder} of a run of each kind of checkpoints, of three epochs, whole."""
    folders = {}
    for kind in ("fairseq", "huggingface"):
        run = folders[kind] = tmp_path / "finetuning" / kind / "seed1"
        for epoch in (1, 2, 3):
            name = f"checkpoint{epoch}.pt" if kind == "fairseq" else f"epoch{epoch}/model.safetensors"
            path = run / "checkpoints" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"weights")
            if kind == "huggingface":
                (path.parent / "config.json").write_text("{}", encoding="utf-8")
        # Snakemake's own, in every folder that is an output.
        (run / "checkpoints" / ".snakemake_timestamp").touch()
        rows = [{"epoch": epoch, "split": split} for epoch in (1, 2, 3) for split in ("train", "valid")]
        write_tsv(run / "history.tsv", rows, ["epoch", "split"])
    return folders


def remaining(folder, runs):
    remove_remains(str(folder), [str(run) for run in runs.values()] + [str(folder / "finetuning" / "none" / "seed1")])
    return {kind for kind, run in runs.items() if (run / "checkpoints").exists()}


def test_whole_ones_stay(tmp_path, runs):
    assert remaining(tmp_path, runs) == {"fairseq", "huggingface"}


def test_what_is_left_of_a_removal_goes_and_nothing_else(tmp_path, runs, capsys):
    (runs["fairseq"] / "checkpoints" / "checkpoint2.pt").unlink()
    (runs["fairseq"] / "selected.json").write_text("{}", encoding="utf-8")
    assert remaining(tmp_path, runs) == {"huggingface"}
    assert (runs["fairseq"] / "selected.json").exists() and (runs["fairseq"] / "history.tsv").exists()
    assert f"{runs['fairseq']}/checkpoints: some are gone" in capsys.readouterr().out


@pytest.mark.parametrize("left", ["config.json", "model.safetensors", None])
def test_a_folder_of_an_epoch_may_be_half_gone(tmp_path, runs, left):
    epoch = runs["huggingface"] / "checkpoints" / "epoch2"
    for path in epoch.iterdir():
        if path.name != left:
            path.unlink()
    assert remaining(tmp_path, runs) == {"fairseq"}


def test_a_workflow_that_is_removing_them_is_left_alone(tmp_path, runs):
    (runs["fairseq"] / "checkpoints" / "checkpoint2.pt").unlink()
    with open(tmp_path / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remaining(tmp_path, runs) == {"fairseq", "huggingface"}
    assert remaining(tmp_path, runs) == {"huggingface"}
