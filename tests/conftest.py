"""What several tests share: one tiny study, run once per test session."""

import os

import pytest

import studies

# Jobs buffer what they print, as in a user's shell, whatever the shell of these tests sets.
os.environ.pop("PYTHONUNBUFFERED", None)


def pytest_addoption(parser):
    parser.addoption(
        "--install-environments",
        action="store_true",
        help="install each conda environment's packages with pip, alone, instead of linking those of this environment",
    )


@pytest.fixture(scope="session")
def tiny_study(tmp_path_factory):
    """Return the working folder of a tiny embedded study that ran through real Snakemake, cut off from every network
    where this machine allows it (test_air_gap.py rests on that).

    Tests may plan on it, and take away what can be made again without training; they leave it finished.
    """
    folder = tmp_path_factory.mktemp("tiny-study")
    study, cut = studies.write_study(folder / "study.yaml"), studies.without_network()
    done = studies.snakemake(folder, "--quiet", "progress", study=study, prefix=cut)
    assert done.returncode == 0, done.output
    return folder
