"""Tell whether this machine can run a study, and what to do about each thing that is amiss (`make doctor`).

It reads and changes nothing. On the environment's Python it checks everything; before there is an environment, any
Python from 3.8 on runs it with its standard library alone (so psutil and packaging cannot serve it), and what needs
more is said to be left out.
"""

import argparse
import base64
import collections
import contextlib
import errno
import fcntl
import functools
import glob
import importlib.metadata
import itertools
import json
import locale
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Bytes of the environment with PyTorch's CPU build, measured (2.2 GB), and roughly with its CUDA libraries.
ENVIRONMENT_BYTES = 2_500_000_000
ENVIRONMENT_CUDA_BYTES = 9_000_000_000
# Seconds that a tool may take to answer, the imports of PyTorch and its company, and a host.
PATIENCE, IMPORT_PATIENCE, HOST_PATIENCE = 20, 300, 5
# As in print_report.py: before there is an environment, nothing of the project is imported.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# What is only needed for one thing: name, commands that serve, what lacks without, Debian package.
TOOLS = (
    ("git", ("git",), "the records of the runs name no commit", "git"),
    ("graphviz", ("dot",), "`snakemake --rulegraph` can be drawn by no `dot`", "graphviz"),
    ("chromium", BROWSERS, "`make print` cannot print the report", "chromium"),
)
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
    import fairseq, snakemake, transformers, torch
    usable = torch.cuda.is_available()
told = [str(warning.message) for warning in caught if "CUDA" in str(warning.message)]
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda, "usable": usable, "told": told[-1:]}))
"""

Finding = collections.namedtuple("Finding", "status name found remedy")
# `broken`: why the environment cannot be used, or None. `config` and `files`: None where the study cannot be read.
Case = collections.namedtuple("Case", "root python venv broken mirror config files")
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


def size(count):
    """Return bytes in the unit that people use for them."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


def existing(path):
    """Return the nearest folder or file of a path that exists."""
    path = os.path.abspath(path)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def files_below(folder):
    """Return the paths of all files below a folder; none where there is no such folder."""
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]


def bytes_of(paths):
    """Return how many bytes files have; one that vanishes meanwhile has none."""
    return sum(os.lstat(path).st_size for path in paths if os.path.lexists(path))


# --- the study ----------------------------------------------------------------------------------------------------


def study_files(config, pins):
    """Return {address: (sha256 or None, bytes or None)} of every file that a study takes from elsewhere.

    Raises:
        StudyError: not an address of a file, or the study and the table of checksums contradict each other.
    """
    from study.addresses import needed_retrievals

    return {
        url: (digest, count)
        for part in needed_retrievals(config, pins)
        for url, digest, count in zip(part["urls"], part["hashes"], part["sizes"], strict=True)
    }


def results_bytes(config, files, at_once):
    """Return about how many bytes all jobs of a study write into its results (see `study.disk`).

    Args:
        config: the study's settings.
        files: what `study_files` returns.
        at_once: jobs that run at the same time.
    """
    from study.addresses import uses_checkpoint
    from study.disk import corpus_bytes, disk_need, model_bytes

    def size_of(url):
        return files.get(url, (None, None))[1]

    used, made = uses_checkpoint(config), config["checkpoint"]["source"] == "pretrain"
    planned = {
        "build_corpus": used and made,
        "pretrain": used and made,
        "extract_checkpoint": used and not made,
        "convert_checkpoint": used,
        "take_model": True,
        "build_qa_base_model": config["qa"]["enabled"],
    }
    jobs = collections.Counter(rule for rule, wanted in planned.items() if wanted)
    for arm in config["finetuning"]["arms"].values():
        jobs[f"finetune_{arm['framework']}"] += len(config["finetuning"]["seeds"])
    corpus, models = corpus_bytes(config["checkpoint"]["corpus"], size_of), model_bytes(config, size_of)
    return sum(disk_need(jobs, config, downloads=0, corpus=corpus, at_once=at_once, models=models).values())


