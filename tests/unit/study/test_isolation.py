"""A script's process as Snakemake starts it, in an environment that holds less than Snakemake's."""

import os
import pickle
import subprocess
import sys
import sysconfig

import pytest

from study.isolation import SCRIPTS, Isolation, is_own
from support.environments import make_environment

# The first lines of a script, as Snakemake 9.27 writes them.
LINES = """
import sys
sys.path.extend({paths!r})
import pickle
parameters = pickle.loads({parameters!r})
from snakemake.logging import logger
from snakemake.iocontainers import Snakemake
"""
PARAMETERS = pickle.dumps({"seed": 1, "isolation": Isolation()})


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of an environment with NumPy and nothing else."""
    return make_environment(tmp_path_factory.mktemp("isolated") / "environment", {"numpy"})


def run(python, code, parameters=PARAMETERS, **variables):
    lines = LINES.format(paths=[sysconfig.get_path("purelib"), SCRIPTS], parameters=parameters)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    command = [str(python), "-c", lines + code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


VERSIONS = "from common.machine import package_versions; print(sorted(package_versions(('numpy', 'scipy'))))"


def test_only_what_the_jobs_environment_holds_is_recorded_and_found(python):
    assert run(python, VERSIONS).stdout == "['numpy', 'python']\n"
    # As it was: those of Snakemake's environment as well.
    assert run(python, VERSIONS, pickle.dumps({"seed": 1})).stdout == "['numpy', 'python', 'scipy']\n"


def test_a_missing_package_is_refused_in_one_message(python):
    done = run(python, "import scipy")
    assert done.returncode == 1
    assert done.stderr.startswith("error: No module named 'scipy': this job's environment, ") and "--sdm" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "ZeroDivisionError" in run(python, "1 / 0").stderr


def test_the_parameter_can_be_handed_on(python):
    assert run(python, "pickle.loads(pickle.dumps(parameters)); print(parameters['seed'])").stdout == "1\n"


def test_a_path_for_all_pythons_stays(python, tmp_path):
    (tmp_path / "more.py").write_text("")
    assert run(python, "import more", PYTHONPATH=str(tmp_path)).returncode == 0


def test_what_is_own():
    assert is_own(sysconfig.get_path("stdlib")) and is_own(sysconfig.get_path("purelib")) and is_own(sys.prefix)
    assert not is_own(sys.prefix + "-other") and not is_own(os.path.expanduser("~/.local/lib"))
