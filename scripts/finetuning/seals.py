"""Seals: each evaluation notes its run and the SHA-256 of its files, so that more than a path binds them.

A seal is a JSON file beside the predictions: arm, seed, and of each file its SHA-256. A rewritten seal goes unnoticed:
seals detect swapped, copied or edited files and are no signature.
"""

import glob
import os
import re

from common.arms import run_label
from common.errors import StudyError
from common.files import read_json, sha256, write_json

PLACE = re.compile(r"([^/]+)/seed(\d+)(?:/[^/]+|\.(?:tsv|json))$")
# These files are in a run's folder; the predictions are beside the seal.
RECORDS = {"record": "run.json", "history": "history.tsv", "selected": "selected.json"}


def run_of(path):
    """Return the run (arm, seed) that a file belongs to, from .../ARM/seedN/FILE, .../ARM/seedN.tsv or .json.

    Raises:
        StudyError: the path does not end that way.
    """
    match = PLACE.search(str(path).replace("\\", "/"))
    if not match:
        raise StudyError(f"{path} is not a run's file (expected .../ARM/seedN/FILE or .../ARM/seedN.tsv)")
    return match[1], int(match[2])


def write_seal(path, **files):
    """Write an evaluation's seal; its path names the run.

    Args:
        path: .../predictions/ARM/seedN.json.
        **files: files to bind, by name: predictions, record, history, selected.
    """
    arm, seed = run_of(path)
    write_json(path, {"arm": arm, "seed": seed, "sha256": {name: sha256(file) for name, file in files.items()}})


def check_seal(path, files, digest=sha256):
    """Check that a run's files are the ones that its evaluation read and wrote.

    Args:
        path: the seal.
        files: {name as in the seal: path}; a name that the seal lacks is refused.
        digest: function of a path that returns its SHA-256.

    Raises:
        StudyError: the seal is another run's, or a file is not the one that it names.
    """
    seal, (arm, seed) = read_seal(path), run_of(path)
    again = f"put the right file back, or remove {path} and run again to evaluate the run again"
    if (seal["arm"], seal["seed"]) != (arm, seed):
        other = run_label(seal["arm"], seal["seed"])
        raise StudyError(f"{path} is of run {other}, not of {run_label(arm, seed)}: these files were copied; {again}")
    for name, file in files.items():
        if digest(file) != seal["sha256"].get(name):
            # Without this check another evaluation would accept an edited record.
            remedy = (
                again
                if name == "predictions"
                else (
                    f"put the right file back, or remove {os.path.dirname(file)} and run again to train the run again"
                )
            )
            raise StudyError(
                f"{file} is not the file that the evaluation of run {run_label(arm, seed)} had ({path} holds another "
                f"SHA-256); {remedy}"
            )


def read_seal(path):
    """Return a seal's content.

    Raises:
        StudyError: the file is no seal.
    """
    seal = read_json(path)
    if not isinstance(seal, dict) or not {"arm", "seed"} <= seal.keys() or not isinstance(seal.get("sha256"), dict):
        raise StudyError(f"{path} is no seal of an evaluation; remove it and run again to evaluate the run again")
    return seal


def sealed_files(path):
    """Return {name: path} of the files that a seal at its usual place binds; it is at results/<study>/predictions."""
    arm, seed = run_of(path)
    folder = os.path.join(os.path.dirname(path), "..", "..", "finetuning", arm, f"seed{seed}")
    files = {name: os.path.normpath(os.path.join(folder, file)) for name, file in RECORDS.items()}
    return {"predictions": re.sub(r"\.json$", ".tsv", path)} | {name: files[name] for name in files}


def check_folder(folder, digest=sha256, planned=False):
    """Check every seal of a study's results.

    Args:
        folder: `results/<study>`.
        digest: see `check_seal`.
        planned: True where Snakemake plans afterwards. It rebuilds missing files and those that depend on records newer
            than the seal, as after an interrupted training, so these are skipped.

    Raises:
        StudyError: see `check_seal`.
    """
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "predictions", "*", "seed*.json"))):
        known, sealed = read_seal(path)["sha256"], os.stat(path).st_mtime_ns
        files = {name: file for name, file in sealed_files(path).items() if name in {"predictions", *known}}
        if planned:
            files = {
                name: file
                for name, file in files.items()
                if os.path.exists(file) and (name == "predictions" or os.stat(file).st_mtime_ns <= sealed)
            }
        for file in files.values():
            if not os.path.exists(file):
                raise StudyError(f"{file} is missing; run the study again to make it again")
        check_seal(path, files, digest)
