"""Downloads are shared by all studies: made again, they make no study again unless their bytes are others."""

import pathlib
import shutil

import pytest
import yaml

from support import studies

pytestmark = pytest.mark.integration

ADDRESS = "https://texts.invalid/train.csv"
TARGET = "results/tiny/data/manifest.json"


def table(n, words):
    return "text;label\n" + "".join(f"{words} {k} {'mot ' * 60};{k % 2}\n" for k in range(n))


@pytest.mark.parametrize("name", ["generic", "slurm"])
def test_what_replaces_the_default_profile_compares_as_many_bytes(name):
    profiles = [pathlib.Path(studies.ROOT, "profiles", each, "config.yaml").read_text() for each in (name, "default")]
    ours, default = (yaml.safe_load(text)["max-checksum-file-size"] for text in profiles)
    assert ours == default


def test_a_download_made_again_makes_no_study_again(tmp_path):
    place = tmp_path / "mirror" / "texts.invalid" / "train.csv"
    place.parent.mkdir(parents=True)
    place.write_text(table(5000, "livre"), encoding="utf-8")
    # More than Snakemake's own limit of 1 MB, up to which it compares the bytes of what is younger.
    assert place.stat().st_size > 1_200_000
    (tmp_path / "test.csv").write_text(table(20, "roman"), encoding="utf-8")
    tables = {"train": ADDRESS, "test": "test.csv"}
    data = {"source": "table", "labels": ["0", "1"], "table": tables, "n_train": 40, "n_valid": 20}
    study = studies.write_study(tmp_path / "study.yaml", {"mirror": str(tmp_path / "mirror"), "data": data})

    def run(*arguments):
        done = studies.snakemake(tmp_path, TARGET, *arguments, study=study, profile=None)
        assert done.returncode == 0, done.output
        return studies.planned(done.output)

    assert run().keys() == {"retrieve_table", "build_splits"}
    shutil.rmtree(tmp_path / "resources")
    assert run() == {}
    retrieved = f"resources/{place.relative_to(tmp_path / 'mirror')}"
    assert studies.snakemake(tmp_path, retrieved, study=study, profile=None).returncode == 0
    assert run("--dry-run") == {}
    place.write_text(table(5000, "autre"), encoding="utf-8")
    shutil.rmtree(tmp_path / "resources")
    assert studies.snakemake(tmp_path, retrieved, study=study, profile=None).returncode == 0
    assert run("--dry-run") == {"build_splits": 1}
