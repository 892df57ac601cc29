"""Snakemake's plans: each study whole, and exactly what a changed setting touches. Nothing is run."""

import os
import pathlib
import re
from collections import Counter

import pytest
import yaml

from study.addresses import needed_retrievals
from study.pins import mirror_path
from support import studies
from tools.mirror import read_study
from tools.publish import links

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(1800)]

ARMS = [("fairseq", "pretrained"), ("fairseq", "random"), ("huggingface", "pretrained")]
# Runs of each framework: the course's three arms of three seeds; in the open study four arms of five.
RUNS = {"embedded": (6, 3), "open": (10, 10), "open-published": (6, 3), "lab": (6, 3), "lab-matched": (6, 3)}
# Rules that make, fetch and take a checkpoint.
MADE = {"build_corpus", "train_sentencepiece", "binarize_corpus", "pretrain"}
FETCHED_RULES = {"retrieve_checkpoint", "extract_checkpoint", "retrieve_huggingface_checkpoint"}
START = {
    "embedded": MADE,
    "open": MADE,
    "open-published": {"copy_checkpoint"},
    "lab": FETCHED_RULES | {"copy_checkpoint"},
    "lab-matched": FETCHED_RULES | {"copy_checkpoint"},
}
# Addresses: 7 of reviews, 100 novels, 49 tables of opinions, pairs; 3 zips, 4 of BLOOM, pairs.
ADDRESSES = {"embedded": 0, "open": 157, "open-published": 7, "lab": 8, "lab-matched": 3, "fetched": 3}
# A checkpoint from elsewhere, and a text of the corpus that only the question-answering branch still reads.
TEXTS = ["https://a.org/one.txt", "https://a.org/two.txt"]
FETCHED = {
    "checkpoint": {"source": "fetch", "corpus": {"files": TEXTS}},
    "qa": {"enabled": True, "base": {"embedded": {"files": TEXTS[:1]}}},
}
# The files made from the test reviews, from the source's rule on.
TEST_FILES = ("data/test.", "data-bin/test", "json/test", "token-ids/test", "pieces/test", "predictions/", "test_curve")


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A function that gives a study's file, by its name, and the jobs that a dry run from raw data plans."""
    plans = {}

    def plan(name):
        if name not in plans:
            folder = tmp_path_factory.mktemp(name)
            # The checkpoint of studies/open-published.yaml, for plans alone.
            start = folder / "results" / "open" / "checkpoint"
            start.mkdir(parents=True)
            for file in ("model.pt", "dict.txt", "sentencepiece.bpe.model"):
                (start / file).write_text("-")
            study = os.path.join(studies.ROOT, "config.yaml" if name == "embedded" else f"studies/{name}.yaml")
            if name == "fetched":
                study = studies.write_study(folder / "study.yaml", FETCHED)
            plans[name] = study, studies.planned_jobs(folder, study=study)
        return plans[name]

    return plan


@pytest.mark.parametrize("name", RUNS)
def test_each_study_plans_from_raw_data_to_report(planned, name):
    jobs = Counter(job.rule for job in planned(name)[1])
    for framework, runs in zip(("fairseq", "huggingface"), RUNS[name], strict=True):
        assert jobs[f"finetune_{framework}"] == jobs[f"evaluate_{framework}"] == runs
    assert jobs["build_splits"] == jobs["build_report"] == jobs["aggregate_runs"] == 1
    assert jobs["tokenize_texts"] == jobs["compare_token_ids"] == 3 and jobs["binarize_texts"] == 2
    assert (MADE | FETCHED_RULES | {"copy_checkpoint"}) & jobs.keys() == START[name]


STOCK = ("lab", "lab-matched")


