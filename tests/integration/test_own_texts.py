"""A study of somebody's own texts in three classes: from tables, local and through a mirror, to page and model card."""

import json
import os
import pathlib
import shutil

import pytest

from common.files import read_json, read_lines, read_tsv
from support import studies

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1800)]

# The order is not alphabetical: a class's number is its place.
LABELS = ["steady", "rising", "falling"]
ADDRESS = "https://texts.invalid/v1/more.jsonl"
ARMS = {
    "old": {"framework": "fairseq", "model": "checkpoint", "init": "random"},
    "new": {
        "framework": "huggingface",
        "model": "checkpoint",
        "init": "pretrained",
        "training": {"epochs": 3, "lr": 6e-4},
    },
}


def texts(first, n):
    """n texts whose class is in their words, balanced over three classes."""
    words = {"steady": "stays as it is", "rising": "climbs, and climbs", "falling": "drops\nagain"}
    return [(f"Value {k} of the series {words[LABELS[k % 3]]}", LABELS[k % 3]) for k in range(first, first + n)]


def quoted(rows):
    return "label;text\n" + "".join(f'{label};"{text}"\n' for text, label in rows)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The study's file; tables lie beside it, and a mirror that holds the other part of train."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "train.csv").write_text("\ufeff" + quoted(texts(0, 30)), encoding="utf-8")
    (folder / "test.csv").write_text(quoted(texts(60, 24)), encoding="utf-8")
    more = folder / "mirror" / "texts.invalid" / "v1" / "more.jsonl"
    more.parent.mkdir(parents=True)
    more.write_text("".join(json.dumps({"text": t, "label": k}) + "\n" for t, k in texts(30, 30)), encoding="utf-8")
    table = {"train": ["train.csv", ADDRESS], "test": "test.csv", "language": "en", "licence": "CC BY 4.0"}
    sizes = {"n_train": None, "n_valid": 12}
    return studies.write_study(
        folder / "study.yaml",
        {
            "mirror": str(folder / "mirror"),
            "data": {"source": "table", "labels": LABELS, "table": table, **sizes},
            "checkpoint": {"sentencepiece": {"vocab_size": 100}},
            "finetuning": {"arms": ARMS, "evaluation": {"test_curves": False}},
            "report": {"show_texts": True},
        },
    )


