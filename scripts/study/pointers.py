"""Pointers: the small texts that a clone has in place of large files where Git LFS or git-annex brought none."""

import codecs
import os
import re

from common.errors import StudyError

# How such a text begins.
POINTER = b"version https://git-lfs.github.com/spec/"
# That of git-annex, unlocked; and git-media's, which is a SHA-1 alone.
ANNEX, MEDIA = b"/annex/objects/", re.compile(rb"[0-9a-f]{40}\s*")
# Git LFS itself takes no longer file for a pointer.
LONGEST = 1024
COMMANDS = {
    "Git LFS": "`git lfs install` and `git lfs pull`",
    "git-annex": "`git annex get`",
    "git-media": "`git media sync`",
}


def pointer_of(content):
    """Return which program a file's first `LONGEST` bytes are a pointer of; None: of none.

    Git for Windows may have put a byte order mark before it.
    """
    content = content.removeprefix(codecs.BOM_UTF8)
    if content.startswith(POINTER):
        return "Git LFS"
    if content.startswith(ANNEX):
        return "git-annex"
    return "git-media" if MEDIA.fullmatch(content) else None


def check_pointer(path, name=None):
    """Refuse a file that is a pointer; one that cannot be read is left to its reader.

    Args:
        path: the file.
        name: how messages call it; None: its path.

    Raises:
        StudyError: the file is such a text.
    """
    try:
        with open(path, "rb") as handle:
            found = pointer_of(handle.read(LONGEST))
    except OSError:
        return
    if found:
        raise StudyError(
            f"{name or path} is a {found} pointer, not the file itself; run {COMMANDS[found]} in the clone"
        )


def check_pointers(folder, place):
    """Refuse a folder with a file that is a pointer.

    Args:
        folder: folder of a model.
        place: its name in messages.

    Raises:
        StudyError: a file is such a text.
    """
    for name in sorted(os.listdir(folder)):
        check_pointer(os.path.join(folder, name), f"{place}: {name}")
