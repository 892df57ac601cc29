"""Fine-tune in forked children of one process, each killed at the moment that it is told to be.

Run as a program in the folder of the runs, with the script's name and a JSON file: a list of {name, arguments (of the
script's `main`), kill}. `kill` is null or one of

    {"before_step": n}      SIGKILL instead of this process's n-th optimizer step
    {"in_save": n}          SIGKILL in the middle of writing its n-th state
    {"in_checkpoint": n}    SIGKILL when half of its n-th epoch's weights are on disk

It prints a JSON list of the children's wait statuses. One process, because imports are what takes long; children,
because fairseq keeps much in globals and a kill must be a kill.
"""

import importlib
import io
import json
import os
import signal
import sys

import torch


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
    if "before_step" in kill:
        torch.optim.AdamW.step = counted(kill["before_step"], torch.optim.AdamW.step, die_anyhow)
        return
    save, n = torch.save, kill.get("in_save") or kill.get("in_checkpoint")
    if "in_checkpoint" in kill and script.__name__ == "finetune_huggingface":
        trainer = script.StudyTrainer

        def half(self, *args):
            write(self, *args)
            path = os.path.join(self.checkpoints, f"epoch{len(self.records)}", "model.safetensors")
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


def child(script, run):
    """Run in a child and return its wait status."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    log = os.open(f"{run['name']}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.stdout.reconfigure(line_buffering=True)  # as in a rule's script: a kill loses no line
    status = 1
    try:
        if run["kill"]:
            arm(script, run["kill"])
        script.main(**run["arguments"])
        status = 0
    except BaseException:  # noqa: BLE001 - told by the status
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    torch.set_num_threads(1)
    module = importlib.import_module(sys.argv[1])
    if sys.argv[1] == "finetune_fairseq":
        module.import_fairseq()
        importlib.import_module("fairseq_plugin")
        importlib.import_module("fairseq_cli.train")
    with open(sys.argv[2], encoding="utf-8") as handle:
        todo = json.load(handle)
    statuses = [child(importlib.import_module(run.get("script", sys.argv[1])), run) for run in todo]
    print(json.dumps(statuses))
