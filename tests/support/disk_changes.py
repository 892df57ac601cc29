"""See every change that this process makes to a folder just before it happens: the boundaries that a kill can fall on.

Between two changes the disk is the same, so a kill at each of them is a kill everywhere. Python reports them to audit
hooks: files opened to be written, renamed, removed, cut; folders made and removed. What a library writes into an open
file is not a change of its own (`killed_runs` tears files in the middle for that).

Source: the table of audit events in the Python library reference; PEP 578.
"""

import os
import re
import sys

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
EVENTS = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink")
# Parts of names that differ from run to run.
PASSING = (
    (re.compile(r"events\.out\.tfevents\.[^/]*"), "events"),
    (re.compile(r"/[0-9a-f]{16}(?=/|$)"), "/KEY"),
)


def changed(event, arguments):
    """Return the path that an audit event is about to change, or None."""
    if event == "open":
        if not isinstance(arguments[2], int) or not arguments[2] & WRITING:
            return None
        path, place = arguments[0], None
    else:
        path, place = (arguments[1], arguments[3]) if event == "os.rename" else (arguments[0], arguments[-1])
    if not isinstance(path, str | bytes | os.PathLike):
        return None
    path = os.fsdecode(path)
    # A folder is removed from within: names are then relative to it, an open one.
    if isinstance(place, int) and place >= 0 and event in ("os.remove", "os.rmdir", "os.mkdir", "os.rename"):
        path = os.path.join(os.readlink(f"/proc/self/fd/{place}"), path)
    path = os.path.abspath(path)
    return None if event == "os.mkdir" and os.path.isdir(path) else path


def general(path):
    """Return a path without what differs from run to run."""
    for pattern, word in PASSING:
        path = pattern.sub(word, path)
    return path


def watch(root, act):
    """Call `act(verb, path inside root)` before each change of this process, and of no child, below a folder.

    Several changes of the same kind to one file, one after the other, count as one: a file that is appended to.
    """
    root, me, last = os.path.join(os.path.realpath(root), ""), os.getpid(), [None]

    def hook(event, arguments):
        if (event != "open" and event not in EVENTS) or os.getpid() != me:
            return
        path = changed(event, arguments)
        if path and path.startswith(root) and (event, path) != last[0]:
            last[0] = (event, path)
            act(event.removeprefix("os."), general(path.removeprefix(root)))

    sys.addaudithook(hook)
