"""Resumable training state: a folder that Snakemake does not wipe, named after everything that affects the result."""

import hashlib
import inspect
import json
import os
import pickle
import zipfile

import torch

from common.files import atomic_path, sync, write_json

KEY, STATE = "key.json", "state.pt"


def state_folder(root, key):
    """Return (and make) the state folder of a run.

    Args:
        root: folder of all states of a kind.
        key: JSON-able value with everything that affects the result; another key never finds this state.
    """
    text = json.dumps(key, sort_keys=True)
    folder = os.path.join(root, hashlib.sha256(text.encode()).hexdigest()[:16])
    if not os.path.exists(os.path.join(folder, KEY)):
        os.makedirs(folder, exist_ok=True)
        write_json(os.path.join(folder, KEY), key)
    return folder


def code_hash(*objects):
    """Return the SHA-256 of the source text of modules, classes and functions: the part of a key that is code."""
    return hashlib.sha256("".join(map(inspect.getsource, objects)).encode()).hexdigest()


def save_state(folder, state):
    """Write `state.pt`: a kill at any moment leaves a whole file, the new or the earlier one.

    The run's other files in the folder only grow or are written once. Their lengths go into the state, so that
    `load_state` finds them as they are now.

    Args:
        folder: the run's state folder.
        state: dict of tensors and plain values.

    Raises:
        StudyError: the disk is full; the earlier state is still there.
    """
    files = {name: os.path.getsize(os.path.join(folder, name)) for name in _files(folder)}
    for name in files:
        # A state must not survive a power cut that its other files do not.
        sync(os.path.join(folder, name))
    with atomic_path(os.path.join(folder, STATE)) as temporary, open(temporary, "wb") as handle:
        torch.save({**state, "files": files}, handle)


def load_state(folder):
    """Return the saved state, or None, and bring the folder's other files back to where the state left them.

    Without a state, or with one that is damaged or whose files are gone, the folder is emptied and the run starts
    from the beginning.

    Args:
        folder: the run's state folder.

    Returns:
        dict: the state given to `save_state`, on the CPU; only tensors and plain values are unpickled.
    """
    state = _read(folder)
    kept = state.pop("files") if state else {}
    for name in _files(folder):
        path = os.path.join(folder, name)
        if name not in kept:
            os.remove(path)
        elif os.path.getsize(path) > kept[name]:
            os.truncate(path, kept[name])
    if state is None and os.path.exists(os.path.join(folder, STATE)):
        os.remove(os.path.join(folder, STATE))
    return state


def _read(folder):
    """Return the content of a whole `state.pt` whose files are there, else None."""
    path = os.path.join(folder, STATE)
    if not os.path.exists(path):
        return None
    try:
        # PyTorch does not compare its archive's checksums, so a changed byte would be a changed weight.
        with zipfile.ZipFile(path) as archive:
            whole = archive.testzip() is None
        state = torch.load(path, map_location="cpu", weights_only=True) if whole else {}
        lengths = {name: os.path.join(folder, name) for name in state["files"]}
        lengths = {name: os.path.getsize(p) if os.path.isfile(p) else -1 for name, p in lengths.items()}
        if all(lengths[name] >= length for name, length in state["files"].items()):
            return state
    except (zipfile.BadZipFile, pickle.UnpicklingError, RuntimeError, EOFError, KeyError, ValueError):
        pass
    print(f"{path} is damaged or its files are gone: the run starts from the beginning")
    return None


def _files(folder):
    """Return the names of the run's files in the folder."""
    paths = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    return sorted({os.path.relpath(path, folder) for path in paths} - {KEY, STATE})
