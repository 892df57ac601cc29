"""Call scripts' `main`s in forked children of one process, each killed at the moment that it is told to be.

`run_forked` starts this file as a program, once in a test process, and tells it the folders of runs, each with a JSON
file: a list of {name, script (its module), arguments (of its `main`), folder (to run in, if not that of the runs),
forget (files and folders to remove first), kill}; `<name>.log` gets what the run prints, `<name>.changes` every change
that it makes to its folder, a JSON line each. `kill` is absent or one of

    {"before_step": n}      SIGKILL instead of this process's n-th optimizer step
    {"in_save": n}          SIGKILL in the middle of writing its n-th state
    {"in_checkpoint": n}    SIGKILL when half of its n-th epoch's weights are on disk
    {"before": name}        SIGKILL instead of the call of a function, `module:name`; {"after": name}: once it is done
    {"at_change": n}        SIGKILL before the n-th change to the folder (see `disk_changes`)

One process, because imports are what takes long; children, because fairseq keeps much in globals and a kill must be a
kill.
"""

import functools
import importlib
import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from support.disk_changes import watch
from support.studies import importing


def run_forked(folder, runs):
    """Make runs, one after the other, and assert that each ended as it should: killed, or without an error."""
    for run, status in zip(runs, fork_runs(folder, runs), strict=True):
        log = (folder / f"{run['name']}.log").read_text()
        assert status == (signal.SIGKILL if run.get("kill") else 0), (run["name"], log[-3000:])


def fork_runs(folder, runs, timeout=500):
    """Make runs, one after the other; return the wait status of each."""
    (folder / "runs.json").write_text(json.dumps(runs))
    parent = parent_of_runs()
    parent.stdin.write(f"{json.dumps(str(folder))}\n")
    parent.stdin.flush()
    told, _, _ = select.select([parent.stdout], [], [], timeout)
    answer = parent.stdout.readline() if told else ""
    if not answer:
        parent_of_runs.cache_clear()
        parent.kill()
        parent.wait()
        parent.said.seek(0)
        raise AssertionError(parent.said.read() if told else f"{folder}: still at it after {timeout} s")
    return json.loads(answer)


@functools.cache
def parent_of_runs():
    """Start the program that imports scripts and forks runs; it ends with this process."""
    environment = importing("scripts", "tests", "")
    said = tempfile.TemporaryFile("w+")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": said, "text": True}
    parent = subprocess.Popen([sys.executable, __file__], env=environment, **pipes)
    parent.said = said
    return parent


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def counted(n, function, instead):
    """Return a function that calls `function`, the n-th time `instead`."""
    calls = []

    def call(*args, **kwargs):
        calls.append(1)
        return (instead if len(calls) == n else function)(*args, **kwargs)

    return call


def torn(save):
    """Return a `torch.save` that writes half of what it should and dies."""

    def write(content, handle, **kwargs):
        whole = io.BytesIO()
        save(content, whole, **kwargs)
        handle.write(whole.getvalue()[: whole.tell() // 2])
        handle.flush()
        die()

    return write


def arm(script, kill):
    """Patch what the kill waits for."""
    if name := kill.get("before") or kill.get("after"):
        module, _, attribute = name.partition(":")
        function = getattr(importlib.import_module(module), attribute)

        def call(*args, **kwargs):
            if "after" in kill:
                function(*args, **kwargs)
            die()

        setattr(importlib.import_module(module), attribute, call)
        return
    if "before_step" in kill:
        torch.optim.AdamW.step = counted(kill["before_step"], torch.optim.AdamW.step, die_anyhow)
        return
    save, n = torch.save, kill.get("in_save") or kill.get("in_checkpoint")
    if "in_checkpoint" in kill and script.__name__ == "frameworks.huggingface.train":
        trainer = importlib.import_module("frameworks.huggingface.study_trainer").StudyTrainer

        def half(self, *args):
            write(self, *args)
            path = os.path.join(self.tuning.place("checkpoints"), f"epoch{len(self.records)}", "model.safetensors")
            os.truncate(path, os.path.getsize(path) // 2)
            die()

        write = trainer._save_checkpoint
        method = counted(n, write, half)
        trainer._save_checkpoint = lambda self, *args: method(self, *args)
        return
    state, other = counted(n, save, torn(save)), counted(n, save, torn(save))
    if "in_save" in kill:
        torch.save = lambda content, *args, **kwargs: (state if "files" in content else save)(content, *args, **kwargs)
    else:
        torch.save = lambda content, *args, **kwargs: (save if "files" in content else other)(content, *args, **kwargs)


def die_anyhow(*args, **kwargs):
    die()


def record_changes(descriptor, last):
    """Write every change of this process to its folder as a JSON line {verb, path, updates}, and die at the last."""
    made, step = {"updates": 0, "changes": 0}, torch.optim.AdamW.step

    def counted_step(*args, **kwargs):
        made["updates"] += 1
        return step(*args, **kwargs)

    def act(verb, path):
        made["changes"] += 1
        line = json.dumps({"verb": verb, "path": path, "updates": made["updates"]})
        os.write(descriptor, f"{line}\n".encode())
        if made["changes"] == last:
            die()

    torch.optim.AdamW.step = counted_step
    watch(".", act)


def child(script, run):
    """Run in a child and return its wait status."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    log = os.open(f"{run['name']}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    changes = os.open(f"{run['name']}.changes", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.chdir(run.get("folder") or ".")
    for name in run.get("forget", ()):
        shutil.rmtree(name) if os.path.isdir(name) else Path(name).unlink(missing_ok=True)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout.reconfigure(line_buffering=True)  # as in a rule's script: a kill loses no line
    status = 1
    try:
        kill = run.get("kill") or {}
        record_changes(changes, kill.get("at_change"))
        if kill and "at_change" not in kill:
            arm(script, kill)
        script.main(**run["arguments"])
        status = 0
    except BaseException:  # noqa: BLE001 - told by the status
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def run_all(folder):
    """Run what the JSON file in a folder asks for; return the wait statuses."""
    os.chdir(folder)
    with open("runs.json", encoding="utf-8") as handle:
        todo = json.load(handle)
    scripts = [importlib.import_module(run["script"]) for run in todo]
    if "training.fairseq_commands" in sys.modules:
        sys.modules["training.fairseq_commands"].import_fairseq()
        importlib.import_module("training.fairseq_plugin")
        importlib.import_module("fairseq_cli.train")
    # PyTorch imports it, which takes a second or two, with the first optimizer.
    importlib.import_module("torch._dynamo")
    return [child(script, run) for script, run in zip(scripts, todo, strict=True)]


if __name__ == "__main__":
    torch.set_num_threads(1)
    for line in sys.stdin:
        print(json.dumps(run_all(json.loads(line))), flush=True)
