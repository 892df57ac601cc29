"""Each conda environment's packages, and nothing else, are enough for the scripts of the rules that name it.

The environments are virtual ones with links to the installed packages that the YAML and its post-deploy script name;
`make test-envs` installs them with pip instead, each alone, and takes many minutes.
"""

import shutil

import pytest
import yaml

from common.files import sha256
from finetuning.protocol import framework_settings
from qa.qa_arms import without_saves
from support import studies
from support.arms import facts
from support.environments import (
    ENVIRONMENTS,
    ROOT,
    SCRIPTS,
    imported,
    install_environment,
    jobs,
    make_environment,
    pip_pins,
    run_in,
)

# The tiny study counts as set-up of the first test that needs it.
pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

CONFIG = studies.merged(yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8")), studies.TINY)
DATA, SENTIMENT = "results/tiny/data", "results/tiny/finetuning"
SPLITS = ("train", "valid", "test")


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def fresh(request, tmp_path_factory):
    """An environment's name and the interpreter of a virtual environment that holds its packages only."""
    folder = tmp_path_factory.mktemp(request.param) / "environment"
    if request.config.getoption("--install-environments"):
        return request.param, install_environment(folder, request.param)
    return request.param, make_environment(folder, pip_pins(request.param))


def scripts_of(name):
    return sorted({script for _, script, conda in jobs() if conda == name})


def test_every_script_can_be_imported(fresh, tmp_path):
    name, python = fresh
    scripts = scripts_of(name)
    # Imports within functions come first, then those of the scripts.
    modules = sorted(set().union(*map(imported, scripts)))
    modules += [".".join(script.relative_to(SCRIPTS).with_suffix("").parts) for script in scripts]
    errors = run_in(python, tmp_path, modules)
    assert not errors, f"envs/{name}.yaml is not enough: {errors}"


def calls_of(name, out):
    """The calls that make up a job or two of an environment, and {file made: the tiny study's, which it must equal}.

    Long: one environment after another.

    Args:
        name: the environment.
        out: folder to write to.
    """

    def made(*names, **others):
        """Arguments for files to write: each has its own name, or the one given for it."""
        return {each: f"{out}/{each}" for each in names} | {key: f"{out}/{file}" for key, file in others.items()}

    run = {framework: f"{SENTIMENT}/{framework}-pretrained/seed1" for framework in ("fairseq", "huggingface")}
    trained = made(
        "checkpoints", "tensorboard", "states", history="history.tsv", run="run.json", weights="weights.json"
    )
    trained |= {"seed": 1, "threads": 1, "save_every": 0}
    if name == "data":
        arms = {"tfidf_words": {"features": "tfidf_words", "split": "train"}}
        files = {"train": [f"{DATA}/train.review"], "train_labels": [f"{DATA}/train.label"], "splits": ["train"]}
        files |= {"valid": f"{DATA}/valid.review", "valid_labels": f"{DATA}/valid.label", "arms": arms}
        files |= {"records": [f"{out}/run.json"], "selected": [f"{out}/selected"]}
        scored = {key: files[key] for key in ("train", "train_labels", "splits", "arms", "selected")}
        scored |= {"reviews": f"{DATA}/test.review", "labels": f"{DATA}/test.label"}
        # A seal's path names its run.
        predictions, seal = (f"{out}/predictions/tfidf_words/seed0.{ending}" for ending in ("tsv", "json"))
        scored |= {"records": files["records"], "predictions": [predictions], "seals": [seal]}
        calls = [["frameworks.linear.train", files], ["frameworks.linear.score", scored]]
        return calls, {"predictions/tfidf_words/seed0.tsv": "results/tiny/predictions/tfidf_words/seed0.tsv"}
    if name == "fairseq":
        arguments = {
            "facts": facts("fairseq", "pretrained"),
            "data": f"{SENTIMENT}/data-bin/train-valid",
            "checkpoint": "results/tiny/checkpoint/model.pt",
            "architecture": CONFIG["checkpoint"]["architecture"],
            "settings": framework_settings(CONFIG["finetuning"], "fairseq"),
        }
        call = ["frameworks.fairseq.train", arguments | trained]
        return [call], {"history.tsv": f"{run['fairseq']}/history.tsv"}
    if name == "huggingface":
        arguments = {split: f"{SENTIMENT}/token-ids/checkpoint/{split}.npz" for split in ("train", "valid")}
        arguments |= {"facts": facts("huggingface", "pretrained"), "checkpoint": "results/tiny/checkpoint/huggingface"}
        arguments["settings"] = framework_settings(CONFIG["finetuning"], "huggingface")
        call = ["frameworks.huggingface.train", arguments | trained]
        return [call], {"history.tsv": f"{run['huggingface']}/history.tsv"}
    if name == "report":
        arguments = {"runs": "results/tiny/runs.tsv", "manifest": f"{DATA}/manifest.json"}
        arguments |= made(svg="arms.svg", png="arms.png", data="arms.tsv") | {"colours": CONFIG["report"]["colours"]}
        return [["analysis.plot_arms", arguments]], {"arms.svg": "results/tiny/figures/arms.svg"}
    if name == "qa":
        qa = CONFIG["qa"]
        changes = {"n_texts": 60, "training": {"updates": 4, "warmup_updates": 1}}
        embedded = studies.merged(qa["base"]["embedded"], changes)
        training = without_saves(qa["training"]) | {"updates": 2, "evaluate_every": 1}
        pairs = made(train="train.jsonl", heldout="heldout.jsonl")
        drawn = {"source": "embedded", "pairs": [], "url": None, "n_heldout": 6, "split_seed": 1}
        base = {"source": "embedded", "files": [], "embedded": embedded, "template": qa["prompt"]}
        return [
            ["qa.build_qa_pairs", pairs | made(manifest="manifest.json") | drawn],
            ["qa.build_qa_base_model", base | made("base", pretraining="pretraining.tsv")],
            [
                "qa.finetune_lora",
                pairs
                | made("base", "adapter", "tensorboard", "states", loss="loss.tsv", run="run.json")
                | {"arm": "rank16", "seed": 1, "lora": qa["lora"], "training": training, "template": qa["prompt"]}
                | {"save_every": 0},
            ],
        ], {"loss.tsv": None}
    raise AssertionError(f"envs/{name}.yaml is new: say here which job of it is to be run")


def test_a_job_runs_as_in_the_study(fresh, tiny_study, tmp_path):
    name, python = fresh
    calls, equal = calls_of(name, tmp_path)
    errors = run_in(python, tiny_study, calls=calls)
    assert not errors, f"envs/{name}.yaml is not enough: {errors}"
    for made, expected in equal.items():
        assert (tmp_path / made).stat().st_size
        assert expected is None or sha256(tmp_path / made) == sha256(tiny_study / expected)


def test_a_lacking_package_is_noticed(tmp_path):
    scripts = tmp_path / "scripts"
    shutil.copytree(SCRIPTS, scripts)
    with open(scripts / "data" / "build_splits.py", "a", encoding="utf-8") as script:
        script.write("\nimport jinja2\n")
    python = make_environment(tmp_path / "data", pip_pins("data"))
    (module,) = modules = ["data.build_splits"]
    assert run_in(python, tmp_path, modules) == ""
    assert run_in(python, tmp_path, modules, scripts=scripts) == f"{module}: No module named 'jinja2'"


def test_a_lacking_part_is_noticed(tmp_path):
    # scikit-learn is imported within a function, and needs joblib, which no script names.
    python = make_environment(tmp_path / "data", pip_pins("data").keys() - {"joblib"})
    assert "No module named 'joblib'" in run_in(python, tmp_path, ["sklearn.linear_model"])
