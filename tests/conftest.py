"""Fixtures of several tests: one tiny study, run once per test session."""

import gc
import os
import shutil
import sys

import pytest
from filelock import FileLock

from support import studies

# Two of pytest's processes share two cores: more threads would wait for each other. A rule's job has its own number.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Jobs buffer what they print, as in a user's shell, whatever the shell of these tests sets.
os.environ.pop("PYTHONUNBUFFERED", None)
# Most tests read Snakemake's own text; test_terminal.py reads what a person sees in its place.
os.environ["VERBOSE"] = "1"


def pytest_addoption(parser):
    parser.addoption(
        "--install-environments",
        action="store_true",
        help="install each conda environment's packages with pip, alone, instead of linking those of this environment",
    )


def pytest_collection_finish():
    """Spare what was imported from every later collection of garbage: statsmodels asks for one at each correction."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def smallest_numbers():
    """Let numbers below float32's normal range be themselves again: a training in this process made them 0."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture(scope="session")
def tiny_study(tmp_path_factory):
    """Return the working folder of a tiny embedded study that ran through real Snakemake, cut off from every network
    where this machine allows it (test_air_gap.py rests on that). `.snakemake/watched` has the scripts of its jobs.

    One of pytest's processes runs it, each has a copy. Tests may plan on it, and take away what can be made again
    without training; they leave it finished.
    """
    base = tmp_path_factory.getbasetemp()
    whole = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tiny-study-whole"
    with FileLock(f"{whole}.lock"):
        if not whole.exists():
            made = tmp_path_factory.mktemp("tiny-study-made")
            study, cut = studies.write_study(made / "study.yaml"), studies.without_network()
            seen = studies.watched(made / ".snakemake" / "watched")
            done = studies.snakemake(made, "--quiet", "progress", study=study, prefix=cut, env=seen)
            assert done.returncode == 0, done.output
            made.rename(whole)
    return shutil.copytree(whole, tmp_path_factory.mktemp("tiny-study"), symlinks=True, dirs_exist_ok=True)
