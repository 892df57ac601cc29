"""Plans where each seed starts from a pretraining of its own. Nothing is run."""

import re

import pytest

from support import studies

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]

START = {"model": "checkpoint", "init": "pretrained"}
ARMS = {
    "whole": START | {"framework": "fairseq"},
    "early": START | {"framework": "fairseq", "at_update": 6},
    "theirs": START | {"framework": "huggingface"},
    "stock": START | {"framework": "run_glue"},
    "probe": START | {"framework": "linear", "features": "mean"},
    "fresh": START | {"framework": "huggingface", "init": "random"},
}
STUDY = {
    "checkpoint": {"pretraining": {"seeds": [11, 12], "keep": [6], "word_init": "cooccurrence"}},
    "finetuning": {
        "arms": ARMS,
        "seeds": [3, 4],
        "vary": ["initialisation", "order", "checkpoint"],
        "evaluation": {"test_curves": False},
    },
}
TRAINING = {"finetune_fairseq", "finetune_huggingface", "finetune_run_glue", "fit_probe"}
OF_A_PRETRAINING = re.compile(r"/(?:checkpoint|features/checkpoint)/(seed\d+/)?(?:model\.pt|kept|huggingface|mean)")
SHARED = {"build_corpus", "train_sentencepiece", "binarize_corpus", "convert_tokenizer"}


def test_every_kind_of_arm_starts_from_the_pretraining_of_its_seed(tmp_path):
    jobs = studies.planned_jobs(tmp_path, study=studies.write_study(tmp_path / "study.yaml", STUDY))
    trained = [job for job in jobs if job.rule in TRAINING]
    assert {job.rule for job in trained} == TRAINING and len(trained) == 12
    for job in trained:
        arm, seed = next(found.groups() for file in job.output if (found := re.search(r"/(\w+)/seed(\d+)/", file)))
        folders = {found[1] for file in job.input if (found := OF_A_PRETRAINING.search(file))}
        assert folders == {"seed12/" if seed == "4" and arm != "fresh" else None}, (arm, seed, job.input)
    # Two pretrainings of one corpus and one tokenizer, each with word vectors, kept weights and conversions.
    counts = {rule: sum(job.rule == rule for job in jobs) for rule in {job.rule for job in jobs}}
    assert {rule: counts[rule] for rule in SHARED} == dict.fromkeys(SHARED, 1)
    again = ("pretrain", "pretrain_again", "factorize_cooccurrences", "factorize_again", "tabulate_pretrainings")
    assert [counts[rule] for rule in again] == [1] * 5 and counts["convert_checkpoint"] == 4
    (proof,) = [job for job in jobs if job.rule == "prove_weights"]
    assert len([file for file in proof.input if file.endswith("huggingface")]) == 4


def test_one_pretraining_is_planned_as_if_nobody_knew_of_several(tmp_path):
    """The same jobs with the same files, whether the settings leave the keys out or write their defaults."""
    said = {"checkpoint": {"pretraining": {"seeds": None}}, "finetuning": {"vary": ["initialisation", "order"]}}
    plain, written = (
        studies.planned_jobs(tmp_path, study=studies.write_study(tmp_path / f"{name}.yaml", changes))
        for name, changes in (("plain", {}), ("written", said))
    )
    assert set(plain) == set(written) and len(plain) == len(written)
    assert not [job for job in plain if job.rule.endswith("_again") or job.rule == "tabulate_pretrainings"]
    assert not [file for job in plain for file in (*job.input, *job.output) if "/checkpoint/seed" in file]
