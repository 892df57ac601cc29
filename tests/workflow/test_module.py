"""Another workflow that has this one as a module: its own settings, rules and targets beside ours."""

import os
import subprocess
import sys

import pytest
import yaml

from support import servers, studies

pytestmark = [pytest.mark.workflow, pytest.mark.timeout(600)]

# A study's own settings and none of the defaults; what else the settings hold is the foreign workflow's.
SETTINGS = {
    "greeting": "bonjour",
    "guest": {
        "study": "guest",
        "data": {"n_train": 20, "n_valid": 10, "embedded": {"n_labelled": 30, "n_test": 10, "n_unlabelled": 40}},
        "finetuning": {"seeds": [1]},
    },
}
FOREIGN = """
configfile: "settings.yaml"

rule everything:
    input: "greeting.txt", "{splits}"

module study:
    snakefile: "{root}/Snakefile"
    config: config["guest"]
    {options}

use rule * from study as study_*

use rule build_corpus from study as study_build_corpus with:
    priority: 7

rule greet:
    output: "greeting.txt"
    shell: "echo {{config[greeting]}} > {{output}}"

onstart:
    study.onstart()
"""


@pytest.fixture
def foreign(tmp_path):
    """A function that runs the foreign workflow, options in its module's block."""

    def run(*arguments, options="", results="results/guest", root=studies.ROOT):
        (tmp_path / "settings.yaml").write_text(yaml.safe_dump(SETTINGS))
        text = FOREIGN.format(root=root, options=options, splits=f"{results}/data/manifest.json")
        (tmp_path / "Snakefile").write_text(text)
        return subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "2", "--workflow-profile", "none", *arguments],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )

    return run


def test_a_whole_study_is_planned_beside_another_workflow_s_rules(foreign):
    done = foreign("--dry-run", "study_all", "greeting.txt")
    assert done.returncode == 0, done.stdout
    jobs = studies.planned(done.stdout)
    assert jobs["greet"] == jobs["study_build_report"] == jobs["study_pretrain"] == 1
    # One seed of each of the three arms.
    assert (jobs["study_finetune_fairseq"], jobs["study_finetune_huggingface"]) == (2, 1)
    # Named by the script, not by the rule's new name.
    assert "log: results/guest/logs/finetune_fairseq/fairseq-pretrained/seed1.log" in done.stdout
    assert "benchmark: results/guest/benchmarks/finetune_fairseq/fairseq-pretrained/seed1.tsv" in done.stdout


@pytest.mark.parametrize(
    ("options", "results"),
    [("", "results/guest"), ('prefix: "there"', "there/results/guest"), ('pathvars: results="out"', "out")],
)
def test_its_cheap_rules_run_to_the_end(foreign, tmp_path, options, results):
    corpus = f"{results}/checkpoint/corpus"
    # The foreign workflow's own target, the first of its rules, and one of ours.
    done = foreign("everything", f"{corpus}/manifest.json", options=options, results=results)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "greeting.txt").read_text() == "bonjour\n"
    made = ["data/train.review", "data/manifest.json", "checkpoint/corpus/train.txt", "logs/build_corpus.log"]
    assert all((tmp_path / results / name).stat().st_size for name in [*made, "benchmarks/build_splits.tsv"])
    # Our lock and our word on the disk, which the foreign workflow asks for by `study.onstart()`.
    assert "This run will write about" in done.stdout and (tmp_path / results / ".lock").exists()
    again = foreign("everything", f"{corpus}/manifest.json", options=options, results=results)
    assert "Nothing to be done" in again.stdout, again.stdout


def test_its_own_first_rule_stays_the_default(foreign):
    done = foreign("--dry-run")
    assert studies.planned(done.stdout).keys() == {"everything", "greet", "study_build_splits"}, done.stdout


def test_the_disk_is_asked_for_what_its_rules_will_write(foreign, tmp_path, monkeypatch):
    sizes = {"layers": 1000, "width": 65536, "ffn_width": 65536, "heads": 4}
    guest = {**SETTINGS["guest"], "checkpoint": {"architecture": sizes}}
    monkeypatch.setitem(SETTINGS, "guest", guest)
    done = foreign("results/guest/checkpoint/model.pt")
    # Weights of 6 * 65536^2 a layer, 12 bytes each in a state: 309 TB, and an old and a new one. No job was started.
    assert done.returncode == 1 and "saved states 6" in done.stdout, done.stdout
    assert not (tmp_path / "results" / "guest" / "data").exists()


def test_a_faulty_setting_is_told(foreign, monkeypatch):
    monkeypatch.setitem(SETTINGS, "guest", {"sentiment": {"seeds": [1]}})
    done = foreign("--dry-run")
    assert done.returncode == 1 and "unknown key sentiment" in done.stdout


def test_an_address_in_place_of_a_clone_is_refused(foreign, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with servers.serve(studies.ROOT) as server:
        done = foreign("--dry-run", root=server.address)
    assert done.returncode == 1 and "this workflow runs from a clone" in done.stdout, done.stdout


def test_the_catalogue_finds_what_it_asks_for():
    """Source: the page "Adding workflows" of the Snakemake workflow catalogue."""
    with open(os.path.join(studies.ROOT, ".snakemake-workflow-catalog.yml"), encoding="utf-8") as handle:
        usage = yaml.safe_load(handle)["usage"]
    assert usage.keys() == {"mandatory-flags", "software-stack-deployment"}
    deployment = usage["software-stack-deployment"]
    assert deployment["conda"] and usage["mandatory-flags"]["flags"] == "--sdm conda"
    with open(os.path.join(studies.ROOT, "Snakefile"), encoding="utf-8") as handle:
        assert deployment["report"] == ("\nreport: " in handle.read())
    with open(os.path.join(studies.ROOT, "README.md"), encoding="utf-8") as handle:
        words = handle.read().lower()
    assert "snakemake" in words and "workflow" in words
