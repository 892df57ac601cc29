"""Lock files and conda environments: one set of versions, and enough of it for every script."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile

import pytest
from packaging.utils import canonicalize_name

from environments import ENVIRONMENTS, PIN, ROOT, environment, imported, jobs, lacking, parse_rules, pip_pins, rules


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
    assert content["channels"] == ["conda-forge", "nodefaults"]
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
    assert "pip_install --no-build-isolation --no-deps -r requirements-fairseq.txt" in makefile


# --- rules, scripts and their environments ----------------------------------------------------------------------


@pytest.mark.parametrize("rule, script, conda", jobs(), ids=[job[0] for job in jobs()])
def test_imports_are_covered(rule, script, conda):
    assert conda in ENVIRONMENTS, f"rule {rule} names no environment of envs/"
    missing = lacking(imported(script), pip_pins(conda))
    assert not missing, f"{script.name} (rule {rule}) imports {', '.join(missing)}, which envs/{conda}.yaml lacks"


def test_missing_import_is_noticed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import json\n\ndef f():\n    import torch.nn\n    from common.batching import epoch_batches\n")
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
                    "../scripts/one.py"

        rule two:
            conda: "../envs/report.yaml"
            script: "../scripts/shared.py"

        rule all:
            input: "x"
        """
    )
    assert parse_rules(text) == {"one": ("one", "data"), "two": ("shared", "report")}


def test_every_environment_is_named_by_a_rule():
    unused = set(ENVIRONMENTS) - {conda for _, conda in rules().values()}
    if unused:
        pytest.skip(f"no rule names {', '.join(sorted(unused))} yet")


CONDA = """#!/bin/sh
case "$1" in
    --version) echo "conda 25.9.1" ;;
    info) echo '{{"conda_prefix": "{prefix}", "platform": "linux-64", "conda_version": "25.9.1"}}' ;;
    config) echo '{{"get": {{"channel_priority": "strict"}}, "channel_priority": "strict"}}' ;;
    *) exit 1 ;;
esac
"""


@pytest.mark.workflow
def test_snakemake_accepts_the_environments(tmp_path):
    # No conda here: a stand-in answers what a dry-run asks of it; Snakemake reads the study and the files themselves.
    conda = tmp_path / "bin" / "conda"
    conda.parent.mkdir()
    conda.write_text(CONDA.format(prefix=tmp_path))
    conda.chmod(0o755)
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--sdm", "conda", "--dry-run"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{conda.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert all(f"envs/{name}.yaml will be created" in run.stderr + run.stdout for name in ENVIRONMENTS)


# --- the Makefile, with empty packages of the right names ---------------------------------------------------------