@pytest.mark.parametrize("name", STOCK)
def test_the_labs_studies_have_the_stock_recipe_and_no_other_study_here_has(planned, name):
    jobs = planned(name)[1]
    rules = Counter(job.rule for job in jobs)
    assert rules["finetune_run_glue"] == rules["evaluate_run_glue"] == rules["write_json_texts"] == 3
    assert rules["compare_frameworks"] == 1
    (command,) = [job for job in jobs if job.rule == "compare_frameworks"]
    assert f"results/{name}/finetuning/json/test.json" in command.input
    above = studies.ancestors(jobs, f"results/{name}/finetuning/run_glue-pretrained/seed1/checkpoints")
    assert {"finetune_run_glue", "write_json_texts", "build_splits"} <= {job.rule for job in above}
    inputs = {file for job in above for file in job.input}
    assert f"results/{name}/finetuning/json/train.json" in inputs
    assert not [file for file in inputs if any(part in file for part in TEST_FILES)]
    assert not any(job.rule.endswith("run_glue") or job.rule == "write_json_texts" for job in planned("embedded")[1])


def last_to_all(arrows):
    """Leave out the arrows to `all` from rules that others need, too: it asks for every file of the page."""
    needed = {first for first, second in arrows if second != "all"}
    return {arrow for arrow in arrows if arrow[1] != "all" or arrow[0] not in needed}


def test_the_drawn_graph_is_that_of_the_embedded_study(tmp_path):
    drawing = pathlib.Path(studies.ROOT, "docs", "development", "rulegraph.svg").read_text(encoding="utf-8")
    drawn = dict(re.findall(r"<title>(\d+)</title>.*?>(\w+)</text>", drawing, re.DOTALL))
    arrows = {(drawn[a], drawn[b]) for a, b in re.findall(r"<title>(\d+)&#45;&gt;(\d+)</title>", drawing)}
    done = studies.snakemake(tmp_path, "--rulegraph", study=pathlib.Path(studies.ROOT, "config.yaml"))
    rules = dict(re.findall(r'(\d+)\[label = "(\w+)"', done.output))
    assert set(drawn.values()) == set(rules.values()) and len(rules) > 40
    planned = {(rules[a], rules[b]) for a, b in re.findall(r"(\d+) -> (\d+)", done.output)}
    assert last_to_all(arrows) == last_to_all(planned)


@pytest.mark.parametrize("name", ADDRESSES)
def test_make_mirror_fetches_what_the_study_retrieves(planned, name):
    study, jobs = planned(name)
    made = [file for job in jobs if job.rule.startswith("retrieve_") for file in job.output]
    urls = [url for group in needed_retrievals(*read_study(study)) for url in group["urls"]]
    files = sorted(file for file in made if not file.endswith(".retrieved.json"))
    assert files == sorted(f"resources/{mirror_path(url)}" for url in urls)
    assert len(urls) == len(set(urls)) == ADDRESSES[name]


@pytest.mark.parametrize("name", [name for name in RUNS if name != "open"])
@pytest.mark.parametrize("arm", ARMS, ids="-".join)
def test_no_job_that_a_run_rests_on_reads_test_text(planned, name, arm):
    """The rule graph above a run's checkpoints, pretraining and all: no input of it holds a test review."""
    checkpoints = f"results/{name}/finetuning/{'-'.join(arm)}/seed1/checkpoints"
    above = studies.ancestors(planned(name)[1], checkpoints)
    assert {f"finetune_{arm[0]}", "build_splits"} <= {job.rule for job in above}
    inputs = {file for job in above for file in job.input}
    assert len(inputs) >= 3
    assert not [file for file in inputs if any(part in file for part in TEST_FILES)]


@pytest.mark.parametrize("name", ["open", "stars"])
def test_of_what_a_run_rests_on_only_the_filter_of_the_corpus_reads_test_text(planned, name):
    """It keeps what shares words with them out of the corpus: whole texts, and nothing else of test."""
    jobs = planned(name)[1]
    above = [
        job for made in jobs if made.rule.startswith("finetune_") for job in studies.ancestors(jobs, made.output[0])
    ]
    assert {"pretrain", "build_corpus", "finetune_fairseq", "finetune_huggingface"} <= {job.rule for job in above}
    read = {(job.rule, file) for job in above for file in job.input if any(part in file for part in TEST_FILES)}
    assert read == {("filter_corpus_tables", f"results/{name}/data/test.review")}


