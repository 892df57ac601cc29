"""Isolation: a job sees only its environment's packages, none of Snakemake's or of the user's home.

Snakemake puts its own search path at the end of a script's, to load there what it hands over. Where Snakemake lives in
another environment than the job, every package that the job's lacks would come from there, optional ones unnoticed.
"""

import os
import pathlib
import site
import sys
import sysconfig

from common.errors import StudyError

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The versions of setuptools and other build packages.
LOCK = os.path.join(os.path.dirname(SCRIPTS), "requirements.txt")


def leave_out_home():
    """Keep the packages in the user's home (`~/.local`) from all processes that this one starts, conda and pip too.

    Raises:
        StudyError: Snakemake itself is there, and its jobs could not start it.
    """
    # This also covers Snakemake, which is already imported.
    place = os.path.dirname(sys.modules["snakemake"].__file__)
    if place.startswith(os.path.join(site.getusersitepackages(), "")):
        raise StudyError(
            f"Snakemake was installed into the user's home ({place}), where no job of this workflow looks: give it an "
            "environment of its own; see docs/guides/containers.md"
        )
    os.environ["PYTHONNOUSERSITE"] = "1"


def pin_build_tools():
    """Let pip build packages with locked tools in the environments that Snakemake creates (`--sdm conda`).

    Source: pip's `--build-constraint`, which pip 25.3 and later read from `PIP_BUILD_CONSTRAINT`. envs/*.yaml pin pip.
    """
    # pip splits the variable at spaces; an address has none.
    lock = pathlib.Path(LOCK).as_uri()
    given = os.environ.get("PIP_BUILD_CONSTRAINT", "").split()
    os.environ["PIP_BUILD_CONSTRAINT"] = " ".join([*(place for place in given if place != lock), lock])


class Isolation:
    """A parameter of every job that isolates the job's process by being unpickled there.

    That happens in the lines that Snakemake puts before a script's own, so before its imports. Snakemake records no
    parameter of a type that it does not know: this one reruns nothing.
    """

    def __reduce__(self):
        """Return the call of `isolate` that unpickling makes."""
        return isolate, ()


def isolate():
    """Remove entries outside this process's environment from `sys.path`, except the project's `scripts/`.

    Returns:
        Isolation: what was unpickled.
    """
    # Snakemake's lines import these next and could no longer find them.
    import snakemake.iocontainers
    import snakemake.logging  # noqa: F401

    sys.path[:] = [SCRIPTS, *filter(is_own, sys.path)]
    sys.excepthook = tell_missing
    return Isolation()


def is_own(path):
    """Return whether a path belongs to this process's environment: its prefix, Python itself, PYTHONPATH."""
    places = sysconfig.get_paths()
    roots = [sys.prefix, places["stdlib"], places["platstdlib"], *site.getsitepackages()]
    roots += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    path = os.path.abspath(path)
    return any(path == place or path.startswith(os.path.join(place, "")) for place in map(os.path.abspath, roots))


def tell_missing(kind, error, trace):
    """Print an exception that nothing caught; a missing package is reported with the remedy, in one message."""
    if kind is ModuleNotFoundError:
        print(
            f"error: {error}: this job's environment, {sys.prefix}, lacks it, and no other environment is searched. "
            "Let Snakemake make the environments (--sdm conda) or use `make`; see docs/guides/containers.md",
            file=sys.stderr,
        )
    else:
        sys.__excepthook__(kind, error, trace)
