"""Run an arm's commands in a folder that holds what they may see: the texts, and no label of test."""

import contextlib
import ctypes
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile

import tasks
from common.errors import StudyError
from common.files import sha256
from data.reviews import BETWEEN
from frameworks.command import is_path

# Characters of a version's output that are recorded.
VERSION = 20_000
# prctl(2): the signal that a process gets when its parent dies.
DEATH_SIGNAL = 1


@contextlib.contextmanager
def workplace():
    """Yield an empty folder, far from the study's results, that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="arm-", ignore_cleanup_errors=True) as folder:
        yield folder


def write_texts(path, texts, labels=None, classes=None, task=tasks.DEFAULT):
    """Write texts as JSON Lines: id (from 0), text, of pairs second, and label where labels are given.

    Args:
        path: to write.
        texts: of a split.
        labels: as `tasks` has them, or None.
        classes: names of the classes in order.
        task: kind of the labels.
    """
    with open(path, "w", encoding="utf-8") as handle:
        for place, text in enumerate(texts):
            first, pair, second = text.partition(BETWEEN)
            row = {"id": place, "text": first} | ({"second": second} if pair else {})
            if labels is not None:
                row["label"] = tasks.load(task).shown(labels[place], classes)
            handle.write(json.dumps(row, ensure_ascii=False) + "\n")


def filled(command, values):
    """Return the words of a command with its placeholders filled in, each within its word: no shell reads them.

    Words that name a file or folder of the study become whole paths, since the command runs in a folder of its own.
    """

    def value(match):
        return {"{{": "{", "}}": "}"}.get(match[0]) or str(values[match[1]])

    found = []
    for word in shlex.split(command):
        if is_path(word):
            word = os.path.abspath(word)
        found.append(re.sub(r"\{\{|\}\}|\{(\w+)\}", value, word))
    return found


def execute(name, command, values, folder, hours, threads, output=None):
    """Run a command to its end; its output goes to the job's log.

    Args:
        name: what the settings call it: train, predict, version.
        command: as the settings have it.
        values: {placeholder: value}.
        folder: its working folder.
        hours: after which it is stopped, with all that it started.
        threads: CPU threads, for libraries that ask the environment.
        output: file of its standard output; None: the job's.

    Raises:
        StudyError: it cannot be started, fails, or takes too long.
    """
    asked = filled(command, values)
    print(f"{name}: {shlex.join(asked)}", flush=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("PWD", "OLDPWD", "PYTHONPATH")}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    try:
        started = subprocess.Popen(
            asked, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, start_new_session=True,
            preexec_fn=end_with_parent,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise StudyError(f"the command {name} cannot be started ({error}): {shlex.join(asked)[:200]}") from error
    try:
        status = started.wait(timeout=3600 * hours)
    except subprocess.TimeoutExpired:
        raise StudyError(
            f"the command {name} did not end within {hours:g} hours and was stopped; raise `hours` of the arm"
        ) from None
    finally:
        # Also what it left behind in the background.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
    if status:
        how = f"with status {status}" if status > 0 else f"by signal {-status}"
        raise StudyError(f"the command {name} ended {how}; its output is in the log")


def end_with_parent():
    """Let the kernel end this process when the job is killed; elsewhere than on Linux nothing does."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)


def contents(model):
    """Return {path within a model: SHA-256} of its files; of a model that is a file, its own.

    Args:
        model: path of a file or folder.
    """
    if os.path.isfile(model):
        return {"": sha256(model)}
    files = [os.path.join(folder, name) for folder, _, names in os.walk(model) for name in names]
    return {os.path.relpath(path, model): sha256(path) for path in sorted(files) if os.path.isfile(path)}


def check_model(model, kept, whose):
    """Refuse a model that is not the one that the command left after training.

    Args:
        model: path of a file or folder.
        kept: what `contents` returned after training.
        whose: what may have changed it, for the message.

    Raises:
        StudyError: a file was changed, added or removed.
    """
    now = contents(model)
    if changed := sorted(name for name in now | kept if now.get(name) != kept.get(name)):
        where = os.path.dirname(model)
        raise StudyError(
            f"{whose} changed {{model}} ({changed[0] or 'the file'}), and later predictions would be of another model; "
            f"let it write to its working folder, remove {where} and run again"
        )


def recorded(settings, folder, threads):
    """Return what run.json says of a trainer: its commands, and what `version` printed."""
    found = {"command": {key: settings[key] for key in ("train", "predict", "version") if settings.get(key)}}
    if settings.get("version"):
        path = os.path.join(folder, "version.txt")
        with open(path, "wb") as handle:
            execute("version", settings["version"], {}, folder, 0.1, threads, handle)
        with open(path, "rb") as handle:
            found["command"]["version_output"] = handle.read(VERSION).decode("utf-8", "replace").strip()
    return found
