"""`make doctor`: what it finds on a machine that is well, and on one that lacks each thing."""

import ast
import collections
import datetime
import errno
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import types

import pytest

from report import print_report
from study.disk import REST
from study.download import mirror_path
from support import studies
from support.servers import serve, unused_address
from tools import doctor

ROOT = pathlib.Path(__file__).parents[3]
CONTENT = b"Un beau livre.\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A function that puts a command on an otherwise empty PATH: a Python script of the given text."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(name, text, place=folder):
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"#!{sys.executable} -S\nimport sys\n{text}\n")
        (place / name).chmod(0o755)

    return add


def case(root=ROOT, python="python3.11", venv=".venv", broken=None, mirror=None, config=None, files=None):
    return doctor.Case(root, python, str(venv), broken, mirror, config, files)


def settings(study=None, **arguments):
    config, files, finding = doctor.read_study(str(ROOT), study and str(study), **arguments)
    assert finding.status == "ok", finding
    return {"config": config, "files": files}


def one(findings):
    """The only finding."""
    (finding,) = findings
    return finding


def by_name(findings):
    findings = list(findings)
    named = {finding.name: finding for finding in findings}
    assert len(named) == len(findings)
    return named


def told(finding, status, *texts):
    """The finding has this status and holds these texts; one that is not ok says what to do."""
    assert finding.status == status, finding
    for text in texts:
        assert text in finding.found + finding.remedy, finding
    assert bool(finding.remedy) == (status != "ok")


# --- the whole ------------------------------------------------------------------------------------------------------


