"""Resumable training state: a folder that Snakemake does not wipe, named by all that affects the result."""

import hashlib
import json
import os

from common.files import write_json


def state_folder(root, key):
    """Return (and make) the state folder of a run.

    Args:
        root: folder of all states of a kind.
        key: JSON-able value holding everything that affects the result; another key never finds this state.
    """
    text = json.dumps(key, sort_keys=True)
    folder = os.path.join(root, hashlib.sha256(text.encode()).hexdigest()[:16])
    if not os.path.exists(os.path.join(folder, "key.json")):
        os.makedirs(folder, exist_ok=True)
        write_json(os.path.join(folder, "key.json"), key)
    return folder
