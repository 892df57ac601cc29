"""A data source is added in one file: that of add_a_data_source.md is planted in a copy of the tree."""

import pathlib
import re
import shutil
import zipfile

import pytest
import yaml

from common.files import read_json, read_lines
from support import studies, trees

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ROOT = pathlib.Path(studies.ROOT)
GUIDE = (ROOT / "docs" / "development" / "add_a_data_source.md").read_text(encoding="utf-8")
OWN = yaml.safe_load(re.search(r"^```yaml\n(study:.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)[1])
STUDY = studies.merged(studies.TINY, OWN)
# No arm starts from the checkpoint's words alone: the splits are what is looked at.
STUDY = studies.merged(STUDY, {"qa": {"enabled": False}})


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return trees.plant(tmp_path_factory.mktemp("tree"), GUIDE, most=1)


def pack(path, extra=()):
    """Write a zip of 60 training and 20 test texts of two classes, a line break in each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for split, n in (("train", 60), ("test", 20)):
            for i in range(n):
                label = ("neg", "pos")[i % 2]
                archive.writestr(f"{split}/{label}/{i:02d}.txt", f"{split} text {i}\nof {label}")
        for name in extra:
            archive.writestr(name, "text")


@pytest.fixture
def folder(tmp_path):
    pack(tmp_path / "mirror" / "example.org" / "reviews.zip")
    return tmp_path


def splits_of(tree, folder, *arguments, study=STUDY):
    study = studies.merged(study, {"mirror": str(folder / "mirror")})
    target = f"results/{study['study']}/data/manifest.json"
    return trees.snakemake(tree, folder, study, target, *arguments)


def test_its_texts_become_the_splits(tree, folder):
    done = splits_of(tree, folder)
    assert done.returncode == 0, done.stderr[-3000:]
    data = folder / "results" / "mystudy" / "data"
    manifest = read_json(data / "manifest.json")
    assert {name: split["n"] for name, split in manifest["splits"].items()} == {"train": 40, "valid": 20, "test": 20}
    assert manifest["source"] == "text_files" and manifest["labels"] == ["neg", "pos"] and not manifest["synthetic"]
    assert list(manifest["files"]) == ["https://example.org/reviews.zip"]
    texts = read_lines(data / "test.review")
    assert sorted(texts) == sorted(f"test text {i} of {('neg', 'pos')[i % 2]}" for i in range(20))
    labels = read_lines(data / "test.label")
    assert all((label == "1") == text.endswith("pos") for text, label in zip(texts, labels, strict=True))
    # Its file is a parameter: an edit plans the splits anew.
    edited = folder / "tree"
    shutil.copytree(tree, edited)
    with open(edited / "scripts/sources/text_files.py", "a", encoding="utf-8") as handle:
        handle.write("\n# Changed.\n")
    again = splits_of(edited, folder, "--dry-run", "--quiet", "host")
    assert "rule build_splits:" in again.stdout + again.stderr
    done = splits_of(tree, folder, "--dry-run")
    assert "Nothing to be done" in done.stdout + done.stderr


def test_a_fault_in_its_file_is_one_message(tree, folder):
    pack(folder / "mirror" / "example.org" / "reviews.zip", ["train/neutral/1.txt"])
    done = splits_of(tree, folder)
    assert done.returncode and "train/neutral/1.txt is of the class 'neutral'; data.labels are neg, pos" in done.stderr


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"text_files": None}, "data.source is text_files, so data.text_files must have its settings"),
        ({"text_files": {"url": "no address"}}, "data.text_files.url"),
        ({"text_files": {"url": "https://example.org/reviews.zip", "urls": []}}, "urls"),
        ({"source": "text_file"}, "text_files"),
    ],
)
def test_settings_that_it_does_not_have_are_refused(tree, folder, data, said):
    done = splits_of(tree, folder, "--dry-run", study=studies.merged(STUDY, {"data": data}))
    assert done.returncode and said in done.stdout + done.stderr
