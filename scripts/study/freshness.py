"""Checks that results belong to the present settings and files, by content rather than time stamps."""

import base64
import glob
import itertools
import json
import os
import stat

from common.errors import StudyError
from common.files import read_json, sha256, write_text
from common.machine import result_settings

RECORD = ".digests.json"
# Snakemake keeps its records of the files that it made here.
METADATA = os.path.join(".snakemake", "metadata")


class Digests:
    """SHA-256 of files, read again only where a file may have changed.

    A file is the same where size, inode and both times are. The time of its last change (ctime) cannot be set back, so
    neither `cp -p` nor `touch` hides a change; size and modification time alone would.
    """

    def __init__(self, folder):
        """Read an earlier process's record in a results folder, if there is one."""
        self.path = os.path.join(folder, RECORD)
        try:
            self.known = read_json(self.path) if os.path.exists(self.path) else {}
        except StudyError:
            self.known = {}
        self.new = {}

    def digest(self, path):
        """Return a file's SHA-256; None where it is missing, or no file."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        state = [found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns]
        entry = self.new.get(path) or self.known.get(path)
        if not entry or entry["state"] != state:
            entry = {"state": state, "sha256": sha256(path)}
        self.new[path] = entry
        return entry["sha256"]

    def of_all(self, paths):
        """Return {path: SHA-256} of files."""
        return {path: self.digest(path) for path in paths}

    def save(self):
        """Write the record, where the results folder exists."""
        if self.new != self.known and os.path.isdir(os.path.dirname(self.path)):
            write_text(self.path, json.dumps(self.new, sort_keys=True) + "\n")


# The meaning of settings that records of earlier versions lack, by dotted key.
ADDED = {"measure": "accuracy", "data.task": "classification"}


def visible_files(folder):
    """Return the files of a folder, hidden ones and folders left out."""
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), "*")))
    return [path for path in paths if os.path.isfile(path)]


def without_records(folder):
    """Return the results of data and training whose Snakemake records are gone.

    Args:
        folder: `results/<study>`, relative to where Snakemake runs.
    """
    wanted = (os.path.join("data", "manifest.json"), os.path.join("finetuning", "*", "seed*", "run.json"))
    made = [path for name in wanted for path in sorted(glob.glob(os.path.join(glob.escape(folder), name)))]
    names = {path: base64.b64encode(path.encode(), b"_-").decode() for path in made}
    # A longer name is kept in folders.
    return [path for path, name in names.items() if len(name) < 200 and not os.path.exists(f"{METADATA}/{name}")]


def changed_settings(folder, config):
    """Return the settings that differ from those of the results: {dotted key: (then, now)}."""
    record = os.path.join(folder, "settings.json")
    if not os.path.isfile(record):
        return {}
    then, now = (flat(settings) for settings in (read_json(record), json.loads(json.dumps(result_settings(config)))))
    then, now = ADDED | then, ADDED | now
    return {key: (then.get(key), now.get(key)) for key in {**now, **then} if then.get(key) != now.get(key)}


def changed_runs(folder, arms):
    """Return the settings of arms that differ from those of their runs.

    A study that was interrupted, or whose settings.json is gone, has no other record of them.

    Args:
        folder: folder of the results.
        arms: {name: the settings that its runs would have today}.

    Returns:
        dict: {`finetuning.arms.NAME: key`: (then, now)}; a run without a record of its settings says nothing.
    """
    found = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "finetuning", "*", "seed*", "run.json"))):
        record = read_json(path)
        then, now = record.get("settings"), arms.get(record.get("arm"))
        if then is not None and now is not None:
            then, now = flat(then), flat(json.loads(json.dumps(now)))
            differing = [key for key in {**now, **then} if then.get(key) != now.get(key)]
            found |= {f"finetuning.arms.{record['arm']}: {key}": (then.get(key), now.get(key)) for key in differing}
    return found


def changed_files(folder, digests):
    """Return the local tables that differ from those of the splits.

    Args:
        folder: folder of the results.
        digests: {path: SHA-256 of today}.
    """
    manifest = os.path.join(folder, "data", "manifest.json")
    then = read_json(manifest).get("files", {}) if os.path.isfile(manifest) else {}
    return [path for path, digest in digests.items() if path in then and digest not in (None, then[path])]


def changed_models(folder, models):
    """Return the files of models' folders that changed after the study used them.

    Args:
        folder: folder of the results.
        models: {name: {path: SHA-256 of today}}.
    """
    changed = []
    for name, digests in models.items():
        record = os.path.join(folder, "finetuning", "models", name, "conversion.json")
        then = read_json(record).get("source_sha256", {}) if os.path.isfile(record) else {}
        today = {os.path.basename(path): (path, digest) for path, digest in digests.items()}
        changed += [today[file][0] for file in then if file in today and today[file][1] not in (None, then[file])]
    return changed


def check_downloads(resources, retrieved, digest):
    """Refuse a shared download that was changed after it was fetched and checked.

    Args:
        resources: folder of all downloads.
        retrieved: list of (places of files relative to it, place of their record).
        digest: function of a path that returns its SHA-256.

    Raises:
        StudyError: a file is there, and is not the one of its record.
    """
    for places, record in retrieved:
        record = os.path.join(resources, record)
        if not os.path.isfile(record):
            continue
        for place, entry in zip(places, read_json(record).get("files", []), strict=False):
            path = os.path.join(resources, place)
            if os.path.isfile(path) and digest(path) != entry["sha256"]:
                raise StudyError(
                    f"{path} is not the file that was downloaded and checked ({record} holds another SHA-256); put it "
                    "back, or remove it and run again to fetch it again"
                )


def flat(settings, path=()):
    """Return {dotted path: value} of all values that are no block of keys."""
    found = {}
    for key, value in settings.items():
        block = isinstance(value, dict) and value
        found.update(flat(value, (*path, key)) if block else {".".join((*path, str(key))): value})
    return found


def hides_changes(words):
    """Return the option of a command that keeps changed settings from rerunning anything, or None.

    Args:
        words: words of the command: `--touch`, or `--rerun-triggers` without `params`.
    """
    for place, word in enumerate(words):
        option, _, value = word.partition("=")
        if word in ("--touch", "-t"):
            return "--touch"
        if option == "--rerun-triggers":
            rest = itertools.takewhile(lambda each: not each.startswith("-"), words[place + 1 :])
            if "params" not in [value, *rest]:
                return "--rerun-triggers without params"
    return None


def check_fresh(folder, config, digests, option, models=None, arms=None):
    """Refuse results of other settings or files whose Snakemake records are gone, which it could not notice.

    With its records Snakemake itself makes again what depends on a changed setting or file (by its parameters).

    Args:
        folder: folder of the results.
        config: all settings.
        digests: {path: SHA-256} of the study's local tables.
        option: what `hides_changes` returns.
        models: {name: {path: SHA-256}} of the models that are taken from folders; None: none is.
        arms: {name: settings of its runs}; None: they are not compared.

    Raises:
        StudyError: a setting or a file differs, and nothing would be made again.
    """
    lost = without_records(folder)
    if not lost and not option:
        return
    why = f"{option} would leave them as they are" if option else "Snakemake's records of them (.snakemake) are gone"
    remedy = f"put it back, or move {folder} away and run the study again"
    for key, (then, now) in (changed_settings(folder, config) | changed_runs(folder, arms or {})).items():
        raise StudyError(
            f"{key}: the results in {folder} were made with {then!r}, and the settings now say {now!r}; {why}, so "
            f"nothing would be made again: {remedy}"
        )
    for path in changed_files(folder, digests):
        raise StudyError(
            f"{path} is not the file that the results in {folder} were made from (data/manifest.json has another "
            f"SHA-256); {why}, so nothing would be made again: {remedy}"
        )
    for path in changed_models(folder, models or {}):
        raise StudyError(
            f"{path} is not the file that the results in {folder} were made from (conversion.json of the model has "
            f"another SHA-256); {why}, so nothing would be made again: {remedy}"
        )
