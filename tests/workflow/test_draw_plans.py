"""Plans where each seed draws its own texts: every kind of arm reads those of its seed. Nothing is run."""

import re

import pytest

from support import studies

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]

START = {"model": "checkpoint", "init": "pretrained"}
ARMS = {
    "fairseq": START | {"framework": "fairseq"},
    "hf": START | {"framework": "huggingface"},
    "stock": START | {"framework": "run_glue"},
    "probe": START | {"framework": "linear", "features": "first"},
    "mine": {"framework": "command", "train": "t {train} {valid} {out}", "predict": "p {model} {texts} {predictions}"},
}
STUDY = {
    "questions": [{"ask": "Is mine better?", "compare": ["mine", "stock"]}],
    "finetuning": {
        "arms": ARMS,
        "grids": [{"arms": ["hf"], "n_train": [10, 20]}],
        "seeds": {"looks": [2, 4]},
        "vary": ["initialisation", "order", "bootstrap"],
        "evaluation": {"test_curves": False},
    },
}
TRAINING = {"finetune_fairseq", "finetune_huggingface", "finetune_run_glue", "fit_probe", "finetune_command"}
# Texts, labels and what is made of them, by split; test is left out.
OF_A_SPLIT = re.compile(r"(?:data|json|data-bin|checkpoint|first)/((?:train|valid)[\w-]*)(?:\.\w+)*$")


def test_every_kind_of_arm_learns_from_the_texts_of_its_seed(tmp_path):
    jobs = studies.planned_jobs(tmp_path, study=studies.write_study(tmp_path / "study.yaml", STUDY))
    trained = [job for job in jobs if job.rule in TRAINING]
    # The first look's seeds: two runs of four kinds of arms and of two sizes.
    assert {job.rule for job in trained} == TRAINING and len(trained) == 12
    for job in trained:
        (seed,) = {found[1] for file in job.output if (found := re.search(r"/seed(\d+)/", file))}
        read = [found[1] for file in job.input if (found := OF_A_SPLIT.search(file))]
        assert read and all(split.endswith(f"-seed{seed}") for split in read), (job.rule, read)
    draws = [job for job in jobs if job.rule == "draw_split"]
    assert len(draws) == 2 and all("results/tiny/data/pool.review" in job.input for job in draws)
    # Simple models and the checkpoint's corpus rest on no draw.
    for rule in ("finetune_linear", "build_corpus"):
        (job,) = [job for job in jobs if job.rule == rule]
        assert not [file for file in job.input if "-seed" in file]
