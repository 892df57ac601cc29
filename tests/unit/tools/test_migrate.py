"""Results of the time before arms had names: renamed whole, the records told the arm, nothing overwritten."""

import pytest

from analysis import aggregate_runs
from common.errors import StudyError
from common.files import read_json, read_tsv, write_json, write_text, write_tsv
from support.arms import facts
from support.published import write_published
from tools import migrate

ARMS = {
    arm["arm"]: {key: arm[key] for key in ("framework", "model", "init")}
    for arm in (facts("fairseq", "pretrained"), facts("fairseq", "random"), facts("huggingface", "pretrained"))
}


@pytest.fixture
def old(tmp_path):
    """The published runs as an earlier release would have left them."""
    write_published(tmp_path)
    for name, arm in ARMS.items():
        for new, before in (("finetuning", "sentiment"), ("predictions", "predictions")):
            place = tmp_path / before / arm["framework"]
            place.mkdir(parents=True, exist_ok=True)
            (tmp_path / new / name).rename(place / arm["init"])
        for path in (tmp_path / "sentiment" / arm["framework"] / arm["init"]).glob("*/run.json"):
            record = read_json(path)
            write_json(path, {key: value for key, value in record.items() if key not in ("arm", "model")})
    (tmp_path / "finetuning").rmdir()
    for name in (
        "sentiment/token-ids/valid.npz",
        "sentiment/data-bin/test/input0/test.bin",
        "logs/finetune_fairseq/random/seed1.log",
        "benchmarks/select_checkpoint/huggingface/pretrained/seed2.tsv",
        "benchmarks/evaluate_huggingface/pretrained/seed2.tsv",
        "logs/finetune_lora/rank8/seed1.log",
        "state/finetune_fairseq/random/seed1/key.json",
    ):
        write_text(tmp_path / name, "x")
    row = {"framework": "fairseq", "init": "random", "seed": 1, "n_tensors": 4, "n_equal": 0, "n_new": 3}
    row["n_constant"] = 1
    write_tsv(tmp_path / "weights.tsv", [row], tuple(row))
    write_json(tmp_path / "settings.json", {"finetuning": {"arms": [{"framework": "fairseq", "init": "random"}]}})
    return tmp_path


def test_every_file_has_its_new_place_and_the_runs_are_read(old):
    migrate.main(str(old), ARMS)
    for name in (
        "finetuning/token-ids/checkpoint/valid.npz",
        "finetuning/data-bin/test/input0/test.bin",
        "logs/finetune_fairseq/fairseq-random/seed1.log",
        "benchmarks/select_checkpoint/huggingface-pretrained/seed2.tsv",
        "benchmarks/evaluate_huggingface/huggingface-pretrained/seed2.tsv",
        "logs/finetune_lora/rank8/seed1.log",
        "state/finetune_fairseq/fairseq-random/seed1/key.json",
    ):
        assert (old / name).exists(), name
    assert not (old / "sentiment").exists() and not (old / "predictions" / "fairseq").exists()
    for path in sorted((old / "finetuning").glob("*/seed*/run.json")):
        name = path.parts[-3]
        assert {"arm": name} | ARMS[name] == {
            key: read_json(path)[key] for key in ("arm", "framework", "model", "init")
        }
        assert aggregate_runs.run_of(path) == (name, int(path.parts[-2].removeprefix("seed")))
    (row,) = read_tsv(old / "weights.tsv")
    assert (row["arm"], row["model"], row["seed"], row["n_new"]) == ("fairseq-random", "checkpoint", "1", "3")
    assert read_json(old / "settings.json")["finetuning"]["arms"] == ARMS


def test_what_is_there_already_stays(old):
    write_text(old / "finetuning" / "fairseq-random" / "seed1" / "run.json", "{}")
    with pytest.raises(StudyError, match="both sentiment/fairseq/random and finetuning/fairseq-random"):
        migrate.main(str(old), ARMS)
    assert (old / "sentiment" / "token-ids" / "valid.npz").exists()
    with pytest.raises(StudyError, match="there is no folder"):
        migrate.main(str(old / "none"), ARMS)


def test_settings_recorded_with_named_arms_stay(old):
    # What a later study was run with is `make regenerate`'s to compare with today's settings.
    recorded = {"finetuning": {"arms": {"fairseq-random": {"framework": "fairseq", "training": {"lr": 1e-3}}}}}
    write_json(old / "settings.json", recorded)
    migrate.main(str(old), ARMS)
    assert read_json(old / "settings.json") == recorded
