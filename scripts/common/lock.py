"""One workflow at a time on a study's folder, by locks that the kernel releases when their holder dies.

Two files in `results/<study>`: `.lock` is held by the workflow's main process, `.jobs` is shared by its jobs. So a
killed workflow leaves no lock behind, and jobs that outlive it do not count as finished. Where the file system has no
locks, nothing is locked and no workflow is refused.

filelock does not fit: its shared lock is a SQLite database, and its substitute on file systems without locks is a file
that outlives a killed process. Neither it nor portalocker follows a workflow's jobs or removes their leftovers.

Source: flock(2).
"""

import fcntl
import glob
import json
import os
import shutil
import signal
import socket
import sys
import threading
import time

from common.errors import StudyError
from common.machine import now

LEFTOVERS = (".part-", ".run-")
# Jobs notice within a second that their workflow is gone; fairseq's workers need a little longer.
PATIENCE = 15
# Open files and folders whose locks last as long as this process.
_held = []


def _lock(path, kind):
    """Return the locked file or folder, opened (a descriptor), or None where another process holds it."""
    if os.path.isdir(path):
        descriptor = os.open(path, os.O_RDONLY)
    else:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        print(f"{path} cannot be locked ({error.strerror}): a second workflow would go unnoticed", file=sys.stderr)
    return descriptor


def _wait_for(path, kind, seconds):
    """Return the result of `_lock`, trying for some seconds."""
    end = time.monotonic() + seconds
    while (descriptor := _lock(path, kind)) is None and time.monotonic() < end:
        time.sleep(0.2)
    return descriptor


def identity():
    """Return a lock's owner: process id, host and start time."""
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": now()}


def holder(folder):
    """Return the `identity` of the workflow that last locked a study's folder; empty where there is none."""
    try:
        with open(os.path.join(folder, ".lock"), encoding="utf-8") as handle:
            return json.load(handle)
    except (OSError, ValueError):
        return {}


def hold(folder, making=(), patience=PATIENCE):
    """Lock a study's folder until this process ends, and remove leftovers of killed jobs.

    Args:
        folder: `results/<study>`; created where it is missing.
        making: shared files that this workflow will make: two must not retrieve one file at the same time, since
            Snakemake removes it before created where it is missing.
        patience: seconds to wait for the jobs of a workflow that was killed.

    Raises:
        StudyError: another workflow holds the folder, jobs of a killed one are still running, or a workflow on
            another study is making some of the shared files.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, ".lock")
    # Several attempts are made because other processes look at this lock for a moment (`_at_work`).
    lock = _wait_for(path, fcntl.LOCK_EX, 1)
    if lock is None:
        other = holder(folder)
        who = "process {pid} on {host}, since {since}".format(**other) if other else "it has just started"
        raise StudyError(
            f"another workflow is using {folder} ({who}): wait for it to end, or stop it, and run again; another "
            "study (key `study`) can run beside it"
        )
    jobs = _wait_for(os.path.join(folder, ".jobs"), fcntl.LOCK_EX, patience)
    if jobs is None:
        os.close(lock)
        raise StudyError(
            f"jobs of a killed workflow are still using {folder} (`fuser {folder}/.jobs` lists those of "
            "this machine): wait for them to end, or stop them, and run again"
        )
    # A second attempt fails only where the first one succeeded.
    if _lock(path, fcntl.LOCK_EX) is None:
        remove_leftovers(folder)
    # Workflows take turns between looking at the others' files and announcing their own.
    gate = _wait_for(os.path.dirname(os.path.abspath(folder)), fcntl.LOCK_EX, patience)
    try:
        for other in _at_work(folder):
            if shared := sorted(set(making) & set(other.get("making", ()))):
                raise StudyError(
                    f"a workflow on another study (process {other['pid']} on {other['host']}) is about to retrieve "
                    f"{shared[0]} and {len(shared) - 1} more files that this one needs: run again when they are there"
                )
        os.ftruncate(lock, 0)
        os.write(lock, json.dumps({**identity(), "making": sorted(making)}).encode())
    except BaseException:
        os.close(lock)
        raise
    finally:
        os.close(jobs)
        if gate is not None:
            os.close(gate)
    _held.append(lock)


def is_held(folder):
    """Return whether a workflow holds a study's folder."""
    path = os.path.join(folder, ".lock")
    free = _lock(path, fcntl.LOCK_SH) if os.path.exists(path) else None
    if free is not None:
        os.close(free)
    return free is None and os.path.exists(path)


def _at_work(folder):
    """Return the `holder` of every other study's folder beside this one with a live workflow."""
    found = []
    for path in glob.glob(os.path.join(glob.escape(os.path.dirname(os.path.abspath(folder))), "*", ".lock")):
        other = os.path.dirname(path)
        if os.path.samefile(other, folder):
            continue
        if is_held(other):
            found.append(holder(other))
    return found


def hold_shared(folder):
    """Lock a folder that several workflows share until this process ends; a workflow that is alone cleans it.

    Args:
        folder: `resources`; created where it is missing.
    """
    os.makedirs(folder, exist_ok=True)
    alone = _lock(folder, fcntl.LOCK_EX)
    if alone is not None:
        if _lock(folder, fcntl.LOCK_EX) is None:
            remove_leftovers(folder)
        os.close(alone)
    _held.append(_wait_for(folder, fcntl.LOCK_SH, PATIENCE))


def remove_leftovers(folder):
    """Remove the temporary files and folders that killed jobs left beside their outputs."""
    for parent, folders, files in os.walk(folder):
        for name in [name for name in folders if name.startswith(LEFTOVERS)]:
            folders.remove(name)
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
        for name in files:
            if name.startswith(LEFTOVERS):
                os.remove(os.path.join(parent, name))


def join(folder):
    """Mark this job as using a study's folder, and end it when its workflow on this machine is gone.

    A job that outlives its workflow would train what the next one trains again.

    Args:
        folder: `results/<study>`; where no workflow has locked it (a job whose files come from a storage), nothing
            is done.
    """
    workflow = holder(folder)
    if not workflow:
        return
    _held.append(_wait_for(os.path.join(folder, ".jobs"), fcntl.LOCK_SH, PATIENCE))
    if workflow["host"] == socket.gethostname() and _lives(workflow["pid"]):
        threading.Thread(target=_follow, args=(workflow["pid"],), daemon=True).start()


def _lives(pid):
    """Return whether a process of this machine exists (of any user)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _follow(pid):
    """Kill this process once another has ended."""
    while _lives(pid):
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
