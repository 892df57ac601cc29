"""Kill the workflow at boundaries and at random moments, and compare what comes out with an undisturbed run's.

    make test-faults STUDY=studies/open.yaml ARGS="--kills 20 --boundaries 24 --seed 1"

Both runs have a folder of their own. Random moments are spread evenly over the undisturbed run's duration. A boundary
is a change to the study's folder (see `disk_changes`), as a job of the undisturbed run made it: jobs that train are
killed before their first and last kind of change, and before others between. A kill is SIGKILL to every process of the
workflow; then the same command is given again, nothing else.

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

from support import studies

# Keys of a run's record that describe its course, not its result.
CLOCKS = re.compile(r"started|ended|(train_|update_)?seconds|resumed_\w+")
# These are not compared: how things went (logs, times), event files (they hold times and host), the saved
# states, the checkpoints of fairseq (they hold times and paths; the predictions come from them) and Snakemake's own
# files.
NOT_COMPARED = re.compile(
    r"(logs|benchmarks|state)/|(^|.*/)(tensorboard/|\.)|.*/(checkpoints|selected)/checkpoint\d+\.pt$|.*\.log$"
)
# The jobs that go on from a state, and the one that trains without.
TRAINING = ("pretrain", "finetune_fairseq", "finetune_huggingface", "finetune_lora", "build_qa_base_model")
STEPS = re.compile(rb"^(\d+) of (\d+) steps \(", re.MULTILINE)


class Failed(Exception):
    """The workflow did not survive; the message says how."""


@dataclasses.dataclass
class Kill:
    """A moment: `after` seconds from when no more than `left` jobs were left; `early`: while Snakemake still plans."""

    left: int
    after: float
    early: bool


class Workflow:
    """A running workflow in a process group of its own, and what its output says of its progress."""

    def __init__(self, words, log, places=None):
        """Start it.

        Args:
            words: the command.
            log: file for its output.
            places: changes that its jobs stop before; None: they are not watched.
        """
        self.log, self.changes = log, f"{log}-changes"
        environment = None if places is None else studies.watched(self.changes, places)
        with open(log, "wb") as handle:
            self.process = subprocess.Popen(
                words, stdout=handle, stderr=handle, start_new_session=True, env=environment
            )
        self.started = time.monotonic()

    def halted(self):
        """Return the change, (rule, verb, path), that a job waits before to be killed, or None."""
        path = os.path.join(self.changes, "halted")
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as handle:
            line = handle.readline()
        return tuple(json.loads(line)[1:]) if line.endswith("\n") else None

    def at_work(self):
        """Return the names of the rules whose scripts run."""
        try:
            family = psutil.Process(self.process.pid).children(recursive=True)
            words = [word for process in family for word in process.cmdline()]
        except psutil.NoSuchProcess:
            return []
        return sorted(set(re.findall(r"/scripts/tmp\w+\.(\w+)\.py", " ".join(words))))

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
    """Run the workflow to its end.

    Returns:
        tuple: its time line, (seconds since the start, jobs left) at every change; the changes that its jobs made.
    """
    workflow, line = Workflow(words, log, places=()), []

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
    return line, watched_changes(workflow.changes)


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


def watched_changes(folder):
    """Return the changes that watched jobs made, in order: (time, rule, verb, path inside `results`)."""
    found = []
    for name in os.listdir(folder):
        if name not in ("places.json", "halted") and not name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8") as handle:
                found += [tuple(json.loads(line)) for line in handle]
    return sorted(found)


def draw_boundaries(changes, n):
    """Return `n` changes to kill before, or fewer where there are no more kinds.

    Each of the rules that train gets as many; of a rule's kinds of change (numbers and seeds left out) the first and
    the last one and others evenly between, and of each kind the first change.
    """
    kinds = {rule: {} for rule in TRAINING}
    for _, rule, verb, path in changes:
        if rule in kinds and "/logs/" not in path:
            kinds[rule].setdefault((verb, re.sub(r"\d+", "#", path)), (rule, verb, path))
    places, left = [], n
    rules = sorted((rule for rule in kinds if kinds[rule]), key=lambda rule: len(kinds[rule]))
    for number, rule in enumerate(rules):
        found = list(kinds[rule].values())
        share = min(len(found), left // (len(rules) - number))
        places += [found[i * (len(found) - 1) // max(1, share - 1)] for i in range(share)]
        left -= share
    return places


def disturbed(words, log, kills, places):
    """Run the workflow again and again, killing it at the given moments and boundaries, then to its end.

    Args:
        words: the command.
        log: path that the logs' names begin with.
        kills: list of `Kill`, in their order.
        places: changes to kill before, whichever comes first.

    Returns:
        list[tuple]: of each kill made: "random" or "boundary", jobs left, where it fell.
    """
    made, kills, places = [], list(kills), set(places)
    while kills or places:
        workflow = Workflow(words, f"{log}.{len(made) + 1}", places)
        reached = [workflow.started] if kills and kills[0].early else []

        def due(workflow=workflow, reached=reached):
            """At a boundary, or at the moment of the next random kill, or when a job has ended after it."""
            if workflow.halted():
                return True
            left = workflow.left()
            if not kills or (left is None and not kills[0].early):
                return False
            if not kills[0].early and left < kills[0].left:
                return True
            if not reached and left <= kills[0].left:
                reached.append(time.monotonic())
            return bool(reached) and time.monotonic() - reached[0] >= kills[0].after

        if not workflow.wait_until(due):
            workflow.finish()
            break
        place, left = workflow.halted(), workflow.left()
        if place:
            places.discard(place)
            made.append(("boundary", left, f"{place[0]}, before it would {place[1]} {place[2]}"))
        else:
            kills.pop(0)
            at_work = ", ".join(workflow.at_work()) or "Snakemake alone"
            seconds = time.monotonic() - workflow.started
            made.append(("random", left, f"{at_work}, {seconds:.1f} s after a start"))
        workflow.kill()
        print(f"kill {len(made)}: {made[-1][0]}, {left} jobs left: {made[-1][2]}", flush=True)
    Workflow(words, f"{log}.last").finish()
    for place in sorted(places):
        print(f"not reached: {' '.join(place)}")
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


def leftovers(results):
    """Return the temporary files and folders of jobs that lie in a results folder."""
    return [
        os.path.join(parent, entry)
        for parent, folders, files in os.walk(results)
        for entry in folders + files
        if entry.startswith((".part-", ".run-"))
    ]


def survive(study, kills, seed, cores, folder, boundaries=0):
    """Run a study undisturbed and disturbed; return the kills made (see `disturbed`).

    Args:
        study: a study's file, or None: the embedded study.
        kills: how many moments to draw.
        seed: seed of the draw.
        cores: for Snakemake.
        folder: an empty folder to work in.
        boundaries: how many changes to kill before.

    Raises:
        Failed: a run after a kill failed, something was left to do, or the results differ.
    """
    study = study and os.path.abspath(study)
    with open(study or os.path.join(studies.ROOT, "config.yaml"), encoding="utf-8") as handle:
        name = yaml.safe_load(handle)["study"]
    places = {kind: os.path.join(folder, kind) for kind in ("undisturbed", "disturbed")}
    results = {kind: os.path.join(place, "results", name) for kind, place in places.items()}
    for place in places.values():
        os.makedirs(place, exist_ok=True)

    log = os.path.join(folder, "undisturbed.log")
    words = studies.command(places["undisturbed"], study=study, cores=cores, profile=None)
    line, changes = undisturbed(words, log)
    print(f"undisturbed: {line[-1][0]:.0f} s, {line[0][1]} jobs", flush=True)
    words = studies.command(places["disturbed"], study=study, cores=cores, profile=None)
    log = os.path.join(folder, "disturbed.log")
    moments = draw_kills(line, kills, random.Random(seed))
    made = disturbed(words, log, moments, draw_boundaries(changes, boundaries))

    if left := leftovers(results["disturbed"]):
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
    n_files = len(compared(results["disturbed"]))
    print(f"{len(made)} kills; {n_files} files, report.html and runs.tsv among them, are the same")
    return made


def main():
    """Read the command line, run, and say the outcome in the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--study", help="a study's file; without it the embedded study")
    parser.add_argument("--kills", type=int, default=20, help="moments to kill at (default: %(default)s)")
    parser.add_argument("--boundaries", type=int, default=24, help="changes to kill before (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: %(default)s)")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="for Snakemake (default: %(default)s)")
    parser.add_argument("--folder", help="empty folder to work in, and to keep; without it a temporary one")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="fault-injection-")
    try:
        made = survive(options.study, options.kills, options.seed, options.cores, folder, options.boundaries)
    except Failed as failure:
        sys.exit(f"fault injection: {failure}\nEverything lies in {folder}")
    if not options.folder:
        shutil.rmtree(folder)
    for number, (kind, left, place) in enumerate(made, start=1):
        print(f"{number}\t{kind}\t{left}\t{place}")
    if len(made) < options.kills + options.boundaries:
        wanted = options.kills + options.boundaries
        sys.exit(f"fault injection: the study was done after {len(made)} of {wanted} kills: draw fewer, or other ones")


if __name__ == "__main__":
    main()
