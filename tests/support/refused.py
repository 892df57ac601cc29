"""A script whose `main` must end with a `StudyError`, in one of `support.killed_runs`' children."""

import importlib
from pathlib import Path

from common.errors import StudyError


def main(refused, told, **arguments):
    """Call the `main` of the module `refused` and write the message that it ends with to the file `told`."""
    try:
        importlib.import_module(refused).main(**arguments)
    except StudyError as error:
        Path(told).write_text(str(error))