@pytest.fixture(scope="module")
def results(study, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "own0"
    done = studies.snakemake(folder, study=study)
    assert done.returncode == 0, done.output
    card = studies.snakemake(folder, "results/tiny/models/new-seed1", study=study)
    assert card.returncode == 0, card.output
    return folder / "results" / "tiny"


def test_the_splits_are_those_of_the_tables(results):
    manifest = read_json(results / "data" / "manifest.json")
    assert manifest["source_reviews"] == {"train": 60, "test": 24}
    assert {split: manifest["splits"][split]["n_by_class"] for split in ("train", "valid", "test")} == {
        "train": [16, 16, 16],
        "valid": [4, 4, 4],
        "test": [8, 8, 8],
    }
    assert list(manifest["files"]) == sorted(["train.csv", ADDRESS, "test.csv"])
    rows = zip(read_lines(results / "data" / "test.review"), read_lines(results / "data" / "test.label"), strict=True)
    assert list(rows) == [(text.replace("\n", " "), str(LABELS.index(label))) for text, label in texts(60, 24)]


def test_both_frameworks_tell_three_classes_apart(results):
    for arm in ARMS:
        rows = read_tsv(results / "predictions" / arm / "seed1.tsv")
        assert len(rows) == 24 and {row["label"] for row in rows} == {"0", "1", "2"}
        shares = [sum(float(row[f"probability_{k}"]) for k in range(3)) for row in rows]
        assert all(abs(share - 1) < 1e-5 for share in shares)


def test_an_arm_is_trained_by_its_own_settings(results):
    made = {arm: read_json(results / "finetuning" / arm / "seed1" / "run.json") for arm in ARMS}
    # 48 reviews in batches of 8: six updates an epoch, of which the tiny study makes two.
    assert {arm: record["total_updates"] for arm, record in made.items()} == {"old": 12, "new": 18}
    assert made["new"]["protocol"]["peak_lr"] == 6e-4 != made["old"]["protocol"]["peak_lr"]


def test_language_and_licence_are_shown(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "Language: en." in page and "CC BY 4.0" in page
    assert '<blockquote lang="en">' in page and 'lang="fr"' not in page
    card = (results / "models" / "new-seed1" / "README.md").read_text(encoding="utf-8")
    assert 'language: "en"\n' in card and "CC BY 4.0" in card and "steady, rising, falling" in card


def test_a_fault_is_one_message_and_leaves_nothing(study, tmp_path):
    folder = tmp_path / "faulty"
    shutil.copytree(study.rpartition("/")[0], folder, ignore=shutil.ignore_patterns("results", ".snakemake"))
    (folder / "test.csv").write_text(quoted([*texts(60, 24), ("What now", "unknown")]), encoding="utf-8")
    target = "results/tiny/data/manifest.json"
    done = studies.snakemake(folder, target, study=study)
    message = (
        "error in rule build_splits: test.csv: row 25 (line 34) has the label 'unknown', which is not in data.labels"
    )
    assert done.returncode == 1 and done.output.count(message) == 1 and "Traceback" not in done.output
    assert not list((folder / "results" / "tiny" / "data").glob("*"))
    (folder / "test.csv").unlink()
    done = studies.snakemake(folder, target, study=study)
    assert done.returncode == 1 and "configuration: data.table.test: there is no file test.csv in" in done.output


def test_a_table_that_was_replaced_by_an_older_one_is_read_again(study, results):
    """Neither its time stamp nor its size decides: `cp -p`, `rsync -a` and `git checkout` bring older files."""
    folder, table = results.parents[1], results.parents[1] / "test.csv"
    first, times = table.read_bytes(), table.stat()
    assert studies.plan(folder, study=study) == {}
    for content in (quoted(texts(60, 12)).encode(), first.replace(b"Value 60", b"Value 99")):
        table.write_bytes(content)
        os.utime(table, (1_577_836_800, 1_577_836_800))
        assert "build_splits" in studies.plan(folder, study=study)
    table.write_bytes(first)
    os.utime(table, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert studies.plan(folder, study=study) == {}


def test_without_snakemakes_records_other_settings_or_tables_are_refused(study, results):
    folder, table = results.parents[1], results.parents[1] / "test.csv"
    before, written = table.read_bytes(), pathlib.Path(study).read_text(encoding="utf-8")
    # Settings that differ and results that are marked as up to date.
    pathlib.Path(study).write_text(written.replace("lr: 0.0006", "lr: 0.02"), encoding="utf-8")
    touched = studies.snakemake(folder, "--touch", study=study)
    assert touched.returncode != 0 and "--touch would leave them as they are" in touched.output
    (folder / ".snakemake" / "metadata").rename(folder / "kept")
    try:
        done = studies.snakemake(folder, study=study)
        assert done.returncode != 0 and "were made with 0.0006, and the settings now say 0.02" in done.output
        export = studies.snakemake(folder, "results/tiny/models/new-seed1", study=study)
        assert export.returncode != 0 and "finetuning.arms.new.training.lr" in export.output
        pathlib.Path(study).write_text(written, encoding="utf-8")
        assert studies.snakemake(folder, "--dry-run", study=study).returncode == 0
        table.write_bytes(before.replace(b"Value 60", b"Value 99"))
        os.utime(table, (1_577_836_800, 1_577_836_800))
        done = studies.snakemake(folder, study=study)
        assert done.returncode != 0 and "test.csv is not the file that the results" in done.output
    finally:
        table.write_bytes(before)
        os.utime(table, (1_577_836_800, 1_577_836_800))
        pathlib.Path(study).write_text(written, encoding="utf-8")
        shutil.rmtree(folder / ".snakemake" / "metadata", ignore_errors=True)
        (folder / "kept").rename(folder / ".snakemake" / "metadata")
    assert studies.plan(folder, study=study) == {}
