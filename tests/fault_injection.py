"""Kill the workflow at random moments, run it again plainly, and compare what comes out with an undisturbed run's.

    python tests/fault_injection.py --study studies/open.yaml --kills 20 --seed 1

Both runs have a folder of their own. The moments are spread evenly over the undisturbed run's duration. A kill is
SIGKILL to every process of the workflow; then the same command is given again, nothing else.

Compared byte for byte: every prediction, table, figure, the report and the records. The readings of clocks and of
memory cannot agree (`CLOCKS` in run.json, the benchmarks, what the tables and the page show of them): so the
records of the runs are compared without them, the undisturbed run's readings are put into their place, and the
disturbed study makes its tables and its report from them.
"""

import argparse
import dataclasses
import filecmp
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import psutil
import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What a run's record holds of its own course, and not of its result.
CLOCKS = re.compile(r"started|ended|seconds|train_seconds|resumed_\w+")
# What is not compared: how things went (logs, times), event files (they hold times and host), the saved
# states, the checkpoints of fairseq (they hold times and paths; the predictions come from them) and Snakemake's own
# files.
NOT_COMPARED = re.compile(
    r"(logs|benchmarks|state)/|(^|.*/)(tensorboard/|\.)|.*/(checkpoints|selected)/checkpoint\d+\.pt$|.*\.log$"
)
STEPS = re.compile(rb"^(\d+) of (\d+) steps \(", re.MULTILINE)


class Failed(Exception):
    """The workflow did not survive; the message says how."""


@dataclasses.dataclass
class Kill:
    """A moment: `after` seconds from when no more than `left` jobs were left; `early`: while Snakemake still plans."""

    left: int
    after: float
    early: bool


def command(study, folder, cores):
    """Return the plain command, its profile included, as a user gives it."""
    words = [sys.executable, "-m", "snakemake", "--snakefile", os.path.join(ROOT, "Snakefile"), "--cores", str(cores)]
    return [*words, "--directory", folder, *(["--configfile", study] if study else [])]


class Workflow:
    """A running workflow in a process group of its own, and what its output says of its progress."""

    def __init__(self, words, log):
        self.log = log
        with open(log, "wb") as handle:
            self.process = subprocess.Popen(words, stdout=handle, stderr=handle, start_new_session=True)
        self.started = time.monotonic()

    def output(self):
        """Return what it said so far, in bytes."""
        with open(self.log, "rb") as handle:
            return handle.read()

    def left(self):
        """Return how many jobs are left, or None before the first has begun."""
        output = self.output()
        if steps := STEPS.findall(output):
            return int(steps[-1][1]) - int(steps[-1][0])
        total = re.search(rb"^total +(\d+)$", output, re.MULTILINE)
        return int(total[1]) if total and b"Select jobs to execute" in output else None

    def wait_until(self, condition):
        """Wait for a condition; return whether it came true while the workflow ran."""
        while self.process.poll() is None:
            if condition():
                return True
            time.sleep(0.05)
        return False

    def kill(self):
        """Kill every process of the workflow, those with a session of their own as well."""
        try:
            main = psutil.Process(self.process.pid)
            # Stopped, it starts nothing more while its descendants are listed.
            main.suspend()
            family = [main, *main.children(recursive=True)]
        except psutil.NoSuchProcess:
            family = []
        for process in family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        psutil.wait_procs([process for process in family if process.pid != self.process.pid], timeout=30)

    def finish(self):
        """Wait for its end.

        Raises:
            Failed: it did not end well.
        """
        if self.process.wait() != 0:
            raise Failed(f"the workflow failed:\n{self.output().decode(errors='replace')[-4000:]}")


def undisturbed(words, log):
    """Run the workflow to its end; return its time line: (seconds since the start, jobs left) at every change."""
    workflow, line = Workflow(words, log), []

    def look():
        left = workflow.left()
        if left is not None and (not line or line[-1][1] != left):
            line.append((time.monotonic() - workflow.started, left))
        return False

    workflow.wait_until(look)
    workflow.finish()
    if not line:
        raise Failed(f"the workflow had nothing to do: give it an empty folder\n{workflow.output().decode()[-2000:]}")
    line.append((time.monotonic() - workflow.started, 0))
    return line


def draw_kills(line, n, generator):
    """Return `n` moments, drawn evenly over the duration of an undisturbed run.

    A moment is remembered by the progress that the undisturbed run had made: a restarted workflow reaches it later.
    """
    begin, end = line[0][0], line[-1][0]
    kills, before = [], (None, 0.0)
    for moment in sorted(generator.uniform(0, end) for _ in range(n)):
        if moment < begin:
            kills.append(Kill(line[0][1], moment, early=True))
            continue
        reached, left = max(point for point in line if point[0] <= moment)
        after = moment - reached
        # Within one stretch the workflow has come to the former moment's place, if its jobs resume.
        kills.append(Kill(left, after - before[1] if before[0] == left else after, early=False))
        before = (left, after)
    return kills


def disturbed(words, log, kills):
    """Run the workflow again and again, killing it at the given moments, then to its end; return the kills made."""
    made = 0
    for number, kill in enumerate(kills, start=1):
        workflow = Workflow(words, f"{log}.{number}")
        reached = kill.early or workflow.wait_until(
            lambda kill=kill, workflow=workflow: (left := workflow.left()) is not None and left <= kill.left
        )
        began = time.monotonic()
        if reached and workflow.wait_until(lambda began=began, kill=kill: time.monotonic() - began >= kill.after):
            left = workflow.left()
            workflow.kill()
            made += 1
            print(
                f"kill {made}: {time.monotonic() - workflow.started:.1f} s after a start, {left} jobs left", flush=True
            )
        else:
            workflow.finish()
            break
    workflow = Workflow(words, f"{log}.last")
    workflow.finish()
    return made


