"""Ownership of results folders: a study file names its study, and no other file writes into its folder."""

import json
import os

from common.errors import StudyError
from common.files import read_json, write_text

RECORD = "study.json"


def check_named(studies, files):
    """Refuse study files that name no study: they would write into the embedded study's results.

    Args:
        studies: the settings of the files and the command line, without any default.
        files: their paths; none is the embedded study.

    Raises:
        StudyError: there are files, and none names the study.
    """
    if files and "study" not in studies:
        name = os.path.splitext(os.path.basename(files[-1]))[0]
        raise StudyError(f"{files[-1]} has no key study; give the study a name of its own, such as study: {name}")


def claim(folder, files):
    """Record a study's files in its results folder; refuse the folder of another study.

    Args:
        folder: `results/<study>`; it is made.
        files: paths of the study's files; none is the embedded study's config.yaml.

    Raises:
        StudyError: the folder is of other files, which are still there.
    """
    ours = [os.path.relpath(file) for file in files] or ["config.yaml"]
    record = os.path.join(folder, RECORD)
    theirs = read_json(record)["files"] if os.path.exists(record) else ours
    if theirs != ours and all(map(os.path.exists, theirs)):
        raise StudyError(
            f"{folder} holds the results of {', '.join(theirs)}, and {', '.join(ours)} gives its study the same name; "
            f"give it another name (key study), or remove {folder} first"
        )
    if theirs != ours or not os.path.exists(record):
        os.makedirs(folder, exist_ok=True)
        write_text(record, json.dumps({"files": ours}) + "\n")