@pytest.mark.parametrize(("claims", "taken"), [([], []), (["claims/open-published.yaml"], ["open-published.yaml"])])
def test_a_study_takes_the_claims_that_it_names_and_not_those_of_its_name(tmp_path, claims, taken):
    study = studies.write_study(tmp_path / "study.yaml", {"study": "open", "claims": claims})
    (job,) = (job for job in studies.planned_jobs(tmp_path, study=study) if job.rule == "check_claims")
    files = [os.path.basename(file) for file in job.input]
    assert [name for name in files if name.endswith(".yaml")] == ["published.yaml", *taken, "conclusions.yaml"]


def test_a_study_of_hugging_face_alone_plans_nothing_of_fairseq(tmp_path):
    """No rule that runs in fairseq's environment; the checkpoint comes from a folder."""
    for name in ("model.pt", "dict.txt", "sentencepiece.bpe.model"):
        (tmp_path / name).touch()
    arm = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}
    arms = {"plain": arm, "slow": arm | {"training": {"lr": 1.0e-6, "epochs": 1}}, "lora": arm | {"lora": LORA}}
    changes = {
        "finetuning": {"arms": arms},
        "checkpoint": {"source": "folder", "folder": str(tmp_path)},
        "qa": {"enabled": False},
    }
    study = studies.write_study(tmp_path / "study.yaml", changes)
    jobs = studies.planned_jobs(tmp_path, study=study)
    rules = "".join(path.read_text(encoding="utf-8") for path in pathlib.Path(studies.ROOT, "rules").rglob("*.smk"))
    of_fairseq = set(re.findall(r"rule (\w+):(?:(?!\n *rule ).)*?envs/fairseq.yaml", rules, re.DOTALL))
    planned = {job.rule for job in jobs}
    assert {"finetune_fairseq", "pretrain", "compare_token_ids"} <= of_fairseq
    assert not planned & of_fairseq and "build_report" in planned
    assert len([job for job in jobs if job.rule == "finetune_huggingface"]) == 3


LORA = {"r": 4, "lora_alpha": 8}


def changed(finished, changes):
    """Return {rule: jobs} that a change to the finished study plans."""
    study = studies.write_study(finished / "changed.yaml", changes)
    return studies.plan(finished, study=study)


def test_nothing_is_planned_after_a_finished_study(tiny_study):
    assert changed(tiny_study, {}) == {}


PAGE_PARTS = {
    "figures/arms.svg": "plot_arms",
    "figures/arms.png": "plot_arms",
    "figures/errors": "measure_errors",
    "statistics/pairs.tsv": "compute_statistics",
    "statistics/mcnemar.tsv": "compute_statistics",
    "test_accuracy.md": "tabulate_test_accuracy",
    "errors/hardest.jsonl": "measure_errors",
    "predictions/fairseq-random/seed1.tsv": "evaluate_fairseq",
    "predictions/fairseq-random/seed1.json": "evaluate_fairseq",
    "predictions/huggingface-pretrained": "evaluate_huggingface",
    "predictions/majority/seed0.tsv": "evaluate_linear",
    "ro-crate-metadata.json": "record_provenance",
}


@pytest.mark.parametrize("part", PAGE_PARTS)
def test_what_was_deleted_of_a_finished_study_is_made_again(tiny_study, part):
    path, aside = (tiny_study / place / "tiny" / part for place in ("results", "aside"))
    aside.parent.mkdir(parents=True, exist_ok=True)
    path.rename(aside)
    try:
        jobs = changed(tiny_study, {})
    finally:
        aside.rename(path)
    assert PAGE_PARTS[part] in jobs and "finetune_fairseq" not in jobs
    assert changed(tiny_study, {}) == {}


