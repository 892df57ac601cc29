"""Sources of labelled texts beside those built in, each in a separate file, which is found by its place.

`data.source: <name>` chooses `scripts/sources/<name>.py`, and the block `data.<name>` has its settings. What can be
written as a table needs no file: `data.source: table`.

Required:
    SETTINGS (dict): JSON Schema of each key of the block `data.<name>`; all of them are required.
    addresses(settings): the addresses of the source's files, in the order that `read` takes them in; retrieved,
        checked and mirrored like any other. Empty where the source needs none.
    read(files, settings, classes): (splits, unlabelled): splits is {"train": rows, "test": rows} with "valid" where the
        source has one, rows a list of (text, label from 0 on); unlabelled a list of texts. A fault in a file is a
        `common.errors.StudyError` that names it.

A text is one line: `common.files` writes it as it is, so `read` puts spaces for its line breaks.
"""

import functools
import importlib
import os

FOLDER = os.path.dirname(os.path.abspath(__file__))


@functools.cache
def names():
    """Return the names of the sources, sorted."""
    return sorted(name.removesuffix(".py") for name in os.listdir(FOLDER) if name.endswith(".py") and name[0] != "_")


def load(name):
    """Return the module of a source."""
    return importlib.import_module(f"{__name__}.{name}")


def file(name):
    """Return the path of a source's file."""
    return os.path.join(FOLDER, f"{name}.py")


def schema(name):
    """Return the JSON Schema of the block `data.<name>`; null where the study chooses another source."""
    settings = load(name).SETTINGS
    block = {"type": ["object", "null"], "additionalProperties": False, "required": sorted(settings)}
    return block | {"description": f"settings of the source {name}", "properties": settings}