def test_without_an_environment_the_standard_library_is_enough(here):
    # -S: no site-packages.
    command = [sys.executable, "-S", "-m", "tools.doctor", "--python", sys.executable, "--venv", "none"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    lines = done.stdout.splitlines()
    assert all(re.match(r"(ok  |warn|FAIL) [\w. ]+: \S", line) for line in lines), lines
    assert "could not be checked" not in done.stdout and done.stderr == ""
    assert done.returncode == int(any(line.startswith("FAIL") for line in lines))
    assert re.search(r"^warn study: settings not read .* - `make env`", done.stdout, re.MULTILINE)
    assert re.search(r"^warn environment: none: there is none - `make env`", done.stdout, re.MULTILINE)
    assert list(here.iterdir()) == []


def test_any_python_from_3_8_can_read_it_and_it_imports_the_standard_library_only():
    for name in ("__init__", "doctor"):
        tree = ast.parse((ROOT / "tools" / f"{name}.py").read_text(encoding="utf-8"), feature_version=(3, 8))
        imported = [name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names]
        assert not [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        assert {name.split(".")[0] for name in imported} <= sys.stdlib_module_names


def test_make_doctor(tmp_path):
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    command = ["make", "--silent", "doctor", f"PYTHON={sys.executable}", f"VENV={tmp_path}/none"]
    command += [f"STUDY={studies.write_study(tmp_path / 'study.yaml')}", "ARGS=--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    findings = [doctor.Finding(**record) for record in json.loads(done.stdout)]
    assert done.returncode == 2 * any(finding.status == "FAIL" for finding in findings)
    assert not [finding for finding in findings if "could not be checked" in finding.found]
    told(findings[0], "ok", "tiny: settings are valid, 0 files")
    absent = subprocess.run([*command, "PYTHON=/no/python", "PATH=/no"], cwd=ROOT, capture_output=True, text=True)
    assert absent.returncode == 2 and "FAIL python: neither '/no/python' nor python3 runs" in absent.stderr


def test_a_check_that_stumbles_is_reported_and_hides_no_other(monkeypatch, capsys):
    def check_one(case):
        raise KeyError("x")

    def check_two(case):
        yield doctor.ok("two", "fine")

    monkeypatch.setattr(doctor, "CHECKS", (check_one, check_two))
    assert doctor.main(["--venv", "none"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ["FAIL one: could not be checked (KeyError: 'x') - tell the authors", "ok   two: fine"]
    monkeypatch.setattr(doctor, "CHECKS", (check_two,))
    assert doctor.main(["--venv", "none"]) == 0


# --- the study ------------------------------------------------------------------------------------------------------


def test_faults_of_the_study(tmp_path):
    faults = {
        studies.write_study(tmp_path / "typo.yaml", {"finetunig": {}}): "Did you mean finetuning?",
    }
    (tmp_path / "tabs.yaml").write_text("study:\n\t- x")
    faults[str(tmp_path / "tabs.yaml")] = "this is not YAML"
    for study, text in faults.items():
        config, files, finding = doctor.read_study(str(ROOT), study)
        told(finding, "FAIL", text, f"correct {study}")
        assert config is files is None and "\n" not in finding.found
    told(doctor.read_study(str(ROOT), "absent.yaml")[2], "FAIL", "there is no file absent.yaml", "STUDY=")
    told(doctor.read_study(str(ROOT), None, str(tmp_path / "absent"))[2], "FAIL", "mirror: there is no folder")


@pytest.mark.workflow
@pytest.mark.parametrize("name", ["open", "lab", "lab-published"])
def test_the_files_of_a_study_are_those_that_the_workflow_retrieves(tmp_path, name):
    study = ROOT / "studies" / f"{name}.yaml"
    done = studies.snakemake(tmp_path, "--dry-run", study=study)
    assert done.returncode == 0, done.output
    planned = {path for path in re.findall(r"resources/[^\s,]+", done.output) if not path.endswith(".retrieved.json")}
    assert planned == {f"resources/{mirror_path(url)}" for url in settings(study)["files"]}


def test_results_bytes_are_those_that_a_run_counts():
    """PROTOCOL's 23 388 418 parameters, 4 bytes each, Hugging Face's 23 093 250; two jobs at once."""
    study = settings(ROOT / "studies" / "lab.yaml")
    # It draws curves on test: five epochs and the selected one of each run. Two forms of the checkpoint, an old and a
    # new state (weights and two moments) of two runs.
    models = (6 * 6 + 2) * 23_388_418 + 3 * 6 * 23_093_250
    states = 2 * 2 * 3 * 23_388_418
    assert doctor.results_bytes(**study, at_once=2) == 4 * (models + states) + REST
    # The open study's corpus lies there as text and binarized; pretraining's three states are fewer than those four.
    study = settings(ROOT / "studies" / "open.yaml")
    corpus = study["config"]["checkpoint"]["corpus"]
    texts = sum(study["files"][url][1] for url in corpus["files"])
    texts += sum(entry["repeat"] * study["files"][url][1] for entry in corpus["tables"] for url in entry["urls"])
    study["config"]["qa"]["enabled"] = False
    # It draws curves on test, too, of ten runs in each framework, and keeps weights of five updates of its pretraining.
    models = (6 * 10 + 2 + 5) * 23_388_418 + 6 * 10 * 23_093_250
    assert doctor.results_bytes(**study, at_once=2) == 4 * (models + states) + int(1.5 * texts) + REST


# --- what the environment is built with -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "venv", "status", "text"),
    [
        ([3, 11, 7], True, "ok", "is 3.11.7"),
        ([3, 12, 1], True, "FAIL", "is 3.12.1, 3.11 is needed"),
        ([3, 11, 7], False, "FAIL", "python3.11-venv"),
    ],
)
def test_python(path, version, venv, status, text):
    path("python3.11", f"print('''{json.dumps({'version': version, 'header': '/no', 'venv': venv})}''')")
    told(one(doctor.check_python(case())), status, text)


def test_python_that_is_absent_or_the_environments_own(path, tmp_path, monkeypatch):
    told(one(doctor.check_python(case())), "FAIL", "no 'python3.11' that runs", "make PYTHON=")
    path("python3.11", "raise SystemExit('broken')")
    told(one(doctor.check_python(case())), "FAIL", "no 'python3.11' that runs")
    # The environment's own Python, first on make's PATH, may be removed: it does not count.
    path("python3.11", "", place=tmp_path / "venv" / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "venv" / "bin"))
    told(one(doctor.check_python(case(venv=tmp_path / "venv"))), "FAIL", "no 'python3.11' that runs")


def test_compiler_and_header(path, tmp_path, monkeypatch):
    header = tmp_path / "Python.h"
    facts = {"version": [3, 11, 7], "header": str(header), "venv": True}
    path("python3.11", f"print('''{json.dumps(facts)}''')")
    monkeypatch.delenv("CXX", raising=False)
    lacking = by_name(doctor.check_compiler(case(venv=tmp_path / "none")))
    told(lacking["compiler"], "FAIL", "'c++' compiles nothing", "Debian: g++")
    told(lacking["Python.h"], "FAIL", str(header), "python3.11-dev")
    # Once fairseq is built, nothing needs them.
    add_package(tmp_path / "venv", "fairseq_fixed", "1.0")
    lacking = by_name(doctor.check_compiler(case(venv=tmp_path / "venv")))
    assert {finding.status for finding in lacking.values()} == {"warn"}
    (tmp_path / "mirror" / "wheels").mkdir(parents=True)
    mirrored = case(venv=tmp_path / "none", mirror=str(tmp_path / "mirror"))
    told(by_name(doctor.check_compiler(mirrored))["compiler"], "FAIL")
    (tmp_path / "mirror" / "wheels" / "fairseq_fixed-1.0-cp311-cp311-linux_x86_64.whl").touch()
    told(by_name(doctor.check_compiler(mirrored))["compiler"], "warn")
    header.touch()
    path("my-c++", "sys.exit('#include <vector>' not in sys.stdin.read() or '-fsyntax-only' not in sys.argv)")
    monkeypatch.setenv("CXX", "my-c++")
    found = by_name(doctor.check_compiler(case(venv=tmp_path / "none")))
    told(found["compiler"], "ok", "my-c++")
    told(found["Python.h"], "ok", str(header))
    path("my-c++", "sys.exit('no such header: vector')")
    told(next(doctor.check_compiler(case(venv=tmp_path / "none"))), "FAIL", "(no such header: vector)", "CXX")


def test_make(path):
    told(one(doctor.check_make(None)), "FAIL", "no GNU make", "3.82")
    path("make", "print('GNU Make 3.81')")
    told(one(doctor.check_make(None)), "FAIL", "3.81 is too old")
    path("make", "print('GNU Make 4.10')")
    told(one(doctor.check_make(None)), "ok", "GNU Make 4.10")
    path("make", "print('bmake'); sys.exit(2)")
    told(one(doctor.check_make(None)), "FAIL", "no GNU make (bmake)")


def add_package(venv, name, version):
    info = venv / "lib" / "python3.11" / "site-packages" / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_environment_faults_are_those_that_make_mends(path, tmp_path):
    venv = tmp_path / "venv"
    assert doctor.environment_fault(venv) == "there is none"
    path("python", "print('3 11')", place=venv / "bin")
    assert doctor.environment_fault(venv) == "it has no pip"
    (venv / "bin" / "pip").write_text("#!/elsewhere/bin/python\n")
    assert doctor.environment_fault(venv) == "it was made in another folder"
    (venv / "bin" / "pip").write_text(f"#!{venv}/bin/python\n")
    assert doctor.environment_fault(venv) is None
    (venv / ".unfinished").touch()
    assert doctor.environment_fault(venv) == "its installation was interrupted"
    (venv / ".unfinished").unlink()
    path("python", "print('3 12')", place=venv / "bin")
    assert doctor.environment_fault(venv) == "its Python does not run, or is no 3.11"
    told(one(doctor.check_environment(case(broken="x"))), "warn", ".venv: x", "`make env`")


def test_packages_against_the_locks(tmp_path):
    root, venv = tmp_path / "root", tmp_path / "venv"
    root.mkdir()
    (root / "requirements.txt").write_text("# a lock\nPy.Yaml==6.0\ntorch==2.13.0\n")
    (root / "requirements-fairseq.txt").write_text("fairseq-fixed==0.12\n")
    checked = lambda: by_name(doctor.check_environment(case(root=root, venv=venv)))  # noqa: E731
    add_package(venv, "py-yaml", "6.0")
    told(checked()["packages"], "FAIL", "2 of 3 missing: torch, fairseq-fixed", "`make env`")
    # A local part names a build of the same version.
    add_package(venv, "torch", "2.13.0+cpu")
    add_package(venv, "fairseq_fixed", "0.12")
    told(checked()["packages"], "ok", "3, all of the locked versions")
    (root / "requirements.txt").write_text("py-yaml==6.1\n")
    told(checked()["packages"], "FAIL", "1 of 2 of another version: py-yaml 6.0 in place of 6.1")


# --- the machine ----------------------------------------------------------------------------------------------------


def test_disk(here, tmp_path, monkeypatch):
    free = {}
    usage = collections.namedtuple("usage", "free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: usage(free["bytes"]))
    study = case(**settings(studies.write_study(tmp_path / "study.yaml")))
    need, size = doctor.results_bytes(study.config, study.files, os.cpu_count()), doctor.size
    free["bytes"] = need
    told(one(doctor.check_disk(study)), "ok", f"{size(need)} free at results/tiny, about {size(need)} needed")
    free["bytes"] = need - 1
    told(one(doctor.check_disk(study)), "FAIL", f"about {size(need)} needed", "free some")
    # What is written already needs no further space.
    os.makedirs("results/tiny/data")
    pathlib.Path("results/tiny/data/x").write_bytes(b"x")
    told(one(doctor.check_disk(study)), "ok")
    # A download counts twice until it is there; one of unknown size is told.
    files = {"https://host.org/a": (None, 500_000), "https://host.org/b": (None, None)}
    lacking = one(doctor.check_disk(study._replace(files=files)))
    told(lacking, "FAIL", f"about {size(need + 10**6)} needed and 1 downloads of unknown size")
    for name in "ab":
        os.makedirs("resources/host.org", exist_ok=True)
        pathlib.Path("resources/host.org", name).touch()
    told(one(doctor.check_disk(study._replace(files=files))), "ok")


def test_disk_for_the_environment(here, monkeypatch):
    usage = collections.namedtuple("usage", "free")
    for count, status in ((1e9, "FAIL"), (5e9, "warn"), (20e9, "ok")):
        monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place, count=count: usage(count))
        told(one(doctor.check_disk(case(broken="there is none"))), status, f"{count / 1e9:.1f} GB free for .venv")


def test_memory(tmp_path, monkeypatch):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.smk").write_text(
        "rule small:\n    resources:\n        mem_mb=500,\n        runtime='9999m',\n"
        "if True:\n    rule large:\n        resources:\n            mem_mb=grow(3000),\n"
        "rule odd:\n    resources:\n        mem_mb=config['x'],\n        runtime='9999m',\n"
    )
    (tmp_path / "rules" / "qa.smk").write_text("rule tune:\n    resources:\n        mem_mb=8000,\n")
    assert doctor.largest_rule(tmp_path / "rules") == (8000, "tune")
    assert doctor.largest_rule(tmp_path / "rules", qa=False) == (3000, "large")
    monkeypatch.setattr(doctor, "memory_limit", lambda: 4 * 10**9)
    told(one(doctor.check_memory(case(root=tmp_path))), "warn", "4.0 GB; the largest rule, tune, asks for 8.0 GB")
    without = case(root=tmp_path, config={"qa": {"enabled": False}})
    told(one(doctor.check_memory(without)), "ok", "large, asks for 3.0 GB")


def test_memory_of_this_machine_and_its_rules():
    assert doctor.memory_limit() > 10**8
    wanted, rule = doctor.largest_rule(ROOT / "rules")
    assert wanted >= 1000 and re.search(
        rf"rule {rule}:", "".join(p.read_text() for p in (ROOT / "rules").glob("*.smk"))
    )


NVIDIA = "print('NVIDIA H200, 570.1, 143771 MiB')"


def torch_says(cuda="13.0", usable=False, told=()):
    return {"torch": "2.13.0", "cuda": cuda, "usable": usable, "told": list(told)}


@pytest.mark.parametrize(
    ("driver", "torch", "status", "texts"),
    [
        (None, torch_says(), "ok", ["none (no nvidia-smi)"]),
        (
            "sys.exit('NVIDIA-SMI has failed')",
            torch_says(),
            "warn",
            ["NVIDIA-SMI has failed", "repair NVIDIA's driver"],
        ),
        (NVIDIA, {}, "ok", ["NVIDIA H200, 570.1", "PyTorch could not be asked"]),
        (NVIDIA, torch_says(usable=True), "ok", ["PyTorch uses it (CUDA 13.0)"]),
        (NVIDIA, torch_says(cuda=None), "warn", ["a build without CUDA", "let pip take PyTorch's CUDA build"]),
        (NVIDIA, torch_says(told=["CUDA: the driver is too old"]), "warn", ["too old", "install a newer driver"]),
        (NVIDIA, torch_says(), "warn", ["it gives no reason", "CUDA_VISIBLE_DEVICES"]),
    ],
)
def test_gpu(path, driver, torch, status, texts):
    if driver:
        path("nvidia-smi", driver)
    told(doctor.check_gpu(torch), status, *texts)


def test_processor(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    for words, precision in (
        ("vendor_id : AuthenticAMD flags : fpu avx512_bf16 sse", "bfloat16"),
        ("vendor_id : GenuineIntel flags : fpu avx512_bf16 sse", "float32"),
        ("vendor_id : GenuineIntel flags : fpu avx512_bf16 amx_bf16", "bfloat16"),
        ("vendor_id : AuthenticAMD flags : fpu avx2 sse", "float32"),
    ):
        cpuinfo.write_text(words + "\n")
        told(one(doctor.check_processor(case(), cpuinfo)), "ok", f"trains in {precision}")
    assert not list(doctor.check_processor(case(), tmp_path / "nothing"))


def test_imports(path, tmp_path):
    venv = tmp_path / "venv"
    answer = f"print('a warning'); print('''{json.dumps(torch_says())}''')"
    path("python", answer, place=venv / "bin")
    told(by_name(doctor.check_frameworks(case(venv=venv)))["imports"], "ok", "torch 2.13.0")
    path("python", "sys.exit('ImportError: libtorch.so')", place=venv / "bin")
    told(by_name(doctor.check_frameworks(case(venv=venv)))["imports"], "FAIL", "ImportError: libtorch.so", "`make env`")
    assert list(by_name(doctor.check_frameworks(case(venv=venv, broken="x")))) == ["gpu"]


def test_what_pytorch_is_asked(tmp_path):
    # Modules of these names in place of the real ones, which take long to import.
    for name in ("fairseq", "snakemake", "transformers"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "torch.py").write_text(
        "import warnings\n__version__ = '2.13.0'\nclass version: cuda = '13.0'\nclass cuda:\n    def is_available():\n"
        "        warnings.warn('CUDA: the driver is too old')\n        warnings.warn('else')\n        return False\n"
    )
    command = [sys.executable, "-S", "-c", doctor.ASK_TORCH]
    done = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert json.loads(done.stdout) == torch_says(told=["CUDA: the driver is too old"]) and done.stdout.startswith(
        '{"torch"'
    )


def test_slurm(path, tmp_path):
    profile = tmp_path / "profiles" / "slurm" / "config.yaml"
    profile.parent.mkdir(parents=True)
    profile.write_text("default-resources:\n  - slurm_partition=gpu\n# slurm_partition: other\n")
    site = case(root=tmp_path)
    told(one(doctor.check_slurm(site)), "ok", "no sinfo")
    path("sinfo", "sys.exit('slurm_load_partitions: Unable to contact slurm controller')")
    told(one(doctor.check_slurm(site)), "warn", "Unable to contact slurm controller")
    path("sinfo", "print('cpu up'); print('gpu down')")
    told(one(doctor.check_slurm(site)), "warn", "partitions cpu, gpu", "names gpu, which is not there or not up")
    path("sinfo", "print('cpu up'); print('gpu up')")
    told(one(doctor.check_slurm(site)), "ok", "partitions cpu, gpu")


def test_tools(path):
    lacking = by_name(doctor.check_tools(None))
    assert set(lacking) == {"git", "graphviz", "chromium"}
    for finding in lacking.values():
        told(finding, "warn", "if that is wanted: install")
    path("google-chrome", "")
    path("dot", "")
    found = by_name(doctor.check_tools(None))
    told(found["chromium"], "ok", "google-chrome")
    assert doctor.BROWSERS == print_report.BROWSERS
    told(found["graphviz"], "ok", "dot")


def test_locale():
    def asked(**variables):
        code = "from tools import doctor; print(*next(doctor.check_locale(None)))"
        environment = {"PYTHONPATH": str(ROOT), "PYTHONCOERCECLOCALE": "0", **variables}
        return subprocess.run(
            [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True
        ).stdout

    assert asked(PYTHONUTF8="1").startswith("ok locale UTF-8")
    assert re.match(r"warn locale .* and not UTF-8 export LC_ALL", asked(PYTHONUTF8="0", LC_ALL="C"))


def test_folders(here, monkeypatch):
    found = by_name(doctor.check_folders(None))
    told(found["folders"], "ok", "results, resources, .snakemake")
    told(found["file locks"], "ok")
    assert list(here.iterdir()) == []
    pathlib.Path("resources").touch()
    told(by_name(doctor.check_folders(None))["folders"], "FAIL", "resources is a file", "move it away")
    pathlib.Path("resources").unlink()
    (here / "results").mkdir()
    # Not by its mode: root may write everywhere.
    monkeypatch.setattr(os, "access", lambda place, mode: not place.endswith("results"))
    told(by_name(doctor.check_folders(None))["folders"], "FAIL", "results cannot be written to")


def test_a_file_system_without_locks(here, monkeypatch):
    def refuse(handle, how):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    told(by_name(doctor.check_folders(None))["file locks"], "warn", "Function not implemented", "Lustre: flock")


# --- what earlier runs left -----------------------------------------------------------------------------------------


def test_locks(here, path, tmp_path):
    profile = tmp_path / "root" / "profiles" / "default" / "config.yaml"
    profile.parent.mkdir(parents=True)
    profile.write_text("rerun-incomplete: true\n")
    study = case(root=tmp_path / "root", config={"study": "tiny"})
    told(one(doctor.check_locks(study)), "ok", "no study is running")
    os.makedirs(".snakemake/locks")
    lock = pathlib.Path(".snakemake/locks/0.output.lock")
    lock.write_text("results/tiny/report.html\n")
    told(one(doctor.check_locks(study)), "FAIL", "a killed run left", "snakemake --unlock")
    profile.write_text("rerun-incomplete: true\nnolock: true # why\n")
    told(one(doctor.check_locks(study)), "ok", "no study is running")
    # A process that lives and works here: its lock is no leftover.
    path("snakemake", "print(flush=True); sys.stdin.read()", place=tmp_path / "bin")
    with subprocess.Popen([tmp_path / "bin" / "snakemake"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        told(one(doctor.check_locks(study)), "warn", f"process {process.pid}", "wait for its end")
        process.stdin.close()


def test_the_studys_own_lock(here):
    os.makedirs("results/tiny")
    lock = pathlib.Path("results/tiny/.lock")
    lock.write_text('{"pid": 7, "host": "node3", "since": "noon"}')
    study = case(config={"study": "tiny"})
    told(one(doctor.check_locks(study)), "ok")
    with lock.open() as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        held = list(doctor.check_locks(study))[-1]
        # What it has not finished is no leftover.
        assert list(doctor.check_leftovers(study)) == []
    told(held, "warn", "pid: 7, host: node3, since: noon", "wait for its end")


def test_leftovers(here):
    from snakemake.persistence.file import FilePersistence

    study = case(config={"study": "tiny"})
    assert {finding.status for finding in doctor.check_leftovers(study)} == {"ok"}
    # Written as Snakemake names them: one of another study, one too long for a single name.
    persistence = types.SimpleNamespace(_fetch_max_len=lambda folder: 255)
    long = f"results/tiny/{'x' * 300}"
    for key in ("results/other/report.html", long):
        record = pathlib.Path(FilePersistence._record_path(persistence, ".snakemake/incomplete", key))
        record.parent.mkdir(parents=True, exist_ok=True)
        record.touch()
    os.makedirs("results/tiny/state/pretrain/0123")
    pathlib.Path("results/tiny/state/pretrain/0123/checkpoint_1_500.pt").write_bytes(bytes(10**6))
    os.makedirs("results/tiny/state/qa/4567")
    os.makedirs("results/tiny/.run-7")
    for name in (".part-7-runs.tsv", ".run-7/model.pt"):
        pathlib.Path("results/tiny", name).write_bytes(bytes(10**6))
    found = by_name(doctor.check_leftovers(study))
    told(found["unfinished"], "warn", f"1 outputs of a run that was stopped, such as {long}", "again")
    told(found["states"], "warn", "1 interrupted trainings (1.0 MB)", "results/tiny/state/pretrain/0123")
    told(found["leftovers"], "warn", "2 temporary files of killed jobs (2.0 MB)", ".part-7-runs.tsv")


# --- files from elsewhere -------------------------------------------------------------------------------------------


def test_mirror(here):
    urls = {"https://host.org/a": (DIGEST, len(CONTENT)), "https://host.org/b": (None, None)}
    site = case(config={"mirror": "mirror"}, files=urls)
    os.makedirs("mirror/host.org")
    pathlib.Path("mirror/host.org/a").write_bytes(CONTENT)
    told(
        one(doctor.check_mirror(site)), "FAIL", "1 of 2 files missing, such as mirror/host.org/b", "https://host.org/b"
    )
    pathlib.Path("mirror/host.org/b").write_bytes(b"anything")
    told(one(doctor.check_mirror(site)), "ok", "has all 2 files; 1 are pinned")
    for content in (CONTENT[::-1], CONTENT + b"x"):
        pathlib.Path("mirror/host.org/a").write_bytes(content)
        told(
            one(doctor.check_mirror(site)), "FAIL", "1 of 2 files not the file of the pinned hash", "https://host.org/a"
        )
    # Without a mirror, or without a study, there is nothing to say.
    assert list(doctor.check_mirror(site._replace(config={"mirror": None}))) == []
    assert list(doctor.check_mirror(case())) == []


def test_checkpoint(here):
    arms = {"a": {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}}
    settings = {"study": "own", "checkpoint": {"source": "folder", "folder": "made"}, "finetuning": {"arms": arms}}
    site = case(config=settings)
    # No arm starts from it: nothing is asked for.
    foreign = settings | {"finetuning": {"arms": {"a": arms["a"] | {"model": "theirs"}}}}
    assert list(doctor.check_checkpoint(case(config=foreign))) == []
    pathlib.Path("made").mkdir()
    for name in ("model.pt", "dict.txt"):
        pathlib.Path("made", name).touch()
    told(one(doctor.check_checkpoint(site)), "FAIL", "there is no made/sentencepiece.bpe.model", "checkpoint.folder")
    pathlib.Path("made/sentencepiece.bpe.model").touch()
    told(one(doctor.check_checkpoint(site)), "ok", "made holds model.pt, dict.txt, sentencepiece.bpe.model")
    pathlib.Path("made").rename("results")
    told(one(doctor.check_checkpoint(site)), "FAIL", "there is no made/model.pt")
    # A copy that the study made earlier may be of another checkpoint.
    pathlib.Path("results/own/checkpoint").mkdir(parents=True)
    pathlib.Path("results/own/checkpoint/model.pt").touch()
    told(one(doctor.check_checkpoint(site)), "FAIL", "there is no made/model.pt")
    # Another source, or no study: nothing to say.
    assert list(doctor.check_checkpoint(case())) == []
    assert list(doctor.check_checkpoint(case(config={"checkpoint": {"source": "fetch"}}))) == []


def test_texts(here):
    table = {"train": ["a.csv", "https://a.org/b.csv"], "valid": None, "test": "c.csv"}
    site = case(config={"data": {"source": "table", "table": table}})
    pathlib.Path("a.csv").touch()
    told(one(doctor.check_texts(site)), "FAIL", "data.table.test: there is no file c.csv", "correct the path")
    pathlib.Path("c.csv").mkdir()
    told(one(doctor.check_texts(site)), "FAIL", "data.table.test: c.csv is a folder", "name the files in it")
    pathlib.Path("c.csv").rmdir()
    pathlib.Path("c.csv").touch()
    told(one(doctor.check_texts(site)), "ok", "a.csv, c.csv on this machine")
    assert list(doctor.check_texts(case())) == []
    assert list(doctor.check_texts(case(config={"data": {"source": "embedded"}}))) == []


def network(*urls):
    return doctor.check_network(case(config={"mirror": None}, files=dict.fromkeys(urls, (None, None))))


def test_network(here, tmp_path, monkeypatch):
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "file").write_bytes(CONTENT)
    with serve(tmp_path / "served") as server:
        # One request a host.
        told(one(network(f"{server.address}/file", f"{server.address}/absent")), "ok", f"{server.host} answers")
        told(one(network(f"{server.address}/absent")), "warn", "answers 404", f"{server.address}/absent")
        # What is here already is not asked for.
        os.makedirs(f"resources/{server.host}")
        pathlib.Path(f"resources/{server.host}/absent").touch()
        told(one(network(f"{server.address}/absent")), "ok", "not needed")
        nobody = unused_address()
        told(one(network(f"{nobody}/file")), "FAIL", "Connection refused", "MIRROR=FOLDER")
        monkeypatch.setattr(doctor, "HOST_PATIENCE", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"http://127.0.0.1:{silent.getsockname()[1]}/file"
            told(one(network(address)), "FAIL", "no answer in 0.2 s", "MIRROR=FOLDER")
    assert list(doctor.check_network(case(config={"mirror": "mirror"}, files={}))) == []


def test_a_certificate_that_nobody_signed(here, tmp_path, monkeypatch):
    certificate = self_signed(tmp_path / "certificate.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                connection.close()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        finding = one(network(f"https://127.0.0.1:{listener.getsockname()[1]}/file"))
        thread.join(timeout=10)
    told(finding, "FAIL", "TLS certificate is not accepted (self-signed certificate)", "clock and certificates")


def self_signed(path):
    """Write a key and a certificate for 127.0.0.1 that only it vouches for; return the path."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    return path
