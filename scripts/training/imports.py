"""Imports without packages that a library loads at once and no training uses: they cost every job time and memory."""

import contextlib
import importlib
import sys
import types


@contextlib.contextmanager
def without(*names):
    """While it lasts, these modules count as not installed; what is loaded already stays.

    For packages that a library does without where they are missing.
    """
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextlib.contextmanager
def postponed(*names):
    """While it lasts, these modules are stand-ins; what is loaded already stays.

    What a library takes from a stand-in is a function that imports the real one when it is called.
    """
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update({name: _stand_in(name) for name in hidden})
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _stand_in(name):
    def later(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return lambda *args, **kwargs: getattr(importlib.import_module(name), attribute)(*args, **kwargs)

    module = types.ModuleType(name)
    module.__getattr__ = later
    return module
