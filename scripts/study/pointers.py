"""Pointers: the small texts that replace large files in a clone without Git LFS or git-annex."""

import codecs
import os
import re

from common.errors import StudyError

# Such a text begins like this.
POINTER = b"version https://git-lfs.github.com/spec/"
# The form of an unlocked git-annex file, and of git-media, which is only a SHA-1.
ANNEX, MEDIA = b"/annex/objects/", re.compile(rb"[0-9a-f]{40}\s*")
# Git LFS itself accepts no longer pointer.
LONGEST = 1024
COMMANDS = {
    "Git LFS": "`git lfs install` and `git lfs pull`",
    "git-annex": "`git annex get`",
    "git-media": "`git media sync`",
}


def pointer_of(content):
    """Return the program whose pointer a file's first `LONGEST` bytes are, or None.

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
