"""Small studies for the tests, and Snakemake run on them in a folder of its own."""

import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

from support import warm

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Every rule for real, in seconds: what it learns does not matter.
TINY = {
    "study": "tiny",
    "data": {
        "n_train": 40,
        "n_valid": 20,
        "embedded": {"n_labelled": 60, "n_test": 30, "n_unlabelled": 300},
    },
    "checkpoint": {
        "sentencepiece": {"vocab_size": 400},
        "architecture": {"layers": 1, "width": 32, "ffn_width": 32, "heads": 2, "max_positions": 64},
        "pretraining": {
            "updates": 12,
            "batch_size": 8,
            "tokens_per_sample": 32,
            "warmup_updates": 2,
            "validate_every": 6,
        },
    },
    "finetuning": {
        "seeds": [1],
        "training": {"epochs": 2, "batch_size": 8},
        "evaluation": {"test_curves": True},
    },
    "qa": {"enabled": False},
}

# The result of `finetuning.protocol.framework_settings` for trainings of a few updates.
FINETUNING = {
    "batch_size": 8,
    "epochs": 2,
    "lr": 1e-3,
    "betas": [0.9, 0.98],
    "eps": 1e-8,
    "weight_decay": 0.01,
    "warmup_ratio": 0.1,
    "clip_norm": 0.0,
    "dropout": 0.1,
    "batching": "length_grouped",
    "precision": "float32",
    "classifier_dropout": 0.0,
    "head_initialisation": "linear",
    "token_types": False,
    "init_seed": None,
    "data_seed": None,
}

# The config section `checkpoint.pretraining`, for a pretraining of a few updates.
PRETRAINING = {
    "updates": 8,
    "validate_every": 2,
    "batch_size": 40,
    "tokens_per_sample": 32,
    "lr": 1e-3,
    "muon_lr": None,
    "warmup_updates": 2,
    "weight_decay": 0.01,
    "mask_prob": 0.2,
    "init_sd": 0.02,
    "position_init": "normal",
    "word_init": "normal",
    "eps": 1e-6,
    "sample_break_mode": "eos",
    "dropout": 0.1,
    "clip_norm": 1.0,
    "precision": "float32",
    "seed": 1,
}


# With these changes of `TINY` the first word vectors are made of the corpus, which is a rule of its own.
FACTORIZED = {"checkpoint": {"pretraining": {"word_init": "cooccurrence"}}}
WORD_VECTORS = "results/tiny/checkpoint/word_vectors.npy"


def every_table():
    """Return changes of `TINY` that ask for every table of recipes and of learning curves: arms beside its own."""
    with open(os.path.join(ROOT, "config.yaml"), encoding="utf-8") as handle:
        arms = yaml.safe_load(handle)["finetuning"]["arms"]
    whole, slow = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}, {"training": {"lr": 1e-4}}
    random, frozen = whole | {"init": "random"}, whole | {"freeze": "encoder"}
    arms |= {"slow": whole | slow, "random": random, "random-slow": random | slow}
    return {
        "finetuning": {"arms": arms | {"frozen": frozen, "frozen-slow": frozen | slow, "few": whole | {"n_train": 20}}}
    }


def published_studies():
    """Return the names of the studies whose reports are published."""
    return sorted(path.parent.name for path in pathlib.Path(ROOT, "published").glob("*/report.html"))


def published(study):
    """Return the folder with a published study's records and tables: unpacked, once a process."""
    # Programs that tests start import this module, and know the folders of tests and scripts only.
    from tools import packs

    return pathlib.Path(packs.opened(os.path.join(ROOT, "published", study)))


def published_files(study):
    """Return the names of a published study's tables, figures and pages, those included that a rebuild makes."""
    folder = os.path.join(ROOT, "published", study)
    from tools import packs

    if packs.is_packed(folder):
        return sorted({*packs.listed(folder), *packs.WRITTEN})
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file())


def merged(base, changes):
    """Return nested dictionaries merged as Snakemake merges config files."""
    result = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def write_study(path, changes=None, base=None):
    """Write a study file: `TINY` (or `base`) with changes; return its path."""
    with open(path, "w", encoding="utf-8") as handle:
        yaml.safe_dump(merged(TINY if base is None else base, changes or {}), handle, allow_unicode=True)
    return str(path)


