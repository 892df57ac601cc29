"""Imports without packages that a library loads eagerly and no training uses: they cost every job time and memory."""

import contextlib
import importlib
import sys
import types


@contextlib.contextmanager
def without(*names):
    """A context in which these modules count as not installed; loaded ones stay.

    This suits packages that are optional for a library.
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
    """A context in which these modules are stand-ins; loaded ones stay.

    A library that takes a function from a stand-in gets one that imports the real module when it is called.
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