def write_wheel(folder, name, version, module):
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        info = f"{name}-{version}.dist-info"
        wheel.writestr(f"{module}/__init__.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def make(tmp_path):
    """A function that runs make in a project whose packages are empty, without any network."""
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    wheels, project = tmp_path / "wheels", tmp_path / "a project"
    wheels.mkdir()
    project.mkdir()
    for name, module in (("torch", "torch"), ("snakemake", "snakemake"), ("transformers", "transformers")):
        write_wheel(wheels, name, "1.0", module)
    write_wheel(wheels, "fairseq_fixed", "1.0", "fairseq")
    write_wheel(wheels, "pytest", "1.0", "pytest")
    shutil.copy(ROOT / "Makefile", project)
    (project / "requirements.txt").write_text("torch==1.0\nsnakemake==1.0\ntransformers==1.0\n")
    (project / "requirements-fairseq.txt").write_text("fairseq-fixed==1.0\n")
    (project / "requirements-test.txt").write_text("-c requirements.txt\npytest==1.0\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "MAKE", "PYTHON"))}
    clean |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}

    def run(*arguments, **variables):
        command = ["make", f"PYTHON={sys.executable}", "VENV=.venv", *arguments]
        return subprocess.run(command, cwd=project, env=clean | variables, capture_output=True, text=True, timeout=300)

    run.project = project
    return run


@pytest.mark.workflow
def test_set_up_is_done_once_and_repaired(make):
    stamp_of = lambda: sorted(p.name for p in (make.project / ".venv").glob("installed-*"))  # noqa: E731
    first = make("test-env")
    assert first.returncode == 0, first.stderr
    assert len(stamp_of()) == 2
    # Again, and with newer files of the same content: nothing to do.
    for path in make.project.glob("requirements*.txt"):
        path.touch()
    again = make("test-env")
    assert again.returncode == 0 and "Nothing to be done" in again.stdout

    # Half a package, as a killed pip leaves it: the environment is made anew.
    package = make.project / ".venv/lib/python3.11/site-packages/transformers/__init__.py"
    package.unlink()
    (make.project / ".venv" / ".unfinished").touch()
    repaired = make("env")
    assert repaired.returncode == 0 and "anew" in repaired.stdout and package.exists()

    # A lock that cannot be had: one message, and the mark that makes the next run start anew, as above.
    with (make.project / "requirements.txt").open("a") as lock:
        lock.write("absent-package==1.0\n")
    failed = make("env")
    assert failed.returncode == 2 and "the installation stopped; the whole log is .venv/install.log" in failed.stderr
    assert (make.project / ".venv" / ".unfinished").exists()


@pytest.mark.workflow
def test_container_definition_brings_what_the_set_up_needs(make):
    # It cannot be built here (no registry of images): the files that it copies, and what it runs on them.
    text = (ROOT / "envs" / "workstation.def").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^%(\w+)\n(.*?)(?=^%|\Z)", text, re.MULTILINE | re.DOTALL))
    copied = dict(line.split() for line in sections["files"].splitlines() if line.strip())
    assert all(to == f"/opt/study/{path}" and (ROOT / path).is_file() for path, to in copied.items())
    for path in make.project.iterdir():
        if path.name not in copied:
            path.unlink()
    (command,) = re.findall(r"^ +make (.*)$", sections["post"], re.MULTILINE)
    done = make(*command.replace("/usr/bin/python3.11", sys.executable).split())
    assert done.returncode == 0, done.stderr
    assert "PATH=/opt/study/.venv/bin:" in sections["environment"]


@pytest.mark.workflow
@pytest.mark.parametrize("build", ["", "cpu", "cu126"])
def test_one_pin_serves_every_build_of_pytorch(tmp_path, build):
    # An index or folder named beside PyPI by PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS offers torch 1.0+cpu: pip takes it.
    for version in {"1.0", f"1.0+{build}".rstrip("+")}:
        write_wheel(tmp_path, "torch", version, "torch")
    run = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-index", "torch==1.0"],
        env=os.environ | {"PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout.splitlines()[-1] == f"Would install torch-1.0+{build}".rstrip("+"), run.stderr


@pytest.mark.workflow
def test_set_up_names_what_is_missing(make):
    absent = make("env", "PYTHON=python3.99")
    assert absent.returncode == 2 and "Python 3.11 is needed, and 'python3.99' is not one" in absent.stderr
    assert not (make.project / ".venv").exists()
    absent = make("env", CXX="no-such-compiler")
    assert absent.returncode == 2 and "a C++ compiler is needed" in absent.stderr
    study = make("study", "STUDY=studies/absent.yaml")
    assert study.returncode == 2 and "give a study's file" in study.stderr


def test_a_report_that_cannot_be_made_again_is_not_lost(make):
    page = make.project / "results" / "embedded" / "report.html"
    page.parent.mkdir(parents=True)
    page.write_text("as it was")
    (page.parent / "statistics").mkdir()
    (page.parent / "statistics" / "pairs.tsv").write_text("and what it rests on")
    (make.project / "config.yaml").write_text("study: embedded\n")
    done = make("regenerate")
    assert done.returncode != 0 and "the files of before are back" in done.stderr
    assert page.read_text() == "as it was"
    assert (page.parent / "statistics" / "pairs.tsv").read_text() == "and what it rests on"
