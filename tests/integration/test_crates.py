"""Every RO-Crate, of the published studies and of one that is run here, by roc-validator: required and recommended.

The validator has an environment of its own, made by .ci/run: it wants another `rich` than Snakemake does.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from support.studies import published, published_files, published_studies

ROOT = Path(__file__).resolve().parents[2]
# Where .ci/run installs roc-validator; git ignores it.
PYTHON = ROOT / ".cache" / "roc-validator" / "bin" / "python"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not PYTHON.exists(), reason="no roc-validator in .cache (.ci/run installs it)"),
]


def issues(*folders):
    """Return the validator's lines on crates; the last line of a crate is their number."""
    command = [PYTHON, ROOT / "tests" / "support" / "validate_crates.py", *folders]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def rebuilt(study, folder):
    """A copy of a published study with an empty file for each figure and page that a rebuild makes."""
    shutil.copytree(published(study), folder)
    for name in published_files(study):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_the_published_crates_are_sound(tmp_path):
    folders = [rebuilt(study, tmp_path / study) for study in published_studies()]
    assert len(folders) >= 2
    assert issues(*folders) == [f"{folder}: 0 issues" for folder in folders]


def test_the_crate_of_a_study_is_sound(tiny_study):
    folder = tiny_study / "results" / "tiny"
    assert issues(folder) == [f"{folder}: 0 issues"]


def test_the_validator_notices_a_missing_file_and_a_missing_author(tmp_path):
    folder = rebuilt("open", tmp_path / "crate")
    (folder / "runs.tsv").unlink()
    crate = folder / "ro-crate-metadata.json"
    content = json.loads(crate.read_text(encoding="utf-8"))
    (root,) = (entity for entity in content["@graph"] if entity["@id"] == "./")
    del root["author"]
    crate.write_text(json.dumps(content), encoding="utf-8")
    found = issues(folder)
    assert found[-1] == f"{folder}: 2 issues"
    assert any("REQUIRED" in line and "'runs.tsv'" in line for line in found)
    assert any("RECOMMENDED" in line and "author" in line for line in found)
