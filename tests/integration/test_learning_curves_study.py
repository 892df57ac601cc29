"""A small study of learning curves for real: subsets and kept weights in both frameworks, up to the page."""

import json

import numpy as np
import pytest

from common.files import read_tsv
from finetuning.token_ids import read_token_ids
from support import studies

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

HF = {"framework": "huggingface", "model": "checkpoint"}
FAIRSEQ = HF | {"framework": "fairseq"}
ARMS = {
    "pre": HF | {"init": "pretrained"},
    "ran": HF | {"init": "random"},
    "few": HF | {"init": "pretrained"},
    "early": HF | {"init": "pretrained", "at_update": 6},
    "f-early": FAIRSEQ | {"init": "pretrained", "at_update": 6, "n_train": 20},
}
STUDY = {
    "checkpoint": {"pretraining": {"keep": [6]}},
    "finetuning": {
        "arms": ARMS,
        "grids": [{"arms": ["few"], "n_train": [10, 20]}],
        "training": {"epochs": 1},
        "evaluation": {"test_curves": False},
    },
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curves")
    done = studies.snakemake(folder, study=studies.write_study(folder / "study.yaml", STUDY))
    assert done.returncode == 0, done.output[-3000:]
    return folder / "results" / "tiny"


def test_the_updates_follow_from_the_reviews_that_an_arm_learns_from(results):
    rows = {row["arm"]: (int(row["n_train"]), int(row["total_updates"])) for row in read_tsv(results / "runs.tsv")}
    # One epoch in batches of 8: ceil(n / 8).
    assert rows == {
        "pre": (40, 5), "ran": (40, 5), "few-n10": (10, 2), "few-n20": (20, 3), "early": (40, 5), "f-early": (20, 3),
    }  # fmt: skip


def test_token_ids_of_a_subset_are_those_of_the_whole_and_nested(results):
    def ids(name):
        sequences, labels = read_token_ids(str(results / "finetuning/token-ids/checkpoint" / f"{name}.npz"))
        return [(tuple(map(int, ids)), int(label)) for ids, label in zip(sequences, labels, strict=True)]

    small, middle, whole = (ids(name) for name in ("train-10", "train-20", "train"))
    assert set(small) < set(middle) < set(whole) and [len(small), len(middle)] == [10, 20]
    assert [np.mean([label for _, label in part]) for part in (small, middle)] == [0.5, 0.5]
    parity = json.loads((results / "finetuning/token-ids/checkpoint/train-20.parity.json").read_text())
    assert parity["n"] == parity["n_identical"] == 20


def test_runs_start_from_the_kept_weights_and_not_from_the_last(results):
    kept, last = (
        json.loads((results / "checkpoint" / place / "huggingface/conversion.json").read_text())["tensors"]
        for place in ("kept/update6", "")
    )
    proved = {}
    for arm in ("pre", "early", "f-early"):
        proof = json.loads((results / "finetuning" / arm / "seed1/weights.json").read_text())
        proved[arm] = {of["sha256"] for name, of in proof["tensors"].items() if name not in proof["constant"]}
    differing = {digest for name, digest in last.items() if digest != kept[name]}
    assert proved["pre"] <= set(last.values()) and proved["pre"] & differing
    for arm in ("early", "f-early"):
        assert proved[arm] <= set(kept.values()) and not proved[arm] & differing
    assert {row["n_new"] for row in read_tsv(results / "weights.tsv") if row["init"] == "pretrained"} == {"0"}


def test_both_curves_are_on_the_checked_page(results):
    means = read_tsv(results / "learning_curves" / "means.tsv")
    assert {(row["curve"], row["arm"], row["amount"]) for row in means} == {
        ("labelled reviews", "few-n10", "10"), ("labelled reviews", "few-n20", "20"), ("labelled reviews", "pre", "40"),
        ("pretraining updates", "ran", "0"), ("pretraining updates", "early", "6"),
        ("pretraining updates", "pre", "12"),
    }  # fmt: skip
    simple = read_tsv(results / "learning_curves" / "baselines.tsv")
    assert [row["n_train"] for row in simple] == ["10"] * 3 + ["20"] * 3 + ["40"] * 3
    assert [row["test_accuracy"] for row in simple[-3:]] == [
        row["test_accuracy"] for row in read_tsv(results / "baselines.tsv")
    ]
    assert '<section id="learning-curves"' in (results / "report.html").read_text(encoding="utf-8")
    numbers = {row["file"] for row in read_tsv(results / "report_numbers.tsv")}
    assert {f"results/tiny/learning_curves/{name}.tsv" for name in ("means", "baselines")} <= numbers


def test_a_second_run_trains_nothing(results):
    jobs = studies.plan(results.parents[1], study=results.parents[1] / "study.yaml")
    # The page names the commit, which may be another by now.
    assert (
        not {"draw_subset", "pretrain", "convert_checkpoint", "finetune_fairseq", "finetune_huggingface"} & jobs.keys()
    )