def compared(results):
    """Return {path inside the results: path} of the files that are compared byte for byte."""
    found = {}
    for parent, folders, files in os.walk(results):
        folders.sort()
        for name in files:
            path = os.path.join(parent, name)
            inside = os.path.relpath(path, results)
            if not NOT_COMPARED.match(inside):
                found[inside] = path
    return found


def differences(first, second):
    """Return what differs between two results folders, one line a file."""
    one, other = compared(first), compared(second)
    lines = [f"{name}: only in {first if name in one else second}" for name in sorted(one.keys() ^ other.keys())]
    for name in sorted(one.keys() & other.keys()):
        if not filecmp.cmp(one[name], other[name], shallow=False):
            lines.append(f"{name}: differs")
    return lines


def take_clocks(reference, results):
    """Put the reference's readings of clocks and memory into another study's records.

    Raises:
        Failed: the records differ in more than those.
    """
    for name, path in compared(results).items():
        if os.path.basename(name) != "run.json":
            continue
        records = []
        for place in (os.path.join(reference, name), path):
            with open(place, encoding="utf-8") as handle:
                records.append(json.load(handle))
        bare = [{key: value for key, value in record.items() if not CLOCKS.fullmatch(key)} for record in records]
        if bare[0] != bare[1]:
            keys = [key for key in bare[0].keys() | bare[1].keys() if bare[0].get(key) != bare[1].get(key)]
            raise Failed(f"{name}: the records differ in {', '.join(sorted(keys))}")
        shutil.copyfile(os.path.join(reference, name), path)
    # With a new time stamp: Snakemake takes benchmarks for outputs, and these must not look older than the inputs.
    folders = [os.path.join(place, "benchmarks") for place in (reference, results)]
    shutil.copytree(*folders, copy_function=shutil.copyfile, dirs_exist_ok=True)


def survive(study, kills, seed, cores, folder):
    """Run a study undisturbed and disturbed; return the number of kills.

    Args:
        study: a study's file, or None: the embedded study.
        kills: how many moments to draw.
        seed: of the draw.
        cores: for Snakemake.
        folder: an empty folder to work in.

    Raises:
        Failed: a run after a kill failed, something was left to do, or the results differ.
    """
    study = study and os.path.abspath(study)
    with open(study or os.path.join(ROOT, "config.yaml"), encoding="utf-8") as handle:
        name = yaml.safe_load(handle)["study"]
    places = {kind: os.path.join(folder, kind) for kind in ("undisturbed", "disturbed")}
    results = {kind: os.path.join(place, "results", name) for kind, place in places.items()}
    for place in places.values():
        os.makedirs(place, exist_ok=True)

    line = undisturbed(command(study, places["undisturbed"], cores), os.path.join(folder, "undisturbed.log"))
    print(f"undisturbed: {line[-1][0]:.0f} s, {line[0][1]} jobs", flush=True)
    words = command(study, places["disturbed"], cores)
    log = os.path.join(folder, "disturbed.log")
    made = disturbed(words, log, draw_kills(line, kills, random.Random(seed)))

    left = [
        os.path.join(parent, entry)
        for parent, folders, files in os.walk(results["disturbed"])
        for entry in folders + files
        if entry.startswith((".part-", ".run-"))
    ]
    if left:
        raise Failed(f"temporary files of killed jobs were left: {', '.join(left)}")
    # Before any clock is touched: the predictions as they came.
    early = re.compile(r"predictions/|checkpoint/|qa/.*generations")
    told = [line for line in differences(*results.values()) if early.match(line)]
    take_clocks(results["undisturbed"], results["disturbed"])
    # The undisturbed run's readings are in its tables already; only the other's have to be made again.
    again = subprocess.run(
        [*words, "--forcerun", "aggregate_runs", "record_provenance", "build_report"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if again.returncode != 0:
        raise Failed(f"the tables could not be made again:\n{again.stdout[-4000:]}")
    # The answers are made again because the record that they name was just replaced.
    pattern = r"^(?:local)?rule (finetune_\w+|pretrain|evaluate_(?!qa:)\w+):"
    if trained := re.findall(pattern, again.stdout, re.MULTILINE):
        raise Failed(f"after the last run there was still something to train: {', '.join(trained)}")
    if told := told or differences(*results.values()):
        raise Failed("after the kills these differ from the undisturbed run:\n" + "\n".join(told))
    print(
        f"{made} kills; {len(compared(results['disturbed']))} files, report.html and runs.tsv among them, are the same"
    )
    return made


def main():
    """Read the command line, run, and say the outcome in the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--study", help="a study's file; without it the embedded study")
    parser.add_argument("--kills", type=int, default=20, help="moments to kill at (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: %(default)s)")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="for Snakemake (default: %(default)s)")
    parser.add_argument("--folder", help="empty folder to work in, and to keep; without it a temporary one")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="fault-injection-")
    try:
        made = survive(options.study, options.kills, options.seed, options.cores, folder)
    except Failed as failure:
        sys.exit(f"fault injection: {failure}\nEverything lies in {folder}")
    if not options.folder:
        shutil.rmtree(folder)
    if made < options.kills:
        sys.exit(
            f"fault injection: the study was done after {made} of {options.kills} kills: draw fewer, or other ones"
        )


if __name__ == "__main__":
    main()
