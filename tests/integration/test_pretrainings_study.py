"""Each seed's own pretraining for real: both frameworks start from the one of the run's seed, also after a kill."""

import json

import pytest
import torch

from common.files import read_json, read_tsv, sha256
from support import fault_injection, studies

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

HF = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}
ARMS = {"ours": HF | {"framework": "fairseq"}, "theirs": HF, "fresh": HF | {"init": "random"}}
STUDY = {
    "checkpoint": {"pretraining": {"seeds": [11, 12]}},
    "questions": [{"ask": "Does pretraining help?", "compare": ["theirs", "fresh"]}],
    "finetuning": {
        "arms": ARMS,
        "baselines": ["majority"],
        "vary": ["initialisation", "order", "checkpoint"],
        "seeds": [1, 2],
        "training": {"epochs": 1},
        "evaluation": {"test_curves": False},
    },
}
FOLDERS = {"1": "checkpoint", "2": "checkpoint/seed12"}


def killed_in_the_second_pretraining(folder, study):
    """Run the workflow and kill it when the second pretraining would write its curve, with its last state saved."""
    place = ("pretrain", "open", "tiny/checkpoint/seed12/.part-pretraining.tsv")
    words = studies.command(folder, "--nolock", study=study, cores=1)
    first = fault_injection.Workflow(words, folder / "first.log", [place])
    try:
        assert first.wait_until(first.halted), first.output().decode()[-3000:]
    finally:
        first.kill()
    assert not (folder / "results/tiny/checkpoint/seed12/model.pt").exists()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrainings")
    study = studies.write_study(folder / "study.yaml", STUDY)
    killed_in_the_second_pretraining(folder, study)
    done = studies.snakemake(folder, "--nolock", "--rerun-incomplete", study=study)
    assert done.returncode == 0, done.output[-3000:]
    again = studies.snakemake(folder, "-n", study=study)
    assert "Nothing to be done" in again.output
    return folder / "results" / "tiny"


def test_the_second_pretraining_made_no_update_twice(results):
    log = (results / "logs/pretrain/seed12.log").read_text()
    # Its last state was saved, so the job that came after the kill only wrote the outputs.
    assert "pretrain_again" in log and "at update" not in log and "num_updates" not in log, log[-2000:]


def hashes(results, seed):
    return set(read_json(results / FOLDERS[seed] / "huggingface/conversion.json")["tensors"].values())


def test_each_run_loads_the_pretraining_of_its_seed(results):
    models = [torch.load(results / place / "model.pt", weights_only=False)["model"] for place in FOLDERS.values()]
    # One corpus and one dictionary give the same shapes, other first weights, masks and order no equal matrix.
    first, second = ({name: of for name, of in model.items() if of.ndim > 1} for model in models)
    assert first and {name: of.shape for name, of in first.items()} == {name: of.shape for name, of in second.items()}
    assert not [name for name, of in first.items() if torch.equal(of, second[name])]
    for arm in ("ours", "theirs", "fresh"):
        for seed in "12":
            proof = read_json(results / "finetuning" / arm / f"seed{seed}" / "weights.json")
            telling = {of["sha256"] for name, of in proof["tensors"].items() if name not in proof["constant"]}
            own, other = hashes(results, seed), hashes(results, "21"[int(seed) - 1])
            shared = own & other
            if arm == "fresh":
                assert not telling & (own | other) - shared
            else:
                assert telling <= own and not telling & (other - shared), (arm, seed)
    for row in read_tsv(results / "weights.tsv"):
        assert row["n_equal" if row["arm"] == "fresh" else "n_new"] == "0", row


def test_the_runs_say_which_and_the_page_says_what_that_means(results):
    seeds = {(row["arm"], row["seed"]): row["checkpoint_seed"] for row in read_tsv(results / "runs.tsv")}
    assert seeds == {
        (arm, seed): "" if arm == "fresh" else known for arm in ARMS for seed, known in (("1", "11"), ("2", "12"))
    }
    record = json.loads((results / "finetuning/theirs/seed2/run.json").read_text())
    assert (record["seed"], record["init_seed"], record["data_seed"], record["checkpoint_seed"]) == (2, 2, 2, 12)
    rows = read_tsv(results / "checkpoint/pretrainings.tsv")
    assert [(row["checkpoint_seed"], row["folder"]) for row in rows] == [("11", FOLDERS["1"]), ("12", FOLDERS["2"])]
    assert rows[0]["loss"] != rows[1]["loss"] and rows[0]["model_sha256"] != rows[1]["model_sha256"]
    page = " ".join((results / "report.html").read_text(encoding="utf-8").split())
    assert "Answers are about this way to pretrain, not about one checkpoint." in page
    assert "The arms of one seed that start from a checkpoint share it" in page
    assert "checkpoints that this study made from random weights, one for each seed of the runs" in page
    assert "What does not vary: the corpus, the tokenizer and the settings of the pretraining," in page


def test_both_pretrainings_are_in_the_provenance_and_exports_name_theirs(results):
    crate = read_json(results / "ro-crate-metadata.json")["@graph"]
    assert "checkpoint/pretrainings.tsv" in {one["@id"] for one in crate}
    folder = results.parents[1]
    done = studies.snakemake(folder, "results/tiny/models/theirs-seed2", study=folder / "study.yaml")
    assert done.returncode == 0, done.output[-3000:]
    card = (results / "models/theirs-seed2/README.md").read_text(encoding="utf-8")
    assert "this one has seed 12." in card
    assert f"`model.pt`: `{sha256(results / FOLDERS['2'] / 'model.pt')}`" in card
