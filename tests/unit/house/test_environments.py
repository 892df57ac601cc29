"""Lock files and conda environments: one set of versions, and enough of it for every script."""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import textwrap

import pytest
from packaging.utils import canonicalize_name

from support import conda
from support.environments import (
    ENVIRONMENTS,
    PIN,
    ROOT,
    environment,
    imported,
    jobs,
    jobs_of_frameworks,
    lacking,
    parse_rules,
    pip_pins,
    rules,
)


def pins(path):
    """{canonical name: version} of a requirements file."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    matches = [PIN.match(line) for line in lines if line and not line.startswith(("#", "-c "))]
    assert all(matches), f"{path} has a line that is no NAME==VERSION"
    return {canonicalize_name(match[1]): match[2] for match in matches}


def lock_tool():
    spec = importlib.util.spec_from_file_location("lock", ROOT / ".ci" / "lock.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- the lock files ---------------------------------------------------------------------------------------------


def test_lock_files_are_what_make_lock_writes():
    lock = lock_tool()
    table = lock.read_table((ROOT / "requirements.in").read_text(encoding="utf-8").splitlines())
    for path, text in lock.locks(table).items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path} is out of date: run `make lock`"


def test_closure_follows_needs_and_survives_circles():
    needs = {"a": ["b"], "b": ["c", "a"], "c": [], "d": []}
    assert lock_tool().closure(["a"], needs.__getitem__) == {"a", "b", "c"}


def test_installed_versions_are_the_locked_ones():
    locked = pins("requirements.txt") | pins("requirements-test.txt") | pins("requirements-fairseq.txt")
    # A local part (+cpu) names a build of the same version.
    different = {
        name: (version, importlib.metadata.version(name))
        for name, version in locked.items()
        if importlib.metadata.version(name).partition("+")[0] != version
    }
    assert different == {}


@pytest.mark.parametrize("path", ["requirements.txt", "requirements-test.txt", "requirements-fairseq.txt"])
def test_lock_names_no_index_and_no_machine(path):
    assert not re.search(r"://|--(extra-)?index|--find-links|file:|@ |\+cpu", (ROOT / path).read_text(encoding="utf-8"))


def test_test_tools_are_apart():
    run, test = pins("requirements.txt"), pins("requirements-test.txt")
    assert not set(run) & set(test)
    assert {"pytest", "ruff", "snakefmt", "hypothesis"} <= set(test)
    assert "fairseq-fixed" not in run and "torchaudio" not in run


# --- the conda environments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_agrees_with_the_lock(name):
    locked = pins("requirements.txt") | pins("requirements-fairseq.txt")
    found = pip_pins(name)
    assert {package: locked.get(package) for package in found} == found


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_is_well_formed(name):
    content = environment(name)
    assert set(content) == {"channels", "dependencies"}
    # `nodefaults` is left out: conda 26.7 and later takes it for a channel.
    assert content["channels"] == ["conda-forge"]
    conda = [item for item in content["dependencies"] if isinstance(item, str)]
    assert all(re.fullmatch(r"[a-z0-9-]+ =[0-9.]+", item) for item in conda), conda
    names = {item.split()[0] for item in conda}
    assert {"python", "pip"} <= names
    assert not names - {"python", "pip", "cxx-compiler"}, "Python packages belong to the pip section"
    # Trap: beside a pin file conda skips the pip section.
    assert not list((ROOT / "envs").glob("*.pin.txt"))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_is_complete(name):
    found = set(pip_pins(name)) - {"fairseq-fixed"}  # installed without its needs, on purpose
    assert lock_tool().closure(found, lock_tool().installed_needs) - {"pip"} == found


def test_fairseq_is_built_against_the_torch_at_hand():
    text = (ROOT / "envs" / "fairseq.post-deploy.sh").read_text(encoding="utf-8")
    assert "--no-build-isolation --no-deps fairseq-fixed==" in text
    assert {"torch", "setuptools", "wheel", "cython", "numpy"} <= set(pip_pins("fairseq"))
    assert int(pip_pins("fairseq")["setuptools"].split(".")[0]) < 81
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(
        r"pip_do download --no-build-isolation --no-deps .* -r \$\(HASHED\)requirements-fairseq.txt", makefile
    )
    assert re.search(r"pip_do wheel --no-build-isolation --no-deps ", makefile)


# --- rules, scripts and their environments ----------------------------------------------------------------------


@pytest.mark.parametrize("rule, script, conda", jobs(), ids=[job[0] for job in jobs()])
def test_imports_are_covered(rule, script, conda):
    assert conda in ENVIRONMENTS, f"rule {rule} names no environment of envs/"
    missing = lacking(imported(script), pip_pins(conda))
    assert not missing, f"{script.name} (rule {rule}) imports {', '.join(missing)}, which envs/{conda}.yaml lacks"


@pytest.mark.parametrize(
    "script, conda",
    jobs_of_frameworks(),
    ids=[f"{path.parent.name}/{path.stem}-{name}" for path, name in jobs_of_frameworks()],
)
def test_what_runs_for_any_framework_is_covered(script, conda):
    missing = lacking(imported(script), pip_pins(conda))
    assert not missing, f"{script.name} imports {', '.join(missing)}, which envs/{conda}.yaml lacks"


# Packages that no script imports, by environment, and what needs them instead.
NEEDED = {
    "bitarray cffi Cython hydra-core packaging regex sacrebleu scikit-learn setuptools wheel": {"fairseq"},
    "tensorboardX": {"fairseq", "huggingface"},  # both frameworks write TensorBoard files with it
    "accelerate": {"huggingface", "qa"},  # the Trainer; a base model in 4 bits
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_holds_no_more_than_its_rules_use(name):
    lock = lock_tool()
    table = lock.read_table((ROOT / "requirements.in").read_text(encoding="utf-8").splitlines())
    owners = importlib.metadata.packages_distributions()
    modules = set().union(*(imported(script) for _, script, conda in jobs() if conda == name))
    used = {str(canonicalize_name(package)) for module in modules for package in owners[module]}
    needed = " ".join(packages for packages, where in NEEDED.items() if name in where)
    used |= {str(canonicalize_name(package)) for package in needed.split()}
    assert table[name] - used == set()


# Imports do not show what a script finds by name.
BY_NAME = {"score_answers": "measures of answers need sacrebleu and rouge-score, which no small environment has"}
# These take the gigabyte that the large environments have over the small ones.
LARGE = {"torch", "transformers", "tokenizers", "safetensors", "peft", "bitsandbytes", "fairseq", "fairseq_cli"}


@pytest.mark.parametrize("rule, script, conda", jobs(), ids=[job[0] for job in jobs()])
def test_a_rule_has_a_large_environment_only_where_its_script_needs_one(rule, script, conda):
    assert bool(imported(script) & LARGE or rule in BY_NAME) == (conda not in ("data", "report"))


def test_the_docs_name_every_rule_beside_its_environment():
    text = (ROOT / "docs" / "guides" / "containers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+` ?)+)\|", text, re.MULTILINE)
    told = sorted((rule, name) for name, listed in rows for rule in re.findall(r"`(\w+)`", listed))
    assert told == sorted((rule, conda) for rule, _, conda in jobs())


def test_missing_import_is_noticed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import json\n\ndef f():\n    import torch.nn\n    from training.batching import epoch_batches\n")
    assert imported(script) == {"torch", "numpy"}  # NumPy by way of the helper module
    assert lacking(imported(script), pip_pins("data")) == ["torch"]
    assert lacking(imported(script), pip_pins("fairseq")) == []


def test_rule_parser_sees_indented_rules_and_long_forms():
    text = textwrap.dedent(
        """
        if CONDITION:

            rule one:
                conda:
                    "../envs/data.yaml"
                params: script="not this"
                script:
                    "../scripts/room/one.py"

        for name in NAMES:

            rule:
                name: f"two_{name}"
                conda: "../envs/report.yaml"
                script: "../scripts/room/two.py"

        rule all:
            input: "x"
        """
    )
    assert parse_rules(text) == {"one": ("room/one.py", "data"), "two": ("room/two.py", "report")}


def test_every_environment_is_named_by_a_rule():
    assert set(ENVIRONMENTS) == {conda for _, conda in rules().values() if conda}


@pytest.mark.workflow
def test_snakemake_accepts_the_environments(tmp_path):
    # A stand-in answers what a dry-run asks of conda; Snakemake reads the study and the files themselves.
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--sdm", "conda", "--dry-run"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{conda.install(tmp_path / 'conda')}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert all(f"envs/{name}.yaml will be created" in run.stderr + run.stdout for name in ENVIRONMENTS)