def test_all_asks_for_every_file_that_the_page_links_to(tiny_study, tmp_path):
    """A dead link would stay dead where `all` does not miss its file."""
    jobs = studies.planned_jobs(tmp_path, study=studies.write_study(tmp_path / "study.yaml"))
    asked = next(set(job.input) for job in jobs if job.rule == "all")
    results = tiny_study / "results" / "tiny"
    linked = {name for name in links(results / "report.html") if (results / name).is_file()}
    assert len(linked) > 50 and {f"results/tiny/{name}" for name in linked} <= asked


def test_files_that_changed_places_are_refused_at_every_start_even_with_nothing_to_do(tiny_study):
    """Renaming keeps time stamps, by which Snakemake judges.

    Which of the two is named depends on which was trained first: a record newer than its seal is left to Snakemake.
    """
    arms = ("fairseq-pretrained", "fairseq-random")
    for folder, name in (("predictions", "seed1.tsv"), ("predictions", "."), ("finetuning", "seed1/history.tsv")):
        first, second = (tiny_study / "results" / "tiny" / folder / arm / name for arm in arms)
        swap(first, second)
        done = studies.snakemake(tiny_study, "-n", study=studies.write_study(tiny_study / "changed.yaml"))
        swap(first, second)
        assert done.returncode != 0 and "evaluat" in done.output and any(arm in done.output for arm in arms)
        assert "Traceback" not in done.output
    assert changed(tiny_study, {}) == {}


def swap(first, second):
    """Let two files or folders change places."""
    aside = first.with_name("aside")
    for source, target in ((first, aside), (second, first), (aside, second)):
        source.rename(target)


def test_one_more_seed_plans_its_own_jobs_and_what_aggregates_them(tiny_study):
    jobs = changed(tiny_study, {"finetuning": {"seeds": [1, 2]}})
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
    assert not {"build_splits", "pretrain", "convert_checkpoint", "tokenize_texts", "binarize_texts"} & jobs.keys()
    assert {"aggregate_runs", "tabulate_test_accuracy", "build_report"} <= jobs.keys()


def test_a_changed_colour_draws_again_and_another_interval_of_saved_states_makes_nothing_again(tiny_study):
    changes = {
        "report": {"colours": {"fairseq-random": "#123456"}},
        "finetuning": {"training": {"save_every": 7}},
    }
    jobs = changed(tiny_study, changes)
    # The record of the settings and of the figures' hashes, the page that shows both, and its check.
    records = {"record_settings", "record_provenance"}
    figures = {"plot_accuracy_by_epoch", "plot_arms", "plot_arms_by_epoch", "plot_train_and_valid"}
    # The errors' figures come with their tables, and the tables of classes from one of these.
    figures |= {"measure_errors", "measure_classes"}
    made_again = {*figures, *records, "build_report", "check_report", "all"}
    assert figures <= jobs.keys() <= made_again


@pytest.mark.parametrize(
    "changes",
    [
        {"training": {"lr": 1.0e-4}},
        {"data_seed": 5},
        {"training": {"precision": "bfloat16"}},
        {"protocol": "published"},
    ],
    ids=["another rate", "another order of reviews", "another precision", "another protocol"],
)
def test_what_changes_the_training_trains_again_and_pretrains_nothing(tiny_study, changes):
    jobs = changed(tiny_study, {"finetuning": changes})
    assert jobs["finetune_fairseq"] == 2 and jobs["finetune_huggingface"] == 1
    assert not {"build_splits", "pretrain", "convert_checkpoint"} & jobs.keys()


def test_one_more_arm_is_a_line_of_config(tiny_study):
    with open(os.path.join(studies.ROOT, "config.yaml"), encoding="utf-8") as handle:
        arms = yaml.safe_load(handle)["finetuning"]["arms"]
    arms["mine"] = {"framework": "huggingface", "model": "checkpoint", "init": "random"}
    jobs = changed(tiny_study, {"finetuning": {"arms": arms}})
    assert jobs["finetune_huggingface"] == 1 and "finetune_fairseq" not in jobs
