"""What every rule script does around its `main`: log, errors, threads."""

import contextlib
import os
import sys
import time
import traceback

from common.errors import StudyError
from common.faults import explain, is_full_disk
from common.lock import join


@contextlib.contextmanager
def running(snakemake):
    """Send file descriptors 1 and 2 to the rule's log and turn a `StudyError` into one message.

    Children, C code and tracebacks land in the log too. The user's terminal sees only the message of a
    `StudyError`, or where to find the log of an unexpected fault.

    Args:
        snakemake: the object that Snakemake puts into a script's namespace.

    Raises:
        SystemExit: with status 1 after any exception.
    """
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(snakemake.threads)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    # With it, fairseq's own `torch.load` would unpickle whatever a checkpoint names.
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
    # `<results>/logs/...`: a study's logs lie in its folder.
    results = (log or "").partition("/logs/")[0]
    try:
        join(results)
        yield
        print(f"[{snakemake.rule}] {time.monotonic() - started:.1f} s")
    except StudyError as error:
        # What looks like a broken file may be one that the full disk did not take.
        if is_full_disk(error) and "full" not in str(error):
            error = explain(error, snakemake.rule, results)
        _fail(terminal, f"error in rule {snakemake.rule}: {error}", log)
    except SystemExit as stop:
        if stop.code in (0, None):
            return
        _fail(terminal, f"rule {snakemake.rule} stopped with status {stop.code}; its log: {log}", log)
    except BaseException as error:  # noqa: BLE001 - reported, then the job fails
        # On a full disk the log takes nothing more.
        with contextlib.suppress(OSError):
            traceback.print_exc()
        if remedy := explain(error, snakemake.rule, results):
            _fail(terminal, f"error in rule {snakemake.rule}: {remedy}", log)
        _fail(terminal, f"rule {snakemake.rule} failed ({type(error).__name__}: {error}); its log: {log}", log)
    os.close(terminal)


def _fail(terminal, message, log):
    """Write `message` to the log and to the user's terminal, then exit 1."""
    os.write(terminal, (message + "\n").encode("utf-8", "replace"))
    try:
        if log:
            print(message, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        # What a full disk did not take is still buffered; Python would try again at its exit, fail and exit with 120.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    raise SystemExit(1)
