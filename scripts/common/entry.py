"""The start of a rule's script: `run(main, snakemake)` calls `main` with the arguments that its signature names."""

import contextlib
import inspect
import os
import re
import sys
import time
import traceback

from common.errors import StudyError
from common.faults import explain, is_full_disk
from common.lock import holder, join

FILES = ("input", "output", "wildcards")


def run(main, snakemake):
    """Call a script's `main` with the job's named inputs, outputs, params and wildcards, as its signature asks.

    Args:
        main: function whose parameters are named like entries of the rule's `input`, `output`, `params` or
            `wildcards`, or `threads`. An entry of several files comes as a list, and so does one given as a list; a
            parameter annotated `int` gets a wildcard as a number; one with a default may be missing from the rule;
            `**inputs` takes the inputs that no other parameter names.
        snakemake: the object that Snakemake puts into a script's namespace.

    Raises:
        SystemExit: with status 1 after any exception, a name that is missing or ambiguous among them.
    """
    with running(snakemake):
        main(**job_arguments(main, snakemake))


def job_arguments(main, snakemake):
    """Return the keyword arguments that `run` calls `main` with.

    Raises:
        TypeError: the rule lacks a name that `main` asks for, or has it twice.
    """
    files = {kind: {name: _plain(value) for name, value in getattr(snakemake, kind).items()} for kind in FILES}
    # A parameter keeps its type.
    kinds = {**files, "params": dict(snakemake.params.items()), "the rule itself": {"threads": snakemake.threads}}
    asked = inspect.signature(main).parameters
    arguments = {}
    for name, parameter in asked.items():
        found = [kind for kind, entries in kinds.items() if name in entries]
        if len(found) > 1:
            raise TypeError(f"rule {snakemake.rule}: {name} is in {' and in '.join(found)}: rename one")
        if parameter.kind is parameter.VAR_KEYWORD:
            arguments |= {other: value for other, value in files["input"].items() if other not in asked}
        elif found:
            value = kinds[found[0]][name]
            arguments[name] = int(value) if parameter.annotation is int else value
        elif parameter.default is parameter.empty:
            raise TypeError(f"rule {snakemake.rule} has no {name} among its inputs, outputs, params and wildcards")
    return arguments


def _plain(value):
    """Return a file's path or a wildcard as a string, several as a list of strings."""
    return str(value) if isinstance(value, str) else [str(item) for item in value]


@contextlib.contextmanager
def running(snakemake):
    """Send file descriptors 1 and 2 to the rule's log and turn a `StudyError` into one message.

    Output of children and C code and tracebacks also go to the log. The user's terminal sees only the message of a
    `StudyError`, or where to find the log of an unexpected fault.

    Args:
        snakemake: the object that Snakemake puts into a script's namespace.

    Raises:
        SystemExit: with status 1 after any exception.
    """
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(snakemake.threads)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # With this variable set, fairseq's `torch.load` would unpickle any class that a checkpoint names.
    os.environ.pop("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", None)
    log = snakemake.log[0] if snakemake.log else None
    terminal = os.dup(2)
    if log:
        os.makedirs(os.path.dirname(log) or ".", exist_ok=True)
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.close(handle)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)
    started = time.monotonic()
    results = results_of(log or "")
    try:
        join(results)
        yield
        print(f"[{snakemake.rule}] {time.monotonic() - started:.1f} s")
    except StudyError as error:
        # A file that looks broken may have been cut off by the full disk.
        if is_full_disk(error) and "full" not in str(error):
            error = explain(error, snakemake.rule, results)
        _fail(terminal, f"error in rule {snakemake.rule}: {error}", log)
    except SystemExit as stop:
        if stop.code not in (0, None):
            _fail(terminal, f"rule {snakemake.rule} stopped with status {stop.code}; its log: {log}", log)
    except BaseException as error:  # noqa: BLE001 - reported, then the job fails
        # On a full disk nothing more can be written to the log.
        with contextlib.suppress(OSError):
            traceback.print_exc()
        if remedy := explain(error, snakemake.rule, results):
            _fail(terminal, f"error in rule {snakemake.rule}: {remedy}", log)
        _fail(terminal, f"rule {snakemake.rule} failed ({type(error).__name__}: {error}); its log: {log}", log)
    os.close(terminal)


def results_of(log):
    """Return the study's folder, which has the log below `logs`; a study or an arm may also be called `logs`."""
    folders = [log[: found.start()] for found in re.finditer("(?=/logs/)", log)]
    return next((folder for folder in folders if holder(folder)), folders[0] if folders else "")


def _fail(terminal, message, log):
    """Write `message` to the log and to the user's terminal, then exit 1."""
    os.write(terminal, (message + "\n").encode("utf-8", "replace"))
    try:
        if log:
            print(message, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        # Text that a full disk refused is still buffered; Python would try again at its exit, fail and exit with 120.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    raise SystemExit(1)
