"""Each seed's own split for real: both frameworks read the same token ids of every draw, with its labels."""

import json

import pytest

from common.files import read_lines, read_tsv
from finetuning.token_ids import read_token_ids
from support import studies

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

HF = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}
FAIRSEQ = HF | {"framework": "fairseq"}
STUDY = {
    "data": {"embedded": {"n_labelled": 90}},
    "questions": [
        {"ask": "Do the frameworks differ?", "compare": ["whole", "theirs"]},
        {"ask": "Does it beat words?", "compare": ["theirs", "tfidf_words"]},
    ],
    "finetuning": {
        "arms": {"whole": FAIRSEQ, "few": FAIRSEQ | {"n_train": 20}, "theirs": HF,
                 "probe": HF | {"framework": "linear", "features": "mean"}},
        "vary": ["initialisation", "split"],
        "seeds": [1, 2],
        "training": {"epochs": 1},
        "evaluation": {"test_curves": False},
    },
}  # fmt: skip
DRAWS = [f"{split}-seed{seed}" for seed in (1, 2) for split in ("train", "valid", "train-20")]


def ids_of(results, split):
    sequences, labels = read_token_ids(str(results / "finetuning/token-ids/checkpoint" / f"{split}.npz"))
    return [tuple(map(int, ids)) for ids in sequences], labels.tolist()


def check_draws(results, shared=DRAWS):
    """Check the draws: disjoint, different, subsets nested; of those that both frameworks read, parity and labels."""
    texts = {split: read_lines(str(results / "data" / f"{split}.review")) for split in (*DRAWS, "pool", "test")}
    label_of = dict(zip(texts["pool"], read_lines(str(results / "data" / "pool.label")), strict=True))
    assert len(label_of) == 90 and not set(label_of) & set(texts["test"])
    for split in shared:
        parity = json.loads((results / "finetuning/token-ids/checkpoint" / f"{split}.parity.json").read_text())
        assert parity["n"] == parity["n_identical"] == len(texts[split])
        assert [int(label_of[text]) for text in texts[split]] == ids_of(results, split)[1]
    for seed in (1, 2):
        train, valid, few = (texts[f"{split}-seed{seed}"] for split in ("train", "valid", "train-20"))
        assert (len(train), len(valid), len(few)) == (40, 20, 20)
        assert not set(train) & set(valid) and set(few) < set(train)
    assert set(texts["train-seed1"]) != set(texts["train-seed2"])
    assert ids_of(results, "train-seed1")[0] != ids_of(results, "train-seed2")[0]


def test_both_frameworks_see_the_same_token_ids_of_every_draw(tmp_path):
    """Nothing is pretrained: the proofs need the vocabulary alone."""
    study = studies.write_study(tmp_path / "study.yaml", STUDY)
    asked = [f"results/tiny/finetuning/token-ids/checkpoint/{split}.parity.json" for split in DRAWS]
    done = studies.snakemake(tmp_path, *asked, study=study)
    assert done.returncode == 0, done.output[-3000:]
    check_draws(tmp_path / "results" / "tiny")
    assert not (tmp_path / "results/tiny/checkpoint/model.pt").exists()


@pytest.mark.slow
def test_a_study_of_draws_runs_to_its_page(tmp_path):
    done = studies.snakemake(tmp_path, study=studies.write_study(tmp_path / "study.yaml", STUDY))
    assert done.returncode == 0, done.output[-3000:]
    results = tmp_path / "results" / "tiny"
    check_draws(results, [split for split in DRAWS if "20" not in split])  # fairseq alone learns from the few
    rows = read_tsv(results / "runs.tsv")
    seeds = {
        (row["arm"], row["seed"]): [row[f"{name}_seed"] for name in ("init", "data", "dropout", "split")]
        for row in rows
    }
    # A probe has no random weights and no order.
    assert seeds == {
        (arm, seed): ["", "", "", seed] if arm == "probe" else [seed, "1", "1", seed]
        for arm in STUDY["finetuning"]["arms"] for seed in "12"
    }  # fmt: skip
    record = json.loads((results / "finetuning/whole/seed2/run.json").read_text())
    assert (record["seed"], record["init_seed"], record["data_seed"], record["dropout_seed"]) == (2, 2, 1, 1)
    assert record["split_seed"] == 2 and record["n_train"] == 40
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "The arms of one seed share its draw" in page and "the one split that simple models learn from" in page
    again = studies.snakemake(tmp_path, "-n", study=tmp_path / "study.yaml")
    assert "Nothing to be done" in again.output