@functools.cache
def own_mounts():
    """Return (the words before a command that may mount file systems of its own, ''); or (None, why not here)."""
    words = ("unshare", "--map-root-user", "--mount")
    try:
        probe = subprocess.run([*words, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
    except FileNotFoundError:
        return None, "no command unshare"
    return (None, f"no mounts here: {probe.stderr.decode().strip()}") if probe.returncode else (words, "")


@functools.cache
def without_network():
    """Return the words before a command that take every network from it, the loopback too; none where not allowed."""
    for words in (("unshare", "--net"), ("unshare", "--map-root-user", "--net")):
        if (
            shutil.which(words[0])
            and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
        ):
            return words
    return ()


def command(folder, *arguments, study=None, cores=2, profile="none"):
    """Return the command that runs the workflow in a working folder.

    Args:
        folder: where results go.
        arguments: more words for Snakemake.
        study: a study's file, or None: the embedded study.
        cores: for Snakemake.
        profile: name of a folder in profiles/, "none", or None: the default one, which Snakemake finds by itself.
    """
    words = [sys.executable, "-m", "snakemake", "--snakefile", os.path.join(ROOT, "Snakefile")]
    if study:
        words += ["--configfile", str(study)]
    # After it: `--configfile` takes every bare word that follows.
    words += ["--directory", str(folder)]
    if profile in (None, "none"):
        words += ["--cores", str(cores)]
    if profile:
        words += ["--workflow-profile", profile if profile == "none" else os.path.join(ROOT, "profiles", profile)]
    return [*words, *map(str, arguments)]


def warm_command(*arguments, **options):
    """Return `command`'s, forked from a process with the libraries; who kills its process kills its jobs' as well."""
    return [warm.python(), *command(*arguments, **options)[1:]]


def snakemake(folder, *arguments, study=None, cores=2, profile="none", timeout=1500, prefix=(), **options):
    """Run the workflow in a working folder, `prefix` before the command (see `command`).

    Returns:
        subprocess.CompletedProcess: with `output`, stdout and stderr together.
    """
    words = command(folder, *arguments, study=study, cores=cores, profile=profile)
    # Forked from a process with the libraries, unless it is to run apart from this machine in ways of its own.
    if tuple(prefix) in ((), without_network()) and options.keys() <= {"env", "cwd"}:
        words[0] = warm.python()
    done = subprocess.run(
        [*prefix, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
        **options,
    )
    done.output = done.stdout
    return done


def importing(*folders, root=ROOT):
    """Return the environment of a program that imports from folders of a tree; without any, from `scripts`."""
    paths = os.pathsep.join(os.path.join(root, name) for name in folders or ("scripts",))
    return {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}


def watched(folder, places=()):
    """Make a folder for what `watched_jobs` sees; return the environment that has Snakemake's jobs watched.

    Args:
        folder: folder of the changes that jobs make to the study's folder, and of their scripts.
        places: changes, (rule, verb, path), before which a job stops itself.
    """
    os.makedirs(folder)
    with open(os.path.join(folder, "places.json"), "w", encoding="utf-8") as handle:
        json.dump(sorted(places), handle)
    code = os.path.join(ROOT, "tests", "support", "watched_jobs")
    return {**os.environ, "WATCHED_JOBS": str(folder), "PYTHONPATH": code}


def planned(output):
    """Return {rule: jobs} from the job table of a dry run."""
    jobs, inside = {}, False
    for line in output.splitlines():
        words = line.split()
        if words[:2] == ["job", "count"]:
            inside = True
        elif inside and len(words) == 2 and words[1].isdigit():
            if words[0] != "total":
                jobs[words[0]] = int(words[1])
        elif inside and words and not set(line) <= {"-", " "}:
            inside = False
    return jobs


def plan(folder, *arguments, study=None):
    """Return {rule: jobs} that a dry run plans."""
    done = snakemake(folder, "--dry-run", *arguments, study=study)
    assert done.returncode == 0, done.output
    return planned(done.output)


@dataclasses.dataclass(frozen=True)
class Job:
    """A job that a dry run plans: its rule, and the files that it reads and makes."""

    rule: str
    input: tuple[str, ...]
    output: tuple[str, ...]


def planned_jobs(folder, *arguments, study=None):
    """Return a `Job` for each one that a dry run plans."""
    done = snakemake(folder, "--dry-run", *arguments, study=study)
    assert done.returncode == 0, done.output
    blocks = re.split(r"^(?:local)?rule (\w+):$", done.output, flags=re.MULTILINE)[1:]
    return [
        Job(rule, _listed(block, "input"), _listed(block, "output"))
        for rule, block in zip(blocks[::2], blocks[1::2], strict=True)
    ]


def _listed(block, kind):
    """Return the files of a job's line `input:` or `output:`, without the labels that Snakemake adds in brackets."""
    found = re.search(rf"^    {kind}: (.*)$", block, re.MULTILINE)
    return tuple(re.sub(r" \(.*\)$", "", file) for file in found[1].split(", ")) if found else ()


def ancestors(jobs, *files):
    """Return the jobs that making these files takes, those of their inputs too."""
    makers = {file: job for job in jobs for file in job.output}
    found, left = set(), list(files)
    while left:
        job = makers.get(left.pop())
        if job and job not in found:
            found.add(job)
            left += job.input
    return found
