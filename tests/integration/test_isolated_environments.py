"""Each conda environment's packages, and nothing else, are enough for the scripts of the rules that name it.

The environments are virtual ones with links to the installed packages that the YAML and its post-deploy script name;
`make test-envs` installs them with pip instead, each alone, and takes many minutes.
"""

import shutil

import pytest
import yaml

import studies
from common.files import sha256
from common.protocol import framework_settings
from environments import (
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
pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

CONFIG = studies.merged(yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8")), studies.TINY)
DATA, SENTIMENT = "results/tiny/data", "results/tiny/sentiment"
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
    # What functions import first, then the scripts themselves.
    modules = sorted(set().union(*map(imported, scripts))) + [script.stem for script in scripts]
    errors = run_in(python, tmp_path, modules)
    assert not errors, f"envs/{name}.yaml is not enough: {errors}"


def calls_of(name, out):
    """The calls that make up a job or two of an environment, and {file made: the tiny study's, which it must equal}.

    Args:
        name: the environment.
        out: folder to write to.
    """
    run = {framework: f"{SENTIMENT}/{framework}/pretrained/seed1" for framework in ("fairseq", "huggingface")}
    trained = [f"{out}/{part}" for part in ("checkpoints", "history.tsv", "run.json", "weights.json", "tensorboard")]
    trained += [1, f"{out}/states", 0]  # threads, folder of saved states, which are not wanted here
    if name == "data":
        files = [{split: f"{DATA}/{split}.{kind}" for split in SPLITS} for kind in ("review", "label")]
        return [["train_baselines", "main", [*files, f"{out}/table"]]], {"table": "results/tiny/baselines.tsv"}
    if name == "fairseq":
        data, checkpoint = f"{SENTIMENT}/data-bin/train-valid", "results/tiny/checkpoint/model.pt"
        settings = framework_settings(CONFIG["sentiment"], "fairseq")
        arguments = [data, checkpoint, "pretrained", 1, CONFIG["checkpoint"]["architecture"], settings, *trained]
        return [["finetune_fairseq", "main", arguments]], {"history.tsv": f"{run['fairseq']}/history.tsv"}
    if name == "huggingface":
        token_ids = [f"{SENTIMENT}/token-ids/{split}.npz" for split in ("train", "valid")]
        settings = framework_settings(CONFIG["sentiment"], "huggingface")
        arguments = [*token_ids, "results/tiny/checkpoint/huggingface", "pretrained", 1, settings, *trained]
        return [["finetune_huggingface", "main", arguments]], {"history.tsv": f"{run['huggingface']}/history.tsv"}
    if name == "report":
        made = [f"{out}/arms.{kind}" for kind in ("svg", "png", "tsv")]
        arguments = ["results/tiny/runs.tsv", f"{DATA}/manifest.json", *made, CONFIG["report"]["colours"]]
        return [["plot_arms", "main", arguments]], {"arms.svg": "results/tiny/figures/arms.svg"}
    if name == "qa":
        qa = CONFIG["qa"]
        changes = {"n_texts": 60, "training": {"updates": 4, "warmup_updates": 1}}
        embedded = studies.merged(qa["base"]["embedded"], changes)
        training = qa["training"] | {"updates": 2, "evaluate_every": 1}
        pairs = [f"{out}/train.jsonl", f"{out}/heldout.jsonl"]
        made = [f"{out}/{part}" for part in ("loss.tsv", "adapter", "run.json", "state")]
        return [
            ["build_qa_pairs", "main", ["embedded", None, None, *pairs, f"{out}/manifest.json", 6, 1]],
            ["build_qa_base_model", "main", ["embedded", [], f"{out}/base", f"{out}/pretraining.tsv", embedded]],
            ["finetune_lora", "main", [*pairs, f"{out}/base", *made, qa["lora"]["r"][0], 1, qa["lora"], training]],
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
    with open(scripts / "build_splits.py", "a", encoding="utf-8") as script:
        script.write("\nimport pandas\n")
    python = make_environment(tmp_path / "data", pip_pins("data"))
    assert run_in(python, tmp_path, ["build_splits"]) == ""
    assert run_in(python, tmp_path, ["build_splits"], scripts=scripts) == "build_splits: No module named 'pandas'"


def test_a_lacking_part_is_noticed(tmp_path):
    # scikit-learn is imported within a function, and needs joblib, which no script names.
    python = make_environment(tmp_path / "data", pip_pins("data").keys() - {"joblib"})
    assert "No module named 'joblib'" in run_in(python, tmp_path, ["sklearn.linear_model"])
