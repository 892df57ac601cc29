"""A suite's file: which studies it is over, and what it asks of them. Read by suites/Snakefile and `tools.suite`."""

import glob
import hashlib
import os
import re
import sys
from dataclasses import dataclass

from common.errors import StudyError
from common.files import read_json, sha256, write_text
from study.configuration import read_settings
from study.questions import sides
from tools.checked import CRATE, check_results, recorded

KEYS = ("suite", "studies", "over", "suffix", "questions")
ASKED = ("ask", "compare", "measure", "equal_within")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
RESULTS = "results"


@dataclass(frozen=True)
class Entry:
    """One study of a suite: its name, and its files, each over those before it."""

    study: str
    files: tuple

    @property
    def folder(self):
        """Its results."""
        return os.path.join(RESULTS, self.study)


@dataclass(frozen=True)
class Suite:
    """A suite: its file, name, studies (`Entry`) and questions (dicts of `ASKED`)."""

    path: str
    name: str
    entries: tuple
    questions: list

    @property
    def folder(self):
        """Its results: a page, and the tables that it shows."""
        return os.path.join(RESULTS, "suites", self.name)

    def stamp(self, entry):
        """The file that says with which records a study was finished."""
        return os.path.join(self.folder, "studies", f"{entry.study}.txt")


def read_suite(path, root="."):
    """Return the `Suite` of a file; the paths in it are relative to `root`, the folder of the workflow.

    Raises:
        StudyError: the file is no suite's, a study is missing or occurs twice, or a question is incomplete.
    """
    given = read_settings(path)
    if unknown := sorted(set(given) - set(KEYS) - {"mirror", "arguments"}):
        raise StudyError(f"{path}: unknown key {unknown[0]}; a suite has {', '.join(KEYS)}")
    name = given.get("suite")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise StudyError(f"{path}: suite is {name!r}; give the suite a name of letters, digits, dots and hyphens")
    places, over = _texts(given, "studies", path), _texts(given, "over", path, needed=0)
    if len(places) < 2:
        raise StudyError(f"{path}: studies names {len(places)}; a suite is over two or more")
    entries, seen = [], {}
    for place in places:
        files = tuple(os.path.join(root, file) for file in (place, *over))
        for file in files:
            if not os.path.isfile(file):
                raise StudyError(f"{path}: there is no {os.path.relpath(file, root)}; name a study's file")
        study = f"{read_settings(files[0]).get('study', '')}{given.get('suffix') or ''}"
        if not NAME.fullmatch(study):
            raise StudyError(f"{path}: {place} gives its study the name {study!r}; name it under study")
        if study in seen:
            raise StudyError(
                f"{path}: {place} and {seen[study]} are both the study {study}; a set counts once: leave one out"
            )
        seen[study] = place
        entries.append(Entry(study, files))
    return Suite(str(path), name, tuple(entries), _questions(given.get("questions"), path))


def _texts(given, key, path, needed=1):
    """Return a key's texts as a list; one text counts as a list of one."""
    value = given.get(key) or []
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value) or len(value) < needed:
        raise StudyError(f"{path}: {key} is no list of files; write one path a line")
    return value


def _questions(given, path):
    """Return a suite's questions, checked."""
    if not isinstance(given, list) or not given:
        raise StudyError(f"{path}: questions is empty; a suite asks at least one, as its studies do")
    asked = set()
    for number, question in enumerate(given, start=1):
        place = f"{path}: questions, entry {number}"
        if not isinstance(question, dict) or not {"ask", "compare"} <= set(question) <= set(ASKED):
            raise StudyError(f"{place} has other keys than {', '.join(ASKED)}; ask and compare are needed")
        compare = question["compare"]
        operands = [one if isinstance(one, list) else [one] for one in compare] if isinstance(compare, list) else []
        whole = len(operands) == 2 and len(operands[0]) == len(operands[1]) in (1, 2)
        if not whole or not all(isinstance(name, str) for _, name in sides(question)):
            raise StudyError(f"{place}: compare takes two arms, or two pairs of arms")
        if question["ask"] in asked:
            raise StudyError(f"{place}: {question['ask']!r} is asked twice; ask it once")
        asked.add(question["ask"])
    return given


def crate_digest(folder):
    """Return the SHA-256 of a finished study's crate; None where the study, or a file of it, is missing."""
    path = os.path.join(folder, CRATE)
    if not os.path.isfile(os.path.join(folder, "report.html")) or not os.path.isfile(path):
        return None
    try:
        names = recorded(folder)
    except StudyError:
        return None
    return sha256(path) if all(os.path.exists(os.path.join(folder, name)) for name in names) else None


def settle(suite):
    """Remove the stamps of studies that are no longer whole, so that they run again; check the others' records.

    Raises:
        StudyError: a record of a finished study was changed.
    """
    for entry in suite.entries:
        stamp = suite.stamp(entry)
        if not os.path.exists(stamp):
            continue
        with open(stamp, encoding="utf-8") as handle:
            known = handle.read().strip()
        if known != crate_digest(entry.folder):
            os.remove(stamp)
        else:
            check_results(entry.folder)


def note_finished(study, stamp):
    """Write a stamp: the digest of the crate of a study that has just run.

    Raises:
        StudyError: it left no finished study.
    """
    folder = os.path.join(RESULTS, study)
    digest = crate_digest(folder)
    if digest is None:
        raise StudyError(f"{folder} holds no finished study: its run was a trial, or asked for some of its files only")
    write_text(stamp, f"{digest}\n")


def workflow_digest(root, files):
    """Return one SHA-256 of what decides a study's results beside its data: the workflow's text and its files."""
    found = hashlib.sha256()
    places = [os.path.join(root, "Snakefile"), os.path.join(root, "config.yaml"), *files]
    for folder in ("rules", "scripts", "report", "schemas"):
        for place, _, names in os.walk(os.path.join(root, folder)):
            places += [os.path.join(place, name) for name in names if not name.endswith(".pyc")]
    for path in sorted(places):
        with open(path, "rb") as handle:
            found.update(
                f"{os.path.relpath(path, root)} {hashlib.file_digest(handle, 'sha256').hexdigest()}\n".encode()
            )
    return found.hexdigest()


def suite_files(root):
    """Return the paths of what makes a suite's tables and page, beside the workflow."""
    places = ("tools/suite*.py", "tools/checked.py", "report/suite/*.j2")
    return [path for place in places for path in sorted(glob.glob(os.path.join(glob.escape(root), place)))]


def recorded_settings(folder):
    """Return the settings that a study's results were made with.

    Raises:
        StudyError: there are none.
    """
    path = os.path.join(folder, "settings.json")
    if not os.path.isfile(path):
        raise StudyError(f"{folder} holds no finished study; run the suite, or the study, first")
    return read_json(path)


if __name__ == "__main__":
    try:
        note_finished(*sys.argv[1:3])
    except StudyError as error:
        sys.exit(f"suite: {error}")
