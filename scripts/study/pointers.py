"""Pointers of Git LFS: the small texts that a clone without Git LFS has in place of large files."""

import os

from common.errors import StudyError

# How such a text begins.
POINTER = b"version https://git-lfs.github.com/spec/"


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
            found = handle.read(len(POINTER)) == POINTER
    except OSError:
        return
    if found:
        raise StudyError(
            f"{name or path} is a Git LFS pointer, not the file itself; run `git lfs install` and `git lfs pull` in "
            "the clone"
        )


def check_pointers(folder, place):
    """Refuse a folder with a file that is a pointer.

    Args:
        folder: of a model.
        place: how messages call it.

    Raises:
        StudyError: a file is such a text.
    """
    for name in sorted(os.listdir(folder)):
        check_pointer(os.path.join(folder, name), f"{place}: {name}")
