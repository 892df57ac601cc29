"""Small studies for the tests, and Snakemake run on them in a folder of its own."""

import functools
import os
import shutil
import subprocess
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

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
    "sentiment": {
        "seeds": [1],
        "finetuning": {"epochs": 2, "batch_size": 8},
        "evaluation": {"test_curves": True},
    },
    "qa": {"enabled": False},
}

# What `common.protocol.framework_settings` returns, for trainings of a few updates.
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
def without_network():
    """Return the words before a command that take every network from it, the loopback too; none where not allowed."""
    for words in (("unshare", "--net"), ("unshare", "--map-root-user", "--net")):
        if (
            shutil.which(words[0])
            and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
        ):
            return words
    return ()


def snakemake(folder, *arguments, study=None, cores=2, timeout=1500, prefix=()):
    """Run the workflow in a working folder, `prefix` before the command.

    Returns:
        subprocess.CompletedProcess: with `output`, stdout and stderr together.
    """
    command = [*prefix, sys.executable, "-m", "snakemake", "--snakefile", os.path.join(ROOT, "Snakefile")]
    if study:
        command += ["--configfile", str(study)]
    # After it: `--configfile` takes every bare word that follows.
    command += ["--directory", str(folder), "--cores", str(cores), "--workflow-profile", "none"]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    done.output = done.stdout
    return done


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
