"""`snakemake --sdm conda` by a Snakemake that lives in .venv, for a user whose home holds packages of its own.

Run with conda itself where there is one, and with a stand-in (support/conda.py) anywhere.
"""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sysconfig

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support import conda, studies
from support.environments import jobs, make_environment, make_prefix, pip_pins

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

# By way of build_splits: NumPy, SentencePiece, scikit-learn; all of one environment.
TARGET = "results/tiny/predictions/tfidf_words/seed0.tsv"
CHANNEL = "https://conda.anaconda.org/conda-forge/noarch/repodata.json.zst"
# joblib imports these where they are installed; no environment has them.
OPTIONAL = "lz4"


@pytest.fixture(params=["stand-in", "conda"])
def tool(request, tmp_path):
    """The folder for PATH that has conda."""
    if request.param == "stand-in":
        return conda.install(tmp_path / "conda")
    if not shutil.which("conda"):
        pytest.skip("there is no conda on PATH")
    version = subprocess.run(["conda", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    if [int(part) for part in re.findall(r"\d+", version)] < [24, 7, 1]:
        pytest.skip(f"Snakemake takes conda 24.7.1 or later, and this is {version}")
    answer = subprocess.run(["curl", "-sfI", "--max-time", "20", CHANNEL], capture_output=True, check=False)
    if answer.returncode:
        pytest.skip("the channel conda-forge does not answer")
    return os.path.dirname(shutil.which("conda"))


def write_package(site, name, version, code):
    """Write a package as pip leaves it."""
    (site / name).mkdir(parents=True)
    (site / name / "__init__.py").write_text(code)
    record = site / f"{name}-{version}.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (record / "RECORD").write_text(f"{name}/__init__.py,,\n{name}-{version}.dist-info/METADATA,,\n")


def needs(name):
    """Return the requirements of an installed package on this machine, without extras."""
    found = map(Requirement, importlib.metadata.requires(name) or [])
    return {
        str(canonicalize_name(each.name)) for each in found if not each.marker or each.marker.evaluate({"extra": ""})
    }


def content(folder):
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_neither_the_home_nor_snakemakes_packages_reach_a_job(tool, tmp_path):
    # In the home: the version that the environment wants, and another one.
    site = tmp_path / "home" / ".local" / "lib" / os.path.basename(sysconfig.get_path("stdlib")) / "site-packages"
    write_package(site, "numpy", pip_pins("data")["numpy"], "raise ImportError('NumPy of the home')\n")
    write_package(site, "tqdm", "4.0.0", "raise ImportError('tqdm of the home')\n")
    before = content(site)
    # Beside Snakemake: a package that the environment lacks tells which Pythons import it.
    leak = tmp_path / "imported-by"
    write_package(
        tmp_path / "beside", OPTIONAL, "1.0", f"import sys\nprint(sys.prefix, file=open({str(leak)!r}, 'a'))\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"HOME": str(tmp_path / "home"), "PATH": f"{tool}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(tmp_path / "beside")
    done = studies.snakemake(
        tmp_path, "--sdm", "conda", "--", TARGET, study=studies.write_study(tmp_path / "study.yaml"), env=environment
    )
    assert done.returncode == 0, done.output[-5000:]
    assert "Activating conda environment" in done.output
    assert (tmp_path / TARGET).stat().st_size
    assert content(site) == before
    (made,) = (tmp_path / ".snakemake" / "conda").glob("*/lib/python*/site-packages")
    assert (made / "numpy").exists() and (made / "tqdm").exists()
    assert not leak.exists(), leak.read_text()


def test_a_snakemake_in_the_users_home_is_refused_with_the_remedy(tmp_path):
    python = make_prefix(tmp_path / "python")
    local = tmp_path / "home" / ".local" / "lib" / os.path.basename(sysconfig.get_path("stdlib"))
    local.mkdir(parents=True)
    (local / "site-packages").symlink_to(sysconfig.get_path("purelib"))
    done = subprocess.run(
        [str(python), *studies.command(tmp_path, "--dry-run")[1:]],
        env={"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode and "give it an environment of its own; see docs/guides/containers.md" in done.stdout, (
        done.stdout
    )
    assert "Traceback" not in done.stdout


def test_a_snakemake_of_its_own_is_enough_to_run_rules_by_conda(tmp_path):
    names = {"snakemake"}
    while more := {need for name in names for need in needs(name)} - names:
        names |= more
    assert not names & {"numpy", "torch", "pandas"}
    python = make_environment(tmp_path / "snakemake", names)
    command = studies.command(
        tmp_path, "--sdm", "conda", "--", TARGET, study=studies.write_study(tmp_path / "study.yaml")
    )
    path = f"{python.parent}{os.pathsep}{conda.install(tmp_path / 'conda')}{os.pathsep}/usr/bin{os.pathsep}/bin"
    done = subprocess.run(
        [str(python), *command[1:]],
        env={"HOME": str(tmp_path), "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert (tmp_path / TARGET).stat().st_size


@pytest.mark.long
def test_every_rule_of_a_study_runs_with_nothing_but_its_environment(tiny_study, tmp_path):
    qa = {"enabled": True, "seeds": [1], "lora": {"r": 2}, "training": {"updates": 2, "evaluate_every": 1}}
    qa["base"] = {"embedded": {"n_texts": 60, "training": {"updates": 4, "warmup_updates": 1}}}
    study = studies.write_study(tmp_path / "study.yaml", {"qa": qa} | studies.every_table())
    path = f"{conda.install(tmp_path / 'conda')}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    done = studies.snakemake(tmp_path, "--quiet", "progress", "--sdm", "conda", study=study, env=environment)
    assert done.returncode == 0, done.output[-5000:]
    expected = sorted((tiny_study / "results" / "tiny" / "predictions").rglob("*.tsv"))
    assert len(expected) > 1
    for path in expected:
        assert (tmp_path / path.relative_to(tiny_study)).read_bytes() == path.read_bytes(), path
    study = studies.write_study(tmp_path / "words.yaml", studies.FACTORIZED)
    done = studies.snakemake(tmp_path, "--sdm", "conda", "--", studies.WORD_VECTORS, study=study, env=environment)
    assert done.returncode == 0, done.output[-5000:]
    # These studies have no use for: fetched checkpoints, opinions, models of others or to give away, paper.
    left = {
        "retrieve",
        "copy_checkpoint",
        "extract_checkpoint",
        "compare_huggingface_weights",
        "export_model",
        "export_adapter",
    }
    left |= {"filter_corpus_tables", "take_model", "measure_tokens", "print_report", "join_labels"}
    logs = {path.name.removesuffix(".log") for path in (tmp_path / "results" / "tiny" / "logs").iterdir()}
    assert {rule for rule, _, _ in jobs()} - left == logs
