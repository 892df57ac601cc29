"""Copies of this project's tree with files planted in them, and studies that they run."""

import pathlib
import re
import shutil
import subprocess

import yaml

from support import studies, warm

ROOT = pathlib.Path(studies.ROOT)
FILES = ("Snakefile", "config.yaml", "CITATION.cff")
FOLDERS = ("rules", "scripts", "schemas", "envs", "report", "claims", "profiles", "studies", "tools")
# How a guide of docs/development shows a file.
BLOCK = re.compile(r"^\*\*((?:scripts|rules)/\S+)\*\*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def copy(root):
    """Copy what a workflow runs from to an empty folder."""
    for name in FILES:
        shutil.copy(ROOT / name, root / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))


def plant(root, guide, most, fewest=1):
    """Copy the tree to an empty folder, and write the files of a guide; none of them may be there.

    Args:
        root: pathlib.Path of the folder.
        guide: the guide's text.
        most, fewest: files that it may take.

    Returns:
        pathlib.Path: the folder.
    """
    copy(root)
    files = dict(BLOCK.findall(guide))
    assert fewest <= len(files) <= most
    for path, text in files.items():
        assert not (root / path).exists(), f"the guide edits {path}"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def python(root, command, folder=None):
    """Run Python with the code of another tree; return what it did."""
    environment = studies.importing("scripts", "", root=root)
    return subprocess.run(
        [warm.python(), *command], cwd=folder or root, env=environment, capture_output=True, text=True, check=False
    )


def snakemake(root, folder, study, *arguments):
    """Run a study (its settings) with the Snakefile of another tree, in a folder; return what it did."""
    (folder / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")
    command = ["-m", "snakemake", "--snakefile", str(root / "Snakefile"), "--configfile", str(folder / "study.yaml")]
    command += ["--directory", str(folder), "--cores", "2", "--workflow-profile", "none", *arguments]
    return python(root, command, folder)


def finished(root, folder, study):
    """Run a study as `snakemake` does, to its end; return its folder of results."""
    done = snakemake(root, folder, study)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "results" / study["study"]
