"""Time what the workflow costs beside the work: planning, a run with nothing to do, the report made again.

Plans are dry runs of the embedded study with 3, 100, 1 000 (and with --long 10 000) seeds in an empty folder. The
other two need a finished study: `make report` makes the embedded one. Times are seconds of this machine; the last
column is the ratio to Snakemake saying its version, which is what starting Snakemake costs.
"""

import argparse
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
COLUMNS = ("what", "seconds", "ratio")


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


def main(arguments=None):
    """Print the table and write it to `results/overhead.tsv`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="also plan 10 000 seeds")
    options = parser.parse_args(arguments)
    parts = [("snakemake --version", seconds, [SNAKEMAKE, "--version"])]
    if os.path.exists(os.path.join(ROOT, "results", "embedded", "report.html")):
        # ARGS, given to the `make` that runs this, would reach this one too.
        regenerate = ["make", "regenerate", f"VENV={os.path.dirname(os.path.dirname(SNAKEMAKE))}", "ARGS="]
        parts += [
            ("run with nothing to do", seconds, [SNAKEMAKE, "--cores", "2"]),
            ("make regenerate", seconds, regenerate),
        ]
    else:
        print(
            "overhead: no results/embedded/report.html: `make report` first, to time a run with nothing to do",
            file=sys.stderr,
        )
    sizes = (3, 100, 1000, *([10_000] if options.long else []))
    parts += [(f"plan {n} seeds", plan, n) for n in sizes]
    rows = []
    for what, measure, argument in parts:
        rows.append({"what": what, "seconds": measure(argument)})
        rows[-1]["ratio"] = rows[-1]["seconds"] / rows[0]["seconds"]
        print(f"{what:<26} {rows[-1]['seconds']:8.1f} s   {rows[-1]['ratio']:6.1f} x", flush=True)
    write_tsv(os.path.join(ROOT, "results", "overhead.tsv"), rows, COLUMNS)
    print(f"{machine()['cores']} cores of {machine()['cpu']}")


if __name__ == "__main__":
    main()
