"""Snakemake's plans for studies of recipes and of learning curves. Nothing is run."""

import os
from collections import Counter
from pathlib import Path

import pytest

from common.files import read_tsv
from finetuning.protocol import arm_training
from study.addresses import checkpoint_files
from study.configuration import load_study
from support import studies

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(1800)]

UPDATES = (100, 200, 300, 400, 600)
HF = {"framework": "huggingface", "model": "checkpoint"}


def jobs_of(folder, name, kept=()):
    """The jobs that a study in studies/ plans, the checkpoint of studies/open.yaml being there."""
    for path in map(Path, checkpoint_files(folder / "results" / "open" / "checkpoint", kept)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("-")
    return studies.planned_jobs(folder, study=os.path.join(studies.ROOT, "studies", f"{name}.yaml"))


def inputs_of(jobs, output):
    (job,) = (job for job in jobs if any(file.endswith(output) for file in job.output))
    return set(job.input)


def test_the_study_of_recipes_is_a_grid_of_two_starts(tmp_path):
    jobs = jobs_of(tmp_path, "recipes")
    rules = Counter(job.rule for job in jobs)
    # 2 starts x 4 rates x 2 numbers of epochs x 3 seeds
    assert rules["finetune_huggingface"] == rules["evaluate_huggingface"] == 48
    assert rules["choose_recipes"] == rules["compare_recipes"] == rules["plot_recipes"] == 1
    assert not {"finetune_fairseq", "pretrain", "draw_subset", "tabulate_learning_curves"} & rules.keys()
    files = {f"results/recipes/{name}" for name in ("recipes.tsv", "recipes/differences.tsv", "recipes/runs.tsv")}
    for output in ("recipes/report.html", "report_numbers.tsv", "ro-crate-metadata.json"):
        assert files <= inputs_of(jobs, output)


def test_the_study_of_learning_curves_draws_subsets_and_converts_what_was_kept(tmp_path):
    jobs = jobs_of(tmp_path, "learning-curves", UPDATES)
    rules = Counter(job.rule for job in jobs)
    # 2 whole arms, 2 starts x 3 subsets, 5 updates; 2 seeds
    assert rules["finetune_huggingface"] == 26
    assert rules["draw_subset"] == 3 and rules["finetune_linear"] == rules["evaluate_linear"] == 1
    # The last weights, and five on the way; token ids of train, valid, test and three subsets.
    assert rules["convert_checkpoint"] == 6 and rules["tokenize_texts"] == 6
    assert rules["tabulate_learning_curves"] == rules["plot_learning_curves"] == 1 and "choose_recipes" not in rules
    folder = "results/learning-curves/"
    run = inputs_of(jobs, "finetuning/fewer-n300/seed1/history.tsv")
    assert f"{folder}finetuning/token-ids/checkpoint/train-300.npz" in run
    assert f"{folder}finetuning/token-ids/checkpoint/train.npz" not in run
    run = inputs_of(jobs, "finetuning/on-the-way-update400/seed1/history.tsv")
    assert f"{folder}checkpoint/kept/update400/huggingface" in run
    assert f"{folder}checkpoint/huggingface" not in run
    # How many updates the last weights had, as the other study's curve says.
    (copied,) = (job for job in jobs if job.rule == "copy_checkpoint")
    assert "results/open/checkpoint/pretraining.tsv" in copied.input
    assert f"{folder}checkpoint/pretraining.tsv" in inputs_of(jobs, "learning_curves/means.tsv")


def test_the_study_of_parts_and_that_of_own_defaults_start_from_the_same_checkpoint(tmp_path):
    jobs = jobs_of(tmp_path, "parts")
    rules = Counter(job.rule for job in jobs)
    # All of the encoder at one rate, LoRA and the head alone at three: nothing to compare rate by rate; 3 seeds
    assert rules["finetune_huggingface"] == 21 and not {"finetune_fairseq", "pretrain"} & rules.keys()
    assert rules["choose_recipes"] == rules["answer_questions"] == 1
    assert not rules.keys() & {"compare_recipes", "plot_recipes"}
    files = {f"results/parts/{name}" for name in ("recipes.tsv", "recipes/runs.tsv", "questions.tsv")}
    for output in ("parts/report.html", "report_numbers.tsv", "ro-crate-metadata.json"):
        assert files <= inputs_of(jobs, output)
    rules = Counter(job.rule for job in jobs_of(tmp_path, "open-published"))
    assert (rules["finetune_fairseq"], rules["finetune_huggingface"]) == (6, 3) and "pretrain" not in rules


def test_each_start_s_own_recipe_is_the_published_choice(tmp_path):
    rules = Counter(job.rule for job in jobs_of(tmp_path, "best-recipes"))
    assert rules["finetune_fairseq"] == rules["finetune_huggingface"] == 10 and "pretrain" not in rules
    config, _ = load_study(studies.ROOT, os.path.join(studies.ROOT, "studies", "best-recipes.yaml"))
    chosen = {
        row["init"]: (float(row["peak_lr"]), int(row["epochs"]))
        for row in read_tsv(os.path.join(studies.ROOT, "published", "recipes", "recipes.tsv"))
        if row["best"] == "true"
    }
    assert len(config["finetuning"]["arms"]) == 4
    for name, arm in config["finetuning"]["arms"].items():
        training = arm_training(config["finetuning"], name)
        assert (training["lr"], training["epochs"]) == chosen[arm["init"]], name
    # So is that of the arm that LoRA and the head alone are set against.
    parts, _ = load_study(studies.ROOT, os.path.join(studies.ROOT, "studies", "parts.yaml"))
    whole = arm_training(parts["finetuning"], "all")
    assert (whole["lr"], whole["epochs"]) == chosen["pretrained"]


def test_the_stars_from_a_folder_build_nothing_of_fairseq(tmp_path):
    folder = tmp_path / "results" / "stars" / "checkpoint" / "huggingface"
    folder.mkdir(parents=True)
    for name in ("config.json", "model.safetensors", "tokenizer_config.json"):
        (folder / name).write_text("{}")
    jobs = studies.planned_jobs(tmp_path, study=os.path.join(studies.ROOT, "studies", "stars-folder.yaml"))
    rules = Counter(job.rule for job in jobs)
    assert rules["finetune_huggingface"] == 6 and rules["take_model"] == 1
    assert not [rule for rule in rules if "fairseq" in rule or "checkpoint" in rule.replace("select_checkpoint", "")]


def test_weights_that_the_other_study_did_not_keep_are_missed_before_anything_is_planned(tmp_path):
    jobs_of(tmp_path, "recipes")
    study = os.path.join(studies.ROOT, "studies", "learning-curves.yaml")
    done = studies.snakemake(tmp_path, "--dry-run", study=study)
    assert done.returncode == 1 and "kept/update100/model.pt" in done.output
    for path in checkpoint_files(tmp_path / "results" / "open" / "checkpoint", UPDATES)[:-1]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_text("-")
    done = studies.snakemake(tmp_path, "--dry-run", study=study)
    assert done.returncode == 1 and "checkpoint/pretraining.tsv; name a folder that holds" in done.output


@pytest.mark.parametrize("reads", [False, True])
def test_the_question_answering_base_waits_for_the_tables_that_it_reads(tmp_path, reads):
    tables = [{"urls": ["https://a.org/opinions.csv"], "column": "text", "repeat": 1, "licence": "none"}]
    qa = {"enabled": True, "base": {"embedded": {"corpus_tables": reads}}}
    changes = {"checkpoint": {"corpus": {"tables": tables}}, "qa": qa}
    jobs = studies.planned_jobs(tmp_path, study=studies.write_study(tmp_path / "study.yaml", changes))
    (base,) = (job for job in jobs if job.rule == "build_qa_base_model")
    assert any(file.endswith("checkpoint/corpus-tables") for file in base.input) == reads
    assert "filter_corpus_tables" in {job.rule for job in jobs}


def test_arms_of_fairseq_learn_from_subsets_and_kept_weights_too(tmp_path):
    arm = HF | {"framework": "fairseq", "init": "pretrained"}
    changes = {
        "finetuning": {
            "arms": {"few": arm | {"n_train": 20}, "early": arm | {"at_update": 6}, "both": HF | {"init": "random"}}
        },
        "checkpoint": {"pretraining": {"keep": [6]}},
    }
    jobs = studies.planned_jobs(tmp_path, study=studies.write_study(tmp_path / "study.yaml", changes))
    few, early = (inputs_of(jobs, f"finetuning/{name}/seed1/history.tsv") for name in ("few", "early"))
    assert {"results/tiny/finetuning/data-bin/train-20-valid", "results/tiny/checkpoint/model.pt"} <= few
    assert {"results/tiny/finetuning/data-bin/train-valid", "results/tiny/checkpoint/kept/update6/model.pt"} <= early
    parity = inputs_of(jobs, "train-20.parity.json")
    assert "results/tiny/finetuning/data-bin/train-20-valid" in parity
    assert "results/tiny/finetuning/data-bin/train-valid" in inputs_of(jobs, "valid.parity.json")


@pytest.mark.parametrize(("own", "simple"), [({"n_train": 20}, True), ({"at_update": 6}, False)])
def test_a_curve_of_reviews_has_simple_models_and_one_of_updates_the_pretrainings_curve(tmp_path, own, simple):
    arms = {"whole": HF | {"init": "pretrained"}, "part": HF | {"init": "pretrained"} | own}
    changes = {"finetuning": {"arms": arms}, "checkpoint": {"pretraining": {"keep": [6]}}}
    jobs = studies.planned_jobs(tmp_path, study=studies.write_study(tmp_path / "study.yaml", changes))
    made = {file for job in jobs for file in job.output}
    assert ("results/tiny/learning_curves/baselines.tsv" in made) == simple
    read = inputs_of(jobs, "learning_curves/means.tsv")
    assert ("results/tiny/checkpoint/pretraining.tsv" in read) != simple


def test_the_default_study_plans_none_of_it(tmp_path):
    jobs = studies.planned_jobs(tmp_path, study=studies.write_study(tmp_path / "study.yaml"))
    rules = {job.rule for job in jobs}
    assert not rules & {"choose_recipes", "compare_recipes", "plot_recipes", "draw_subset", "tabulate_learning_curves"}
    assert not [file for job in jobs for file in (*job.input, *job.output) if "kept" in file or "train-2" in file]
