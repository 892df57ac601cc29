"""Time what the workflow costs beside the work: planning, a run with nothing to do, the report made again.

Plans are dry runs of the embedded study with 3, 100, 1 000 (and with --long 10 000) seeds in an empty folder. Each is
compared with what Snakemake alone needs to plan as many trivial jobs: chains of three rules that `touch` a file. The
other two need a finished study, which `make report` makes, and are compared with Snakemake saying its version, which
is what starting it costs. Times are seconds of this machine; the aims are ratios, or seconds where there is none.
"""

import argparse
import functools
import os
import subprocess
import sys
import tempfile
import time

import yaml

from common.files import write_tsv
from common.machine import machine

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SNAKEMAKE = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "snakemake")
COLUMNS = ("what", "seconds", "snakemake_seconds", "ratio", "aim")
# Three jobs a chain, as a study has for each run.
TRIVIAL = """
rule all:
    input: expand("c/{i}", i=range(int(config["chains"])))
rule first:
    output: "a/{i}"
    shell: "touch {output}"
rule second:
    input: "a/{i}"
    output: "b/{i}"
    shell: "touch {output}"
rule third:
    input: "b/{i}"
    output: "c/{i}"
    shell: "touch {output}"
"""
N_ARMS = 3  # of the embedded study
# {seeds: aim}; 3 333 seeds of three arms are 10 000 runs.
AIMS = {1000: "at most 1.5 x", 3333: "below 60 s"}
# Half of the time on two cores, from a nearby index, before fairseq was built beside the rest.
AIM_OF_INSTALLATION = "at most 125 s"


def seconds(command, folder=ROOT):
    """Return how long a command takes.

    Raises:
        SystemExit: it failed; its output is shown.
    """
    started = time.monotonic()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout[-2000:]}\noverhead: {' '.join(command)} ended with {done.returncode}")
    return time.monotonic() - started


def plan(n_seeds):
    """Return the time of a dry run of the embedded study with that many seeds and nothing made yet."""
    with tempfile.TemporaryDirectory() as folder:
        overlay = os.path.join(folder, "seeds.yaml")
        with open(overlay, "w", encoding="utf-8") as handle:
            yaml.safe_dump({"study": "plan", "finetuning": {"seeds": list(range(1, n_seeds + 1))}}, handle)
        command = [SNAKEMAKE, "--snakefile", os.path.join(ROOT, "Snakefile"), "--directory", folder, "--cores", "2"]
        return seconds([*command, "--configfile", overlay, "--dry-run", "--quiet", "all"])


def plan_trivial(n_chains):
    """Return the time of a dry run of three trivial jobs for each of so many chains."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "Snakefile"), "w", encoding="utf-8") as handle:
            handle.write(TRIVIAL)
        command = [SNAKEMAKE, "--cores", "2", "--config", f"chains={n_chains}", "--dry-run", "--quiet", "all"]
        return seconds(command, folder)


def install():
    """Return the time of `make test-env` in a new environment, with no cache of pip's."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["make", "test-env", f"VENV={folder}/venv", f"PYTHON={sys.executable}", "ARGS="]
        return seconds(["env", "PIP_NO_CACHE_DIR=1", *command])


def parts(long, finished, installation):
    """Yield what is timed: its name, a call that times it, one that times Snakemake alone or None, and the aim.

    Args:
        long: whether 10 000 runs and 10 000 seeds are planned, too.
        finished: whether the embedded study is.
        installation: whether that is timed.
    """

    def start():
        return seconds([SNAKEMAKE, "--version"])

    if installation:
        yield "make test-env, empty caches", install, None, AIM_OF_INSTALLATION
    if finished:
        yield "run with nothing to do", lambda: seconds([SNAKEMAKE, "--cores", "2"]), start, ""
        # ARGS, given to the `make` that runs this, would reach this one too.
        regenerate = ["make", "regenerate", f"VENV={os.path.dirname(os.path.dirname(SNAKEMAKE))}", "ARGS="]
        yield "make regenerate", lambda: seconds(regenerate), start, ""
    for n_seeds in (3, 100, 1000, *([3333, 10_000] if long else [])):
        yield (
            f"plan {n_seeds} seeds, {N_ARMS * n_seeds} runs",
            functools.partial(plan, n_seeds),
            functools.partial(plan_trivial, N_ARMS * n_seeds),
            AIMS.get(n_seeds, ""),
        )


def main(arguments=None):
    """Print the table and write it to `results/overhead.tsv`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="also plan 3 333 seeds (10 000 runs) and 10 000 seeds")
    parser.add_argument("--install", action="store_true", help="also install everything anew, from the package index")
    options = parser.parse_args(arguments)
    finished = os.path.exists(os.path.join(ROOT, "results", "embedded", "report.html"))
    if not finished:
        print(
            "overhead: no results/embedded/report.html: `make report` first, to time a run with nothing to do",
            file=sys.stderr,
        )
    rows = []
    for what, measure, alone, aim in parts(options.long, finished, options.install):
        took, base = measure(), alone and alone()
        rows.append(
            {"what": what, "seconds": took, "snakemake_seconds": base, "ratio": base and took / base, "aim": aim}
        )
        compared = f"Snakemake alone {base:7.1f} s   {took / base:6.2f} x" if base else " " * 37
        print(f"{what:<30} {took:8.1f} s   {compared}   {aim}", flush=True)
    write_tsv(os.path.join(ROOT, "results", "overhead.tsv"), rows, COLUMNS)
    print(f"{machine()['cores']} cores of {machine()['cpu']}")


if __name__ == "__main__":
    main()
