"""`make doctor`: what it finds on a machine that is well, and on one that lacks each thing."""

import ast
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from support import studies
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


def case(root=ROOT, python="python3.11", venv=".venv", broken=None, mirror=None, study=None):
    return doctor.Case(str(root), python, str(venv), broken, mirror, study)


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
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=studies.importing(""))
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
    told(findings[0], "ok", "tiny: settings are valid")
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
    assert lines == ["FAIL one: could not be checked (KeyError: 'x') - tell the authors", "ok   two: fine"]
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
        finding = one(doctor.check_study(case(study=study)))
        told(finding, "FAIL", text, f"correct {study}")
        assert "\n" not in finding.found
    told(one(doctor.check_study(case(study="absent.yaml"))), "FAIL", "there is no file absent.yaml", "STUDY=")
    told(one(doctor.check_study(case(mirror=str(tmp_path / "absent")))), "FAIL", "mirror: there is no folder")


# --- what the environment is built with -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "venv", "status", "text"),
    [
        ([3, 11, 7], True, "ok", "is 3.11.7"),
        ([3, 13, 0], True, "ok", "is 3.13.0"),
        ([3, 10, 9], True, "FAIL", "is 3.10.9, 3.11, 3.12 or 3.13 is needed"),
        ([3, 14, 0], True, "FAIL", "is 3.14.0, 3.11, 3.12 or 3.13 is needed"),
        ([3, 12, 1], False, "FAIL", "python3.12-venv"),
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
    path("python", "print('3 14')", place=venv / "bin")
    assert doctor.environment_fault(venv) == "its Python does not run, or is none of 3.11, 3.12 or 3.13"
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
    # Without fairseq nobody asks for it.
    path("python", f"assert 'fairseq' not in sys.argv[2]; {answer}", place=venv / "bin")
    (venv / "without-fairseq").touch()
    told(by_name(doctor.check_frameworks(case(venv=venv)))["imports"], "ok", "snakemake, transformers, torch 2.13.0")


def test_what_pytorch_is_asked(tmp_path):
    # Modules of their names in place of the real ones, which take long to import.
    (tmp_path / "fairseq.py").touch()
    (tmp_path / "torch.py").write_text(
        "import warnings\n__version__ = '2.13.0'\nclass version: cuda = '13.0'\nclass cuda:\n    def is_available():\n"
        "        warnings.warn('CUDA: the driver is too old')\n        warnings.warn('else')\n        return False\n"
    )
    command = [sys.executable, "-S", "-c", doctor.ASK_TORCH.replace("PACKAGES", "fairseq, torch")]
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
