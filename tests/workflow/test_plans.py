"""What Snakemake plans: each study whole, and exactly what a changed setting touches. Nothing is run."""

import os

import pytest
import yaml

import studies
from common.addresses import needed_retrievals
from common.download import mirror_path
from fill_mirror import read_study
from studies import plan

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(1800)]

STUDIES = {
    "embedded": None,
    "open": "studies/open.yaml",
    "open-published": "studies/open-published.yaml",
    "lab": "studies/lab.yaml",
}
# Runs of each framework: the course's three arms of three seeds; in the open study four arms of five.
RUNS = {"embedded": (6, 3), "open": (10, 10), "open-published": (6, 3), "lab": (6, 3)}
# Rules that make, fetch and take a checkpoint.
MADE = {"build_corpus", "train_sentencepiece", "binarize_corpus", "pretrain"}
FETCHED_RULES = {"retrieve_checkpoint", "extract_checkpoint", "retrieve_huggingface_checkpoint"}
START = {"lab": FETCHED_RULES, "open-published": {"copy_checkpoint"}}


@pytest.fixture(autouse=True)
def checkpoint_of_the_open_study(request, tmp_path):
    """What studies/open-published.yaml starts from, for plans alone."""
    if "open-published" not in request.node.name:
        return
    folder = tmp_path / "results" / "open" / "checkpoint"
    folder.mkdir(parents=True)
    for name in ("model.pt", "dict.txt", "sentencepiece.bpe.model"):
        (folder / name).write_text("-")


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_plans_from_raw_data_to_report(tmp_path, name):
    study = STUDIES[name] and os.path.join(studies.ROOT, STUDIES[name])
    jobs = plan(tmp_path, study=study)
    for framework, runs in zip(("fairseq", "huggingface"), RUNS[name], strict=True):
        assert jobs[f"finetune_{framework}"] == jobs[f"evaluate_{framework}"] == runs
    assert jobs["build_splits"] == jobs["build_report"] == jobs["aggregate_runs"] == 1
    start = START.get(name, MADE)
    assert (MADE | FETCHED_RULES | {"copy_checkpoint"}) & jobs.keys() == start


def test_the_embedded_study_downloads_nothing(tmp_path):
    assert not [rule for rule in plan(tmp_path) if rule.startswith("retrieve")]


# A checkpoint from elsewhere, and a text of the corpus that only the question-answering branch still reads.
TEXTS = ["https://a.org/one.txt", "https://a.org/two.txt"]
FETCHED = {
    "checkpoint": {"source": "fetch", "corpus": {"files": TEXTS}},
    "qa": {"enabled": True, "base": {"embedded": {"files": TEXTS[:1]}}},
}


@pytest.mark.parametrize("name", [*STUDIES, "fetched"])
def test_make_mirror_fetches_what_the_study_retrieves(tmp_path, name):
    study = os.path.join(studies.ROOT, STUDIES.get(name) or "config.yaml")
    if name == "fetched":
        study = studies.write_study(tmp_path / "study.yaml", FETCHED)
    done = studies.snakemake(tmp_path, "--summary", study=study)
    assert done.returncode == 0, done.output
    files = {line.split("\t")[0] for line in done.output.splitlines() if line.startswith("resources/")}
    urls = [url for group in needed_retrievals(*read_study(study)) for url in group["urls"]]
    assert {file for file in files if not file.endswith(".retrieved.json")} == {
        f"resources/{mirror_path(u)}" for u in urls
    }
    # Addresses: 7 of reviews, 100 novels (two of them the other branch's, too), pairs; 3 zips, 5 of BLOOM, pairs.
    wanted = {"embedded": 0, "open": 108, "open-published": 7, "lab": 9, "fetched": 3}
    assert len(urls) == len(set(urls)) == wanted[name]


@pytest.fixture(scope="module")
def finished(tiny_study):
    """A tiny study run for real, whose plans for a change the tests look at."""
    return tiny_study


