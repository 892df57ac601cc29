"""Return whether this machine can run a study, and what to do about each thing that is amiss (`make doctor`).

It reads and changes nothing. On the environment's Python it checks everything; before there is an environment, any
Python from 3.8 on runs it with its standard library alone. What a run itself reports (disk, files, locks, network)
is not repeated here.
"""

import argparse
import collections
import contextlib
import functools
import glob
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The versions of Python that the lock is for (the Makefile's SUITABLE says the same).
SUITABLE = ((3, 11), (3, 12), (3, 13))
VERSIONS = "3.11, 3.12 or 3.13"
# The time limit in seconds of a tool, and of importing PyTorch and other packages.
PATIENCE, IMPORT_PATIENCE = 20, 300
ASK_PYTHON = """
import importlib.util, json, os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
venv = all(importlib.util.find_spec(name) for name in ("ensurepip", "venv"))
print(json.dumps({"version": list(sys.version_info[:3]), "header": header, "venv": venv}))
"""
ASK_TORCH = """
import json, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import PACKAGES
    usable = torch.cuda.is_available()
told = [str(warning.message) for warning in caught if "CUDA" in str(warning.message)]
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "usable": usable, "told": told[-1:]}))
"""

Finding = collections.namedtuple("Finding", "status name found remedy")
# `broken` is the reason why the environment cannot be used, or None.
Case = collections.namedtuple("Case", "root python venv broken mirror study")
ok = functools.partial(Finding, "ok", remedy="")
warn = functools.partial(Finding, "warn")
fail = functools.partial(Finding, "FAIL")


def run(command, patience=PATIENCE, text=""):
    """Return a command's exit status and output; a status of None where it cannot be run or does not end."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", timeout=patience)
    except subprocess.TimeoutExpired:
        return None, f"no answer in {patience} s"
    except OSError as error:
        return None, str(error)
    return done.returncode, (done.stdout + done.stderr).strip()


def last_line(text):
    """Return the last line of an output: where a tool says what is wrong."""
    return (text.strip().splitlines() or ["it says nothing"])[-1]


def check_study(case):
    """The study's settings as the Snakefile reads them, and its tables as its first job does."""
    try:
        import snakemake  # noqa: F401 - `load_study` needs it

        from common.errors import StudyError
        from study.configuration import in_file
        from tools.check_settings import check
    except ImportError as error:
        yield warn("study", f"settings not read ({error})", "`make env`, then `make doctor` again")
        return
    if case.study and not os.path.isfile(case.study):
        from tools.near_study import remedy

        yield fail("study", f"there is no file {case.study}", remedy(case.study, case.root))
        return
    try:
        name, tables = check(case.study, **({"mirror": case.mirror} if case.mirror else {}))
    except (StudyError, OSError, ValueError) as error:
        file = case.study or "config.yaml"
        yield fail("study", " ".join(in_file(file, error).split()), f"correct {file}, or the file that it names")
    else:
        yield ok("study", f"{name}: settings are valid{tables and '; '}{tables}")


# --- what the environment is built with -----------------------------------------------------------------------------


def interpreter(case):
    """Return the path of the Python that makes the environment and what it says of itself, or None twice."""
    binaries = os.path.join(os.path.abspath(case.venv), "bin")
    path = os.pathsep.join(part for part in os.environ.get("PATH", "").split(os.pathsep) if part != binaries)
    python = shutil.which(case.python, path=path)
    status, output = run([python, "-c", ASK_PYTHON]) if python else (None, "")
    return (python, json.loads(last_line(output))) if status == 0 else (None, None)


def environment_fault(venv):
    """Return why `make` would recreate an environment, or None (Makefile's HEALTHY says the same)."""
    python = os.path.join(os.path.abspath(venv), "bin", "python")
    pip = os.path.join(os.path.dirname(python), "pip")
    if not os.path.exists(venv):
        return "there is none"
    if os.path.exists(os.path.join(venv, ".unfinished")):
        return "its installation was interrupted"
    if not os.path.exists(pip):
        return "it has no pip"
    with open(pip, encoding="utf-8", errors="replace") as handle:
        if python not in handle.read():
            return "it was made in another folder"
    status, output = run([python, "-c", "import sys; print(*sys.version_info[:2])"])
    suits = status == 0 and output in {f"{major} {minor}" for major, minor in SUITABLE}
    return None if suits else f"its Python does not run, or is none of {VERSIONS}"


def installed(case):
    """Return {canonical name: version} of the environment's packages, without the local part (+cpu names a build)."""
    places = glob.glob(os.path.join(case.venv, "lib", "python3*", "site-packages"))
    found = {}
    for package in importlib.metadata.distributions(path=places):
        if package.metadata["Name"]:
            found[canonical(package.metadata["Name"])] = package.metadata["Version"].partition("+")[0]
    return found


def left_out(case):
    """Return whether the environment was made without fairseq."""
    return os.path.exists(os.path.join(case.venv, "without-fairseq"))


def canonical(name):
    """Return a package's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def check_python(case):
    """The interpreter that makes the environment."""
    python, facts = interpreter(case)
    remedy = f"install Python {VERSIONS}, or name one: make PYTHON=/path/to/python3.13"
    if not python:
        yield fail("python", f"there is no '{case.python}' that runs", remedy)
    elif tuple(facts["version"][:2]) not in SUITABLE:
        yield fail("python", f"{python} is {'.'.join(map(str, facts['version']))}, {VERSIONS} is needed", remedy)
    elif not facts["venv"]:
        package = f"python3.{facts['version'][1]}-venv"
        yield fail("python", f"{python} makes no virtual environments", f"install its venv module: {package}")
    else:
        yield ok("python", f"{python} is {'.'.join(map(str, facts['version']))}")


def check_compiler(case):
    """The requirements for building fairseq, once: the C++ compiler and Python's header."""
    # It is already built or left out, or the mirror has a wheel.
    built = (
        "fairseq-fixed" in installed(case)
        or left_out(case)
        or glob.glob(f"{glob.escape(case.mirror or '')}/wheels/fairseq_fixed-*.whl")
    )
    need = warn if built else fail
    compiler = os.environ.get("CXX", "c++")
    status, output = run([compiler, "-x", "c++", "-fsyntax-only", "-"], text="#include <vector>\n")
    if status == 0:
        yield ok("compiler", shutil.which(compiler) or compiler)
    else:
        found = f"'{compiler}' compiles nothing ({last_line(output)}); fairseq is built with it, once"
        yield need("compiler", found, "install one (Debian: g++), or name it in CXX")
    _, facts = interpreter(case)
    if facts and os.path.exists(facts["header"]):
        yield ok("Python.h", facts["header"])
    elif facts:
        package = f"python3.{facts['version'][1]}-dev"
        yield need("Python.h", f"not at {facts['header']}; fairseq is built with it, once", f"install {package}")


def check_make(case):
    """GNU make, of a release that the Makefile can rely on."""
    status, output = run(["make", "--version"])
    match = re.match(r"GNU Make (\d+)\.(\d+)", output)
    if status != 0 or not match:
        yield fail("make", f"no GNU make ({last_line(output)})", "install GNU make 3.82 or later")
    elif (int(match[1]), int(match[2])) < (3, 82):
        yield fail("make", f"GNU make {match[1]}.{match[2]} is too old", "install GNU make 3.82 or later")
    else:
        yield ok("make", match[0])


def check_environment(case):
    """The environment, and its packages against the lock files."""
    if case.broken:
        yield warn("environment", f"{case.venv}: {case.broken}", "`make env`, or any other target, recreates it")
        return
    yield ok("environment", case.venv)
    locked = {}
    for name in ("requirements.txt", "requirements-fairseq.txt"):
        with open(os.path.join(case.root, name), encoding="utf-8") as handle:
            locked.update(re.findall(r"^([\w.-]+)==([^\s;]+)", handle.read(), re.MULTILINE))
    found = installed(case)
    if left_out(case):
        del locked["fairseq-fixed"]
    missing = [name for name in locked if canonical(name) not in found]
    other = [
        f"{name} {found[canonical(name)]} in place of {version}"
        for name, version in locked.items()
        if name not in missing and found[canonical(name)] != version
    ]
    remedy = f"`make env`; if that changes nothing, remove {case.venv} first"
    if missing:
        yield fail("packages", f"{len(missing)} of {len(locked)} missing: {', '.join(missing[:5])}", remedy)
    if other:
        yield fail("packages", f"{len(other)} of {len(locked)} of another version: {', '.join(other[:5])}", remedy)
    if not missing and not other:
        yield ok("packages", f"{len(locked)}, all of the locked versions")


# --- the machine ----------------------------------------------------------------------------------------------------


def check_frameworks(case):
    """Check the environment's main packages, and the GPU by its driver and PyTorch."""
    reported = {}
    if not case.broken:
        needed = "snakemake, transformers, torch" if left_out(case) else "fairseq, snakemake, transformers, torch"
        ask = ASK_TORCH.replace("PACKAGES", needed)
        status, output = run([os.path.join(case.venv, "bin", "python"), "-c", ask], IMPORT_PATIENCE)
        answers = [line for line in output.splitlines() if line.startswith('{"torch"')]
        if status == 0 and answers:
            reported = json.loads(answers[-1])
            yield ok("imports", f"{needed} {reported['torch']}")
        else:
            found = f"one of {needed} fails: {last_line(output)}"
            yield fail("imports", found, f"remove {case.venv}, then `make env`")
    yield check_gpu(reported)


def check_gpu(reported):
    """Return the finding about the GPU; `reported` is PyTorch's answer to `ASK_TORCH`, empty where there is none."""
    if not shutil.which("nvidia-smi"):
        return ok("gpu", "none (no nvidia-smi): the CPU is used")
    status, output = run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
    if status != 0 or not output:
        return warn(
            "gpu", f"nvidia-smi fails: {last_line(output)}", "repair NVIDIA's driver; until then the CPU is used"
        )
    found = "; ".join(" ".join(line.split()) for line in output.splitlines())
    if not reported:
        return ok("gpu", f"{found}; PyTorch could not be asked")
    if reported["usable"]:
        return ok("gpu", f"{found}; PyTorch uses it (CUDA {reported['cuda']})")
    if reported["cuda"] is None:
        remedy = "remove the environment and let pip take PyTorch's CUDA build, or accept the CPU"
        return warn("gpu", f"{found}; but PyTorch {reported['torch']} is a build without CUDA", remedy)
    said = " ".join(" ".join(reported["told"]).split()) or "it gives no reason"
    remedy = f"PyTorch is built for CUDA {reported['cuda']}: "
    remedy += "install a newer driver" if "too old" in said else "look at the driver and at CUDA_VISIBLE_DEVICES"
    return warn("gpu", f"{found}; but PyTorch cannot use it: {said}", remedy)


def check_processor(case, cpuinfo="/proc/cpuinfo"):
    """Yield what `precision: auto` trains in without a GPU, where Linux says what the processor can."""
    with contextlib.suppress(OSError), open(cpuinfo, encoding="utf-8") as handle:
        words = set(handle.read().split())
        # The rule is that of training.precision.has_fast_bfloat16, which needs PyTorch.
        if "amx_bf16" in words or ("avx512_bf16" in words and "GenuineIntel" not in words):
            yield ok("processor", "fast bfloat16 (AMX or AMD's AVX512-BF16): `precision: auto` trains in bfloat16")
        else:
            yield ok("processor", "no fast bfloat16 (AMX or AMD's AVX512-BF16): `precision: auto` trains in float32")


def check_slurm(case):
    """Slurm, where it is installed: whether it answers and has the profile's partition."""
    if not shutil.which("sinfo"):
        yield ok("slurm", "none (no sinfo): only profiles/slurm needs it")
        return
    status, output = run(["sinfo", "--noheader", "--format=%R %a"])
    if status != 0:
        yield warn(
            "slurm", f"sinfo fails: {last_line(output)}", "on a cluster, ask its staff; elsewhere this does not matter"
        )
        return
    partitions = {line.split()[0]: line.split()[-1] for line in output.splitlines() if line.strip()}
    found = f"partitions {', '.join(partitions) or 'none'}"
    wanted = set()
    profile = os.path.join(case.root, "profiles", "slurm", "config.yaml")
    if os.path.exists(profile):
        with open(profile, encoding="utf-8") as handle:
            wanted = set(re.findall(r"^[^#\n]*\bslurm_partition\s*[:=]\s*[\"']?([\w.-]+)", handle.read(), re.MULTILINE))
    absent = sorted(name for name in wanted if partitions.get(name) != "up")
    if absent:
        found += f"; {profile} names {', '.join(absent)}, which is not there or not up"
        yield warn("slurm", found, "name one of these there")
    else:
        yield ok("slurm", found)


CHECKS = (
    check_study,
    check_python,
    check_compiler,
    check_make,
    check_environment,
    check_frameworks,
    check_processor,
    check_slurm,
)


def examine(case):
    """Yield the findings of every check."""
    for check in CHECKS:
        try:
            yield from check(case)
        except Exception as error:  # noqa: BLE001 - one check that stumbles must not hide the others
            name = check.__name__.replace("check_", "")
            yield fail(name, f"could not be checked ({type(error).__name__}: {error})", "tell the authors")


def main(arguments=None):
    """Print the findings.

    Args:
        arguments: command line; None takes the process's own.

    Returns:
        int: 1 if anything is amiss that stops a run, else 0.
    """
    parser = argparse.ArgumentParser(description="Tell whether this machine can run a study; changes nothing.")
    parser.add_argument("--study", help="the study's file; the embedded study without it")
    parser.add_argument("--mirror", help="folder laid out HOST/PATH that replaces the network")
    parser.add_argument("--venv", default=".venv", help="folder of the environment (%(default)s)")
    parser.add_argument("--python", default="python3.11", help="Python to make the environment with (%(default)s)")
    parser.add_argument("--json", action="store_true", help="a JSON list in place of lines")
    options = parser.parse_args(arguments)
    # A name may contain characters that the terminal cannot show.
    sys.stdout.reconfigure(errors="backslashreplace")
    broken = environment_fault(options.venv)
    case = Case(ROOT, options.python, options.venv, broken, options.mirror, options.study)
    findings = []
    for finding in examine(case):
        findings.append(finding)
        if not options.json:
            remedy = f" - {finding.remedy}" if finding.remedy else ""
            print(f"{finding.status:4} {finding.name}: {finding.found}{remedy}", flush=True)
    if options.json:
        print(json.dumps([finding._asdict() for finding in findings], indent=1))
    return int(any(finding.status == "FAIL" for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