def read_study(root, study=None, mirror=None):
    """Return a study's settings and files, as the Snakefile has them.

    Args:
        root: folder of the workflow.
        study: the study's file, or None for the embedded one.
        mirror: folder that replaces the study's `mirror`, or None.

    Returns:
        tuple: settings and files (`study_files`), both None where they cannot be read; the Finding that says so.
    """
    try:
        import snakemake  # noqa: F401 - `load_study` needs it

        from common.errors import StudyError
        from study.configuration import load_study
    except ImportError as error:
        found = f"settings not read ({error}); what depends on them is left out"
        return None, None, warn("study", found, "`make env`, then `make doctor` again")
    if study and not os.path.isfile(study):
        remedy = "name a study's file, such as STUDY=studies/open.yaml"
        return None, None, fail("study", f"there is no file {study}", remedy)
    try:
        config, pins = load_study(root, *filter(None, [study]), **({"mirror": mirror} if mirror else {}))
        files = study_files(config, pins)
    except (StudyError, OSError, ValueError) as error:
        return None, None, fail("study", " ".join(str(error).split()), f"correct {study or 'config.yaml'}")
    return config, files, ok("study", f"{config['study']}: settings are valid, {len(files)} files from elsewhere")


# --- what the environment is built with -----------------------------------------------------------------------------


def interpreter(case):
    """Return the path of the Python that makes the environment and what it says of itself, or None twice."""
    own = os.path.join(os.path.abspath(case.venv), "bin")
    path = os.pathsep.join(part for part in os.environ.get("PATH", "").split(os.pathsep) if part != own)
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
    return None if (status, output) == (0, "3 11") else "its Python does not run, or is no 3.11"


def installed(case):
    """Return {canonical name: version} of the environment's packages, without the local part (+cpu names a build)."""
    places = glob.glob(os.path.join(case.venv, "lib", "python3*", "site-packages"))
    found = {}
    for package in importlib.metadata.distributions(path=places):
        if package.metadata["Name"]:
            found[canonical(package.metadata["Name"])] = package.metadata["Version"].partition("+")[0]
    return found


