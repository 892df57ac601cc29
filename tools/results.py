"""Rebuild or remove what a study's page is made of; nothing is gone before its successor is whole.

python -m tools.results regenerate studies/open.yaml -- SNAKEMAKE ARGUMENTS
python -m tools.results clean-report studies/open.yaml
python -m tools.results check

No command touches a study that another workflow is working on. `regenerate` moves the files aside and back again if the
rebuild fails or is ended; after a kill that no process survives, the next `regenerate` moves them back first.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys

from common.errors import StudyError
from common.lock import is_held
from study.products import page_files, page_rules

# Old files are kept here while their successors are made.
ASIDE = ".before-regenerate"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def study_folder(path):
    """Return the results folder of the study that a settings file names.

    By the line itself and not by YAML: `make` calls this without the environment, too.

    Raises:
        StudyError: there is no such file, or no name in it that the workflow takes.
    """
    try:
        with open(path, encoding="utf-8-sig") as handle:
            found = re.search(r"^study:[ \t]*(.*?)[ \t]*(?:#.*)?$", handle.read(), re.MULTILINE)
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror}; name a study's file, such as STUDY=studies/open.yaml") from error
    name = found[1].strip("\"'") if found else ""
    if not NAME.fullmatch(name):
        raise StudyError(
            f"{path}: study is {name!r}; a study's name has letters, digits, dots, hyphens and underscores, and begins "
            "with a letter or digit"
        )
    return os.path.join("results", name)


def refuse_if_held(folder):
    """Refuse a study that a workflow is working on.

    Raises:
        StudyError: one is.
    """
    if is_held(folder):
        raise StudyError(f"a workflow is working on {folder}: wait for it to end, or stop it, and run again")


def digests(folder):
    """Return {path relative to the folder: SHA-256} of the page's files."""
    found = {}
    for name in page_files():
        top = os.path.join(folder, name)
        paths = [top] if os.path.isfile(top) else []
        paths += [os.path.join(place, file) for place, _, files in os.walk(top) for file in files]
        for path in paths:
            with open(path, "rb") as handle:
                found[os.path.relpath(path, folder)] = hashlib.file_digest(handle, "sha256").hexdigest()
    return found


def move(source, target):
    """Move the page's files from one folder to another on the same disk, over what is there."""
    for name in page_files():
        if os.path.lexists(os.path.join(source, name)):
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            remove(os.path.join(target, name))
            os.rename(os.path.join(source, name), os.path.join(target, name))


def remove(path):
    """Remove a file or folder, if it is there."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def restore(folder):
    """Move old files back, over the remains of an unfinished rebuild."""
    aside = os.path.join(folder, ASIDE)
    if os.path.isdir(aside):
        move(aside, folder)
        shutil.rmtree(aside)


def rebuild(folder, arguments):
    """Run Snakemake with the rules of the page alone; end it when this process is asked to end.

    Returns:
        int: its exit status.
    """
    command = ["snakemake", os.path.join(folder, "report_numbers.tsv"), *arguments, "--allowed-rules", *page_rules()]
    process = subprocess.Popen(command)

    def end(number, frame):
        process.terminate()
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    try:
        return process.wait()
    finally:
        # Snakemake writes no file once the old ones are back.
        process.wait()


def regenerate(folder, arguments):
    """Rebuild a study's page from its records and compare the bytes.

    Args:
        folder: folder of its results.
        arguments: arguments of Snakemake.

    Returns:
        int: 0 if the bytes are the same or there was nothing to compare with.

    Raises:
        StudyError: no such folder, or a workflow is working on it.
    """
    if not os.path.isdir(folder):
        raise StudyError(f"there is no {folder}: run the study first")
    refuse_if_held(folder)
    restore(folder)
    before, whole = digests(folder), False
    os.makedirs(os.path.join(folder, ASIDE), exist_ok=True)
    try:
        move(folder, os.path.join(folder, ASIDE))
        status = rebuild(folder, arguments)
        whole = status == 0 and os.path.exists(os.path.join(folder, "report_numbers.tsv"))
    finally:
        if not whole:
            for name in page_files():
                remove(os.path.join(folder, name))
            restore(folder)
    if not whole:
        print(f"regenerate: Snakemake ended with {status}; the previous files are back", file=sys.stderr)
        return 1
    shutil.rmtree(os.path.join(folder, ASIDE))
    page = os.path.abspath(os.path.join(folder, "report.html"))
    if not before:
        print(f"Rebuilt; there was nothing to compare with: {page}")
        return 0
    after = digests(folder)
    differing = sorted(path for path in {**before, **after} if before.get(path) != after.get(path))
    if differing:
        print(
            f"regenerate: the bytes of {len(differing)} files differ, {differing[0]} first. Page and crate name the "
            "commit of the code, so another commit changes both",
            file=sys.stderr,
        )
        return 1
    print(f"Identical bytes in all {len(before)} files: {page}")
    return 0


def main(arguments):
    """Do what the command line says; return the exit status."""
    command, *rest = arguments or ["help"]
    if command == "regenerate":
        return regenerate(study_folder(rest[0]), rest[rest.index("--") + 1 :] if "--" in rest else [])
    if command == "clean-report":
        folder = study_folder(rest[0])
        refuse_if_held(folder)
        restore(folder)
        for name in page_files():
            remove(os.path.join(folder, name))
        return 0
    if command == "check":
        for name in sorted(os.listdir("results")):
            refuse_if_held(os.path.join("results", name))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StudyError as error:
        sys.exit(f"make {sys.argv[1]}: {error}")