def changed(finished, changes):
    """The plan after a change to the finished study."""
    study = studies.write_study(finished / "changed.yaml", changes)
    return plan(finished, study=study)


def test_nothing_is_planned_after_a_finished_study(finished):
    assert changed(finished, {}) == {}


def test_one_more_seed_plans_its_own_jobs_and_what_aggregates_them(finished):
    jobs = changed(finished, {"sentiment": {"seeds": [1, 2]}})
    # One new seed in three arms: two of fairseq, one of Hugging Face.
    per_run = {
        "finetune_fairseq": 2,
        "finetune_huggingface": 1,
        "evaluate_fairseq": 2,
        "evaluate_huggingface": 1,
        "select_checkpoint": 3,
        "test_curve_fairseq": 2,
        "test_curve_huggingface": 1,
    }
    assert {rule: jobs.get(rule) for rule in per_run} == per_run
    untouched = {"build_splits", "pretrain", "convert_checkpoint", "tokenize_train_valid", "binarize_train_valid"}
    assert not untouched & jobs.keys()
    assert {"aggregate_runs", "tabulate_test_accuracy", "build_report"} <= jobs.keys()


def test_a_changed_colour_draws_again_and_trains_nothing(finished):
    jobs = changed(finished, {"report": {"colours": {"fairseq-random": "#123456"}}})
    # The record of the figures' hashes and the check of the page follow the figures.
    made_again = {"plot_accuracy_by_epoch", "plot_arms", "record_provenance", "build_report", "check_report", "all"}
    assert jobs.keys() <= made_again
    assert {"plot_accuracy_by_epoch", "plot_arms"} <= jobs.keys()


def test_a_changed_rate_trains_again_and_pretrains_nothing(finished):
    jobs = changed(finished, {"sentiment": {"finetuning": {"lr": 1.0e-4}}})
    assert jobs["finetune_fairseq"] == 2 and jobs["finetune_huggingface"] == 1
    assert not {"build_splits", "pretrain", "convert_checkpoint"} & jobs.keys()


def test_another_interval_of_saved_states_makes_nothing_again(finished):
    # The record of the settings and the page that shows it, and no more.
    jobs = changed(finished, {"sentiment": {"finetuning": {"save_every": 7}}})
    assert jobs.keys() <= {"record_provenance", "build_report", "check_report", "all"}


def test_another_order_of_reviews_trains_again(finished):
    jobs = changed(finished, {"sentiment": {"data_seed": 5}})
    assert jobs["finetune_fairseq"] == 2 and jobs["finetune_huggingface"] == 1 and "pretrain" not in jobs


def test_one_more_arm_is_a_line_of_config(finished):
    with open(os.path.join(studies.ROOT, "config.yaml"), encoding="utf-8") as handle:
        arms = yaml.safe_load(handle)["sentiment"]["arms"]
    arms.append({"framework": "huggingface", "init": "random"})
    jobs = changed(finished, {"sentiment": {"arms": arms}})
    assert jobs["finetune_huggingface"] == 1 and "finetune_fairseq" not in jobs


# What the test reviews become, from the source's rule on.
TEST_FILES = ("data/test.", "data-bin/test", "token-ids/test", "pieces/test", "predictions/", "test_curve")


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("arm", [("fairseq", "pretrained"), ("fairseq", "random"), ("huggingface", "pretrained")])
def test_no_job_that_a_run_rests_on_reads_test_text(tmp_path, name, arm):
    """The rule graph above a run's checkpoints, pretraining and all: no input of it holds a test review."""
    study = STUDIES[name] and os.path.join(studies.ROOT, STUDIES[name])
    folder = f"results/{name}/sentiment/{arm[0]}/{arm[1]}/seed1/checkpoints"
    done = studies.snakemake(tmp_path, "--dry-run", "--", folder, study=study)
    assert done.returncode == 0, done.output
    inputs = [line for line in done.output.splitlines() if line.startswith("    input:")]
    assert len(inputs) >= 3
    assert not [line for line in inputs if any(part in line for part in TEST_FILES)]