def canonical(name):
    """Return a package's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def check_python(case):
    """The interpreter that makes the environment."""
    python, facts = interpreter(case)
    remedy = "install Python 3.11, or name one: make PYTHON=/path/to/python3.11"
    if not python:
        yield fail("python", f"there is no '{case.python}' that runs", remedy)
    elif facts["version"][:2] != [3, 11]:
        yield fail("python", f"{python} is {'.'.join(map(str, facts['version']))}, 3.11 is needed", remedy)
    elif not facts["venv"]:
        yield fail("python", f"{python} makes no virtual environments", "install its venv module: python3.11-venv")
    else:
        yield ok("python", f"{python} is {'.'.join(map(str, facts['version']))}")


def check_compiler(case):
    """What builds fairseq, once: the C++ compiler and Python's header."""
    # Built already, or a wheel of it in the mirror.
    built = "fairseq-fixed" in installed(case) or glob.glob(
        f"{glob.escape(case.mirror or '')}/wheels/fairseq_fixed-*.whl"
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
        yield need("Python.h", f"not at {facts['header']}; fairseq is built with it, once", "install python3.11-dev")


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


def check_disk(case):
    """Free space for the environment and for what the study has yet to write."""
    free = shutil.disk_usage(existing(case.venv)).free
    if case.broken:
        found = f"{size(free)} free for {case.venv}"
        if free < ENVIRONMENT_BYTES:
            yield fail("disk", f"{found}; it takes {size(ENVIRONMENT_BYTES)} at least", "free some, or VENV=elsewhere")
        elif free < ENVIRONMENT_CUDA_BYTES:
            remedy = "without a GPU, let pip take PyTorch's CPU build (see README)"
            yield warn(
                "disk", f"{found}; with PyTorch's CUDA build it takes about {size(ENVIRONMENT_CUDA_BYTES)}", remedy
            )
        else:
            yield ok("disk", found)
    if case.config is None:
        return
    from study.download import mirror_path

    results = os.path.join("results", case.config["study"])
    absent = [known for url, known in case.files.items() if not os.path.exists(f"resources/{mirror_path(url)}")]
    unknown = sum(count is None for _, count in absent)
    need = max(0, results_bytes(case.config, case.files, os.cpu_count() or 1) - bytes_of(files_below(results)))
    # A download lies in resources/ and, unpacked or copied, in the results.
    need += 2 * sum(count or 0 for _, count in absent)
    free = shutil.disk_usage(existing(results)).free
    found = f"{size(free)} free at {results}, about {size(need)} needed"
    found += f" and {unknown} downloads of unknown size" if unknown else ""
    if free < need:
        yield fail("disk", found, "free some, make results/ a link to a larger disk, or lower seeds or epochs")
    else:
        yield ok("disk", found)


def memory_limit():
    """Return how many bytes of memory this machine, or the container around us, has."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        if os.path.exists(path):
            with open(path, encoding="ascii") as handle:
                limits += [int(word) for word in handle.read().split() if word.isdecimal()]
    return min(limits)


def largest_rule(folder, qa=True):
    """Return the largest `mem_mb` that the rule files ask for, and the rule's name; without qa.smk if not `qa`."""
    largest, rule = (0, ""), ""
    for path in sorted(glob.glob(os.path.join(folder, "*.smk"))):
        if qa or os.path.basename(path) != "qa.smk":
            with open(path, encoding="utf-8") as handle:
                for name, wanted in re.findall(
                    r"^\s*(?:use )?rule (\w+)|mem_mb=[^\d\n]*(\d+)", handle.read(), re.MULTILINE
                ):
                    rule = name or rule
                    largest = max(largest, (int(wanted or 0), rule))
    return largest


def check_memory(case):
    """The machine's memory against what the largest rule asks for."""
    memory = memory_limit()
    wanted, rule = largest_rule(os.path.join(case.root, "rules"), case.config is None or case.config["qa"]["enabled"])
    found = f"{size(memory)}; the largest rule, {rule}, asks for {size(wanted * 1e6)}"
    if memory < wanted * 1e6:
        yield warn("memory", found, "CORES=1; if a job is killed nevertheless, lower its batch_size")
    else:
        yield ok("memory", found)


def check_frameworks(case):
    """Whether the environment's main packages work, and the GPU: the driver's word and PyTorch's."""
    told = {}
    if not case.broken:
        status, output = run([os.path.join(case.venv, "bin", "python"), "-c", ASK_TORCH], IMPORT_PATIENCE)
        answers = [line for line in output.splitlines() if line.startswith('{"torch"')]
        if status == 0 and answers:
            told = json.loads(answers[-1])
            yield ok("imports", f"fairseq, snakemake, transformers, torch {told['torch']}")
        else:
            found = f"fairseq, snakemake, transformers or torch fails: {last_line(output)}"
            yield fail("imports", found, f"remove {case.venv}, then `make env`")
    yield check_gpu(told)


def check_gpu(told):
    """Return the finding about the GPU; `told` is PyTorch's answer to `ASK_TORCH`, empty where there is none."""
    if not shutil.which("nvidia-smi"):
        return ok("gpu", "none (no nvidia-smi): the CPU is used")
    status, output = run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
    if status != 0 or not output:
        return warn(
            "gpu", f"nvidia-smi fails: {last_line(output)}", "repair NVIDIA's driver; until then the CPU is used"
        )
    found = "; ".join(" ".join(line.split()) for line in output.splitlines())
    if not told:
        return ok("gpu", f"{found}; PyTorch could not be asked")
    if told["usable"]:
        return ok("gpu", f"{found}; PyTorch uses it (CUDA {told['cuda']})")
    if told["cuda"] is None:
        remedy = "remove the environment and let pip take PyTorch's CUDA build, or accept the CPU"
        return warn("gpu", f"{found}; but PyTorch {told['torch']} is a build without CUDA", remedy)
    said = " ".join(" ".join(told["told"]).split()) or "it gives no reason"
    remedy = f"PyTorch is built for CUDA {told['cuda']}: "
    remedy += "install a newer driver" if "too old" in said else "look at the driver and at CUDA_VISIBLE_DEVICES"
    return warn("gpu", f"{found}; but PyTorch cannot use it: {said}", remedy)


def check_processor(case, cpuinfo="/proc/cpuinfo"):
    """Yield what `precision: auto` trains in without a GPU, where Linux says what the processor can."""
    with contextlib.suppress(OSError), open(cpuinfo, encoding="utf-8") as handle:
        words = set(handle.read().split())
        # As training.precision.has_fast_bfloat16, which needs PyTorch.
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


def check_tools(case):
    """What only single targets need."""
    for name, commands, without, package in TOOLS:
        path = next(filter(None, map(shutil.which, commands)), None)
        if path:
            yield ok(name, path)
        else:
            yield warn(name, f"none of {', '.join(commands)}: {without}", f"if that is wanted: install {package}")


def check_locale(case):
    """The encoding of names and of output."""
    used = {name.upper().replace("-", "") for name in (sys.getfilesystemencoding(), locale.getpreferredencoding(False))}
    if used == {"UTF8"}:
        yield ok("locale", "UTF-8")
    else:
        yield warn("locale", f"{', '.join(sorted(used))} and not UTF-8", "export LC_ALL=C.UTF-8")


def check_folders(case):
    """The folders that are written to, and whether the results' file system knows locks."""
    folders, faults = ("results", "resources", ".snakemake", tempfile.gettempdir()), []
    for folder in folders:
        place = existing(folder)
        if not os.path.isdir(place):
            faults.append(fail("folders", f"{place} is a file", "move it away: a folder is needed"))
        elif not os.access(place, os.W_OK | os.X_OK):
            remedy = "change its mode or owner, or work in another folder"
            faults.append(fail("folders", f"{place} cannot be written to", remedy))
    yield from faults or [ok("folders", f"{', '.join(folders)} can be written to")]
    # On the folder itself: that needs no file, and a shared lock disturbs nobody.
    fault = lock_fault(existing("results"))
    if fault in (None, errno.EWOULDBLOCK):
        yield ok("file locks", "the file system of results/ supports them")
    else:
        found = f"the file system of results/ has none ({os.strerror(fault)}): two runs of one study could collide"
        yield warn("file locks", found, "mount it with locks (Lustre: flock), or make results/ a link to another disk")


def lock_fault(path):
    """Return None where a shared lock on a file or folder can be had (and is given back), else the error's number."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno
    finally:
        os.close(handle)
    return None


# --- what earlier runs left -----------------------------------------------------------------------------------------


def running_here(folder):
    """Return the ids of the Snakemake processes that work in a folder, as far as /proc tells."""
    found = []
    for place in glob.glob("/proc/[0-9]*"):
        try:
            with open(os.path.join(place, "cmdline"), "rb") as handle:
                words = handle.read().split(b"\0")
            if any(b"snakemake" in os.path.basename(word) for word in words[:4]) and os.path.samefile(
                f"{place}/cwd", folder
            ):
                found.append(int(os.path.basename(place)))
        except OSError:
            continue  # it has ended, or is another user's
    return sorted(found)


def check_locks(case):
    """A run in progress, or the lock of a killed one."""
    # Told to take no lock, Snakemake minds none either.
    with open(os.path.join(case.root, "profiles", "default", "config.yaml"), encoding="utf-8") as handle:
        minded = not re.search(r"^nolock: *true\b", handle.read(), re.MULTILINE)
    alive = running_here(os.curdir)
    if alive:
        found = f"Snakemake is running in this folder (process {', '.join(map(str, alive))})"
        yield warn("lock", found, "wait for its end before you start the same study")
    elif minded and glob.glob(".snakemake/locks/*.lock"):
        found = "a killed run left Snakemake's lock in .snakemake/locks"
        yield fail("lock", found, "if none runs on another machine either: `.venv/bin/snakemake --unlock`")
    else:
        yield ok("lock", "no study is running in this folder")
    if case.config is None:
        return
    path = os.path.join("results", case.config["study"], ".lock")
    if os.path.exists(path) and lock_fault(path) == errno.EWOULDBLOCK:
        with open(path, encoding="utf-8", errors="replace") as handle:
            said = " ".join(re.sub(r'[{}"]', "", handle.read(500)).split())
        yield warn("lock", f"this study is running ({said or path})", "wait for its end")


def check_leftovers(case):
    """Saved training states, outputs half-made and temporary files of killed runs."""
    # What a run in progress has not finished is no leftover.
    if case.config is None or any(finding.status == "warn" for finding in check_locks(case)):
        return
    results = os.path.join("results", case.config["study"])
    records = files_below(".snakemake/incomplete")
    names = []
    for record in records:
        # Snakemake's own naming: base64, cut into folders marked @ where it is too long for a file name.
        name = os.path.relpath(record, ".snakemake/incomplete").replace("@", "").replace(os.sep, "")
        try:
            names.append(base64.urlsafe_b64decode(name).decode())
        except ValueError:
            continue
    unfinished = sorted(name for name in names if name.startswith(results + "/"))
    if unfinished:
        found = f"{len(unfinished)} outputs of a run that was stopped, such as {unfinished[0]}"
        yield warn("unfinished", found, "run the same command again to make them")
    else:
        yield ok("unfinished", "no incomplete outputs")
    states = [path for path in files_below(os.path.join(results, "state")) if path.endswith((".pt", ".safetensors"))]
    if states:
        runs = {os.path.dirname(path) for path in states}
        found = f"{len(runs)} interrupted trainings ({size(bytes_of(states))}), such as {min(runs)}"
        remedy = f"run again: it resumes from those of the same settings; remove {results}/state if none is wanted"
        yield warn("states", found, remedy)
    else:
        yield ok("states", "no interrupted training")
    parts = [path for path in files_below(results) if re.search(r"/\.(part|run)-", path)]
    if parts:
        found = f"{len(parts)} temporary files of killed jobs ({size(bytes_of(parts))}), such as {min(parts)}"
        yield warn("leftovers", found, "run again: it removes them first; or remove them while nothing runs")
    else:
        yield ok("leftovers", "no temporary files of killed jobs")


# --- files from elsewhere -------------------------------------------------------------------------------------------


def check_mirror(case):
    """Whether the mirror holds every file of the study, and the right one."""
    if case.config is None or not case.config["mirror"]:
        return
    from common.files import sha256
    from study.download import mirror_path

    mirror, missing, wrong = case.config["mirror"], [], []
    for url, (digest, count) in case.files.items():
        path = os.path.join(mirror, mirror_path(url))
        if not os.path.isfile(path):
            missing.append((path, url))
        elif count not in (None, os.path.getsize(path)) or digest not in (None, sha256(path)):
            wrong.append((path, url))
    for files, fault in ((missing, "missing"), (wrong, "not the file of the pinned hash")):
        if files:
            found = f"{len(files)} of {len(case.files)} files {fault}, such as {files[0][0]}"
            yield fail("mirror", found, f"`make mirror` fills it; this one comes from {files[0][1]}")
    if not missing and not wrong:
        pinned = sum(digest is not None for digest, _ in case.files.values())
        yield ok("mirror", f"{mirror} has all {len(case.files)} files; {pinned} are pinned and have the right hash")


def check_checkpoint(case):
    """Whether the folder that a study takes its checkpoint from has one."""
    if case.config is None or case.config["checkpoint"]["source"] != "folder":
        return
    from study.addresses import CHECKPOINT_FILES, missing_checkpoint, uses_checkpoint

    if not uses_checkpoint(case.config):
        return
    missing = missing_checkpoint(case.config)
    if missing:
        remedy = "run the study first that makes it, or name another folder in checkpoint.folder"
        yield fail("checkpoint", f"there is no {missing}", remedy)
    else:
        yield ok("checkpoint", f"{case.config['checkpoint']['folder']} holds {', '.join(CHECKPOINT_FILES)}")


def check_texts(case):
    """Whether the tables of a study's own texts are there, as far as they lie on this machine."""
    if case.config is None or case.config["data"]["source"] != "table":
        return
    from study.addresses import is_address, missing_file, table_files

    files = [(split, file) for split, file in table_files(case.config["data"]["table"]) if not is_address(file)]
    missing = [(split, fault) for split, file in files if (fault := missing_file(file))]
    for split, fault in missing:
        found, _, remedy = fault.partition("; ")
        yield fail("texts", f"data.table.{split}: {found}", remedy)
    if not missing:
        yield ok("texts", f"{', '.join(file for _, file in files) or 'no table'} on this machine")


def check_network(case):
    """Whether each host answers that the study has yet to download from."""
    if case.config is None or case.config["mirror"]:
        return
    import requests

    from study.download import mirror_path

    firsts = {}
    for url in case.files:
        if not os.path.exists(f"resources/{mirror_path(url)}"):
            firsts.setdefault(url.split("/")[2], url)
    if not firsts:
        yield ok("network", "not needed: the study's files are all here")
    remedy = "look at the connection and the proxy, or name a folder with the files: MIRROR=FOLDER"
    for host, url in firsts.items():
        try:
            answer = requests.head(url, timeout=HOST_PATIENCE, allow_redirects=True)
        except requests.exceptions.SSLError as error:
            found = f"{host}: its TLS certificate is not accepted ({reason(error)})"
            yield fail("network", found, "look at this machine's clock and certificates (REQUESTS_CA_BUNDLE)")
        except requests.exceptions.Timeout:
            yield fail("network", f"{host}: no answer in {HOST_PATIENCE} s", remedy)
        except requests.exceptions.RequestException as error:
            yield fail("network", f"{host}: {reason(error)}", remedy)
        else:
            # Some servers give no heads: that they answer is enough.
            if answer.status_code < 400 or answer.status_code in (405, 501):
                yield ok("network", f"{host} answers")
            else:
                found = f"{host} answers {answer.status_code} {answer.reason or ''}".strip() + f" for {url}"
                yield warn("network", found, "look at the address in the study's file, or try later")


def reason(error):
    """Return the last, human part of a chained network exception."""
    text = re.sub(r" ?\(_ssl\.c:\d+\)", "", str(error))
    return re.split(r": |\[Errno -?\d+\] ", text)[-1].strip("'\")( ")[:200]


CHECKS = (
    check_python,
    check_compiler,
    check_make,
    check_environment,
    check_frameworks,
    check_processor,
    check_disk,
    check_memory,
    check_slurm,
    check_tools,
    check_locale,
    check_folders,
    check_locks,
    check_leftovers,
    check_mirror,
    check_checkpoint,
    check_texts,
    check_network,
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
    # A name may hold what the terminal cannot show.
    sys.stdout.reconfigure(errors="backslashreplace")
    config, files, first = read_study(ROOT, options.study, options.mirror)
    case = Case(ROOT, options.python, options.venv, environment_fault(options.venv), options.mirror, config, files)
    findings = []
    for finding in itertools.chain([first], examine(case)):
        findings.append(finding)
        if not options.json:
            remedy = f" - {finding.remedy}" if finding.remedy else ""
            print(f"{finding.status:4} {finding.name}: {finding.found}{remedy}", flush=True)
    if options.json:
        print(json.dumps([finding._asdict() for finding in findings], indent=1))
    return int(any(finding.status == "FAIL" for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
