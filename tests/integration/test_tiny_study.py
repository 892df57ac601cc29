"""The embedded study, tiny, from generated reviews to the report: what each stage left, and how it is built again."""

import csv
import json
import re
import shutil
import xml.etree.ElementTree
import zipfile
from pathlib import Path

import numpy as np
import pytest

from common.errors import StudyError
from common.files import read_table, sha256
from frameworks.fairseq import compare_logits
from study.configuration import load_study
from study.tables import faults, name_of
from support import studies
from support.snakemake_report import dead_links
from tools import packs
from tools import publish as publish_study

# The tiny study counts as set-up of the first test that needs it.
pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

ARMS = [("fairseq", "pretrained"), ("fairseq", "random"), ("huggingface", "pretrained")]
# config.yaml and studies.TINY: 40 reviews in batches of 8 for 2 epochs are 2 * 5 updates, of which
# floor(0.06 * 10) = 0 warm up.
N_TRAIN, N_VALID, N_TEST, EPOCHS, UPDATES = 40, 20, 30, 2, 10
KEPT = {
    ".jobs",
    ".lock",
    "benchmarks",
    "checkpoint",
    "data",
    "finetuning",
    "logs",
    "predictions",
    "questions.json",
    "state",
}


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


def json_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def results(tiny_study):
    return tiny_study / "results" / "tiny"


@pytest.fixture(scope="module")
def run_rows(results):
    return {(row["framework"], row["init"]): row for row in rows_of(results / "runs.tsv")}


def test_no_temporary_file_is_left(tiny_study):
    assert not [path for path in tiny_study.rglob("*") if path.name.startswith((".part-", ".run-"))]


def test_every_table_has_the_columns_that_are_declared(results):
    # Snakemake writes those in benchmarks/.
    names = [path.relative_to(results).as_posix() for path in results.rglob("*.tsv")]
    names = [name for name in names if not name.startswith("benchmarks/")]
    undeclared = [name for name in names if name_of(name) is None]
    assert len(names) > 20 and undeclared == []
    assert [f"{name}: {fault}" for name in names for fault in faults(name_of(name), *read_table(results / name))] == []


def test_splits_are_disjoint_draws_of_the_configured_sizes(results):
    texts = {}
    for split, n in (("train", N_TRAIN), ("valid", N_VALID), ("test", N_TEST)):
        texts[split] = (results / "data" / f"{split}.review").read_text(encoding="utf-8").splitlines()
        labels = (results / "data" / f"{split}.label").read_text().split()
        assert len(texts[split]) == len(set(texts[split])) == len(labels) == n
        # The generator's sets are balanced and the draws are stratified.
        assert labels.count("1") == n // 2 and labels.count("0") == n // 2
    assert len(set().union(*texts.values())) == N_TRAIN + N_VALID + N_TEST
    corpus = (results / "checkpoint" / "corpus" / "train.txt").read_text(encoding="utf-8")
    assert texts["train"][0] in corpus
    assert not [review for split in ("valid", "test") for review in texts[split] if review in corpus]


def test_training_data_hold_no_test_reviews(results):
    folder = results / "finetuning" / "data-bin" / "train-valid"
    assert not [path for path in folder.rglob("*") if path.name.startswith("test")]


def test_the_tables_of_runs_have_a_row_for_each_arm(results, run_rows):
    assert list(run_rows) == ARMS
    needed = "arm framework model init seed best_epoch best_update valid_accuracy test_accuracy n_train n_valid n_test"
    for row in run_rows.values():
        assert set(needed.split()) <= row.keys()
        assert (row["study"], row["synthetic"], row["seed"]) == ("tiny", "true", "1")
        assert [int(row[key]) for key in ("n_train", "n_valid", "n_test")] == [N_TRAIN, N_VALID, N_TEST]
        assert [int(row[key]) for key in ("total_updates", "warmup_updates")] == [UPDATES, 0]
        assert float(row["train_seconds"]) > 0


@pytest.mark.parametrize("arm", ARMS, ids="-".join)
def test_accuracy_is_the_share_of_right_predictions(results, run_rows, arm):
    rows = rows_of(results / "predictions" / "-".join(arm) / "seed1.tsv")
    assert list(rows[0]) == ["id", "label", "prediction", "probability"]
    assert [int(row["id"]) for row in rows] == list(range(N_TEST))
    assert [row["label"] for row in rows] == (results / "data" / "test.label").read_text().split()
    for row in rows:
        probability = float(row["probability"])
        assert 0 < probability < 1
        # At exactly one half either class is right.
        assert probability == 0.5 or int(row["prediction"]) == (probability > 0.5)
    right = sum(row["label"] == row["prediction"] for row in rows)
    assert float(run_rows[arm]["test_accuracy"]) == right / N_TEST


@pytest.mark.parametrize("arm", ARMS, ids="-".join)
def test_the_earliest_epoch_of_the_best_is_tested(results, run_rows, arm):
    rows = [row for row in rows_of(results / "history.tsv") if (row["framework"], row["init"]) == arm]
    points = {(row["split"], row["metric"], int(row["epoch"])): row for row in rows}
    assert len(points) == len(rows)
    for epoch in (1, 2):
        for split in ("train", "valid"):
            assert float(points[split, "loss", epoch]["value"]) > 0
            assert int(points[split, "accuracy", epoch]["update"]) == epoch * UPDATES // EPOCHS
        assert 0 <= float(points["test", "accuracy", epoch]["value"]) <= 1
    correct = {epoch: int(float(points["valid", "n_correct", epoch]["value"])) for epoch in (1, 2)}
    # The second of two epochs is chosen only if it is strictly better.
    chosen = 2 if correct[2] > correct[1] else 1
    selected = json_of(results / "finetuning" / "-".join(arm) / "seed1" / "selected.json")
    assert selected["epoch"] == int(run_rows[arm]["best_epoch"]) == chosen
    assert selected["update"] == int(run_rows[arm]["best_update"]) == chosen * UPDATES // EPOCHS
    assert selected["rule"] == "earliest of equals"
    assert float(run_rows[arm]["valid_accuracy"]) == correct[chosen] / N_VALID
    # The curve's point at the chosen epoch comes from another rule than the predictions do.
    assert points["test", "accuracy", chosen]["value"] == run_rows[arm]["test_accuracy"]


def test_both_frameworks_see_the_same_token_ids(results):
    for split, n in (("train", N_TRAIN), ("valid", N_VALID), ("test", N_TEST)):
        parity = json_of(results / "finetuning" / "token-ids" / "checkpoint" / f"{split}.parity.json")
        assert parity["n"] == parity["n_identical"] == parity["n_labels_equal"] == n
        assert parity["n_tokens"] > n and not parity["differing"]


def test_both_frameworks_compute_the_same(results, tmp_path):
    rows = rows_of(results / "logit_parity.tsv")
    assert [row["weights"] for row in rows] == [*["checkpoint"] * 2, "fairseq, fine-tuned", "Hugging Face, fine-tuned"]
    assert {row["n_reviews"] for row in rows} == {str(N_VALID)}
    assert all(0 <= float(row["max_abs_difference"]) <= 1e-4 for row in rows)
    assert [int(row["n_values"]) for row in rows[2:]] == [2 * N_VALID] * 2


@pytest.mark.parametrize("quantity", ["features", "vocabulary", "fairseq", "huggingface"])
def test_a_logit_that_differs_is_an_error(results, tmp_path, quantity):
    with np.load(results / "finetuning" / "logits" / "fairseq.npz") as archive:
        values = dict(archive)
    values[quantity][3, 1] += 3e-4
    np.savez(tmp_path / "changed.npz", **values)
    runs = {}
    for framework in ("fairseq", "huggingface"):
        folder = results / "finetuning" / f"{framework}-pretrained" / "seed1"
        runs |= {framework: str(folder / "selected"), f"{framework}_selected": str(folder / "selected.json")}
    message = r"differ by 0\.000[23].* between fairseq and Hugging Face on the same 20 reviews"
    with pytest.raises(StudyError, match=message):
        compare_logits.main(
            **runs,
            logits=str(tmp_path / "changed.npz"),
            folder=str(results / "checkpoint" / "huggingface"),
            token_ids=str(results / "finetuning" / "token-ids" / "checkpoint" / "valid.npz"),
            table=str(tmp_path / "parity.tsv"),
            batch_size=8,
            threads=1,
        )
    assert not (tmp_path / "parity.tsv").exists()


def test_every_number_of_the_report_is_traced(results):
    rows = rows_of(results / "report_numbers.tsv")
    assert len(rows) > 500 and all(row["where"] and (row["file"] or row["formula"]) for row in rows)


@pytest.mark.parametrize("arm", ARMS, ids="-".join)
def test_runs_start_from_the_weights_that_they_claim(results, arm):
    proof = json_of(results / "finetuning" / "-".join(arm) / "seed1" / "weights.json")
    assert proof["init"] == arm[1] and proof["head"]
    if arm[1] == "pretrained":
        assert proof["n_equal"] > 0 and proof["n_different"] == proof["n_absent"] == 0
    rows = {(row["framework"], row["init"]): row for row in rows_of(results / "weights.tsv")}
    row = {name: int(rows[arm][name]) for name in ("n_tensors", "n_equal", "n_new", "n_constant")}
    assert row["n_tensors"] == len(proof["tensors"]) == row["n_equal"] + row["n_new"] + row["n_constant"]
    assert row["n_equal" if arm[1] == "pretrained" else "n_new"] > 0
    assert row["n_new" if arm[1] == "pretrained" else "n_equal"] == 0


def test_each_run_keeps_its_checkpoints_and_curves(results):
    for framework, init in ARMS:
        folder = results / "finetuning" / f"{framework}-{init}" / "seed1"
        names = {path.name for path in (folder / "checkpoints").iterdir() if not path.name.startswith(".snakemake")}
        fairseq = framework == "fairseq"
        assert names == ({f"checkpoint{n}.pt" for n in (1, 2)} if fairseq else {"epoch1", "epoch2"})
        epoch = json_of(folder / "selected.json")["epoch"]
        kept = {path.name for path in (folder / "selected").iterdir() if not path.name.startswith(".snakemake")}
        assert kept == {f"checkpoint{epoch}.pt" if fairseq else f"epoch{epoch}"}
        assert [path for path in (folder / "tensorboard").rglob("events.out.*") if path.stat().st_size]


def test_test_accuracy_is_told_in_three_forms(results, run_rows):
    rows = rows_of(results / "test_accuracy.tsv")
    assert list(rows[0]) == [
        *("arm", "framework", "model", "init"),
        *("n_seeds", "mean", "sd_ddof1", "sd_ddof0", "min", "max"),
    ]
    assert [(row["framework"], row["init"]) for row in rows] == ARMS
    markdown, latex = ((results / f"test_accuracy.{end}").read_text(encoding="utf-8") for end in ("md", "tex"))
    for row in rows:
        accuracy = run_rows[row["framework"], row["init"]]["test_accuracy"]
        # One seed: the mean is its accuracy, and there is no spread with ddof 1.
        assert row["n_seeds"] == "1" and row["mean"] == row["min"] == row["max"] == accuracy
        assert row["sd_ddof1"] == "" and float(row["sd_ddof0"]) == 0
        shown = f"{100 * float(accuracy):.2f}"
        assert shown in markdown and shown in latex
    assert markdown.startswith("| Arm") and "\\begin{tabular}" in latex
    assert "ynthetic" in markdown and "ynthetic" in latex


def test_figures_are_drawn_as_svg_and_png(results):
    figures = [f"accuracy_by_epoch/{framework}-{init}" for framework, init in ARMS] + ["arms"]
    for name in figures:
        root = xml.etree.ElementTree.parse(results / "figures" / f"{name}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert (results / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_the_report_is_one_page_that_says_synthetic(results, run_rows):
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "(synthetic data)</title>" in page and page.count("synthetic") > 1
    for row in run_rows.values():
        assert f"{100 * float(row['test_accuracy']):.2f}" in page
    # Three arms' curves and the arms compared.
    assert page.count("data:image/svg+xml;base64,") >= 4
    # Self-contained: nothing is loaded from elsewhere.
    assert not re.search(r"""<(?:link|script|img|iframe)[^>]+(?:src|href)=(?!["']?(?:data:|#))""", page)


def test_a_checkpoint_is_taken_from_a_folder(tiny_study, results):
    names = ("model.pt", "dict.txt", "sentencepiece.bpe.model")
    mine, target = tiny_study / "mine", "results/again/checkpoint/model.pt"
    changes = {"study": "again", "checkpoint": {"source": "folder", "folder": "mine"}}
    study = studies.write_study(tiny_study / "again.yaml", changes)
    missing = studies.snakemake(tiny_study, target, study=study)
    assert missing.returncode != 0 and "checkpoint.folder: there is no mine/model.pt" in missing.output
    mine.mkdir()
    for name in names:
        shutil.copyfile(results / "checkpoint" / name, mine / name)
    assert studies.snakemake(tiny_study, target, study=study).returncode == 0
    for name in names:
        assert (tiny_study / "results" / "again" / "checkpoint" / name).read_bytes() == (mine / name).read_bytes()
    shutil.rmtree(mine)
    # The copy may be of another checkpoint than the study names now: it trains nothing.
    gone = studies.snakemake(tiny_study, "results/again/checkpoint/tokenizer", study=study)
    assert gone.returncode != 0 and "checkpoint.folder: there is no mine/model.pt" in gone.output
    # As `make regenerate` does, when the folder has gone.
    rest = "results/again/checkpoint/tokenizer"
    again = studies.snakemake(tiny_study, rest, "--dry-run", "--allowed-rules", "convert_tokenizer", study=study)
    assert again.returncode == 0 and studies.planned(again.output) == {"convert_tokenizer": 1}
    assert "checkpoint.folder: there is no mine/model.pt; the study's own copy is used instead" in again.output
    shutil.rmtree(tiny_study / "results" / "again")


def test_a_finished_study_is_published_with_what_made_it(tiny_study, results, tmp_path):
    page, readme, folder = tmp_path / "published.md", tmp_path / "README.md", tmp_path / "docs"
    pages = [str(page), str(readme)]
    config, _ = load_study(studies.ROOT, str(tiny_study / "study.yaml"))
    start, end = publish_study.marks(config["study"])
    with pytest.raises(StudyError, match="needs the marks"):
        page.write_text("no marks", encoding="utf-8")
        readme.write_text("no marks", encoding="utf-8")
        publish_study.main(str(results), config, "study.yaml", str(folder), pages)
    page.write_text(f"before {start} old {end} after", encoding="utf-8")
    more = {**config, "finetuning": {**config["finetuning"], "seeds": [1, 97]}}
    with pytest.raises(StudyError, match=r"lacks 3 of \d runs, finetuning/fairseq-pretrained/seed97"):
        publish_study.main(str(results), more, "study.yaml", str(folder), pages)
    assert not folder.exists()
    publish_study.main(str(results), config, "study.yaml", str(folder), pages)
    assert readme.read_text(encoding="utf-8") == "no marks"
    # README.md shows a study in short where it has the marks.
    start, end = publish_study.marks(config["study"], "summary")
    readme.write_text(f"{start} old {end}", encoding="utf-8")
    publish_study.main(str(results), config, "study.yaml", str(folder), pages)
    unpacked, sums = Path(packs.opened(str(folder))), packs.listed(folder)
    assert publish_study.summary(str(unpacked), "docs") in readme.read_text(encoding="utf-8")
    records = [f"finetuning/fairseq-random/seed1/{name}" for name in publish_study.RECORDS]
    for name in {*publish_study.FILES, *publish_study.links(results / "report.html"), *records}:
        digest = sha256(unpacked / name) if (unpacked / name).exists() else sums[name]
        assert digest == sha256(results / name)
    for name in ("report.html", "figures/arms.svg", "test_accuracy.tsv"):
        assert (folder / name).read_bytes() == (results / name).read_bytes()
    assert not (folder / "finetuning").exists() and not (folder / "figures" / "arms.png").exists()
    assert (results / "test_accuracy.md").read_text(encoding="utf-8").strip() in page.read_text(encoding="utf-8")
    assert "published" in (folder / "comparison.html").read_text(encoding="utf-8")
    made = (folder / "README.md").read_text(encoding="utf-8")
    run = json_of(results / "finetuning" / "fairseq-random" / "seed1" / "run.json")
    assert "`make study STUDY=study.yaml [MIRROR=FOLDER]`" in made
    assert f"Runs: {len(ARMS)}" in made and run["machine"]["cpu"] in made and run["commit"] in made
    assert all(f"{package} {version}" in made for package, version in run["versions"].items())


@pytest.mark.parametrize("choice", [("--allowed-rules", "build_report"), ("--rerun-triggers", "mtime")], ids=str)
def test_results_are_not_shown_with_settings_that_they_were_not_made_with(tiny_study, results, choice):
    """As `make regenerate` does after an edit to the study's file."""
    first = (tiny_study / "study.yaml").read_bytes()
    study = studies.write_study(tiny_study / "study.yaml", {"finetuning": {"training": {"weight_decay": 0.5}}})
    before = sha256(results / "report.html")
    page = str((results / "report.html").relative_to(tiny_study))
    done = studies.snakemake(tiny_study, page, "--forcerun", "build_report", *choice, study=study)
    assert done.returncode != 0
    assert re.search(
        "finetuning.training.weight_decay: the results (in results/tiny )?were made with 0.01", done.output
    )
    assert sha256(results / "report.html") == before
    (tiny_study / "study.yaml").write_bytes(first)
    assert studies.plan(tiny_study, study=tiny_study / "study.yaml") == {}


def test_another_file_does_not_write_into_a_studys_results(tiny_study, results):
    """A copied study file that kept its name, and one without a name, which would be the embedded study's."""
    copied = studies.write_study(tiny_study / "copied.yaml", {"finetuning": {"seeds": [7]}})
    before = sha256(results / "report.html")
    done = studies.snakemake(tiny_study, study=copied)
    assert done.returncode != 0 and sha256(results / "report.html") == before
    assert "holds the results of study.yaml, and copied.yaml gives its study the same name" in done.output
    (tiny_study / "nameless.yaml").write_text("finetuning: {seeds: [1]}\n")
    done = studies.snakemake(tiny_study, study=tiny_study / "nameless.yaml")
    assert "nameless.yaml has no key study; give the study a name of its own, such as study: nameless" in done.output
    assert done.returncode != 0 and not (tiny_study / "results" / "embedded").exists()


def test_snakemakes_own_report_has_no_dead_link(tiny_study, tmp_path):
    study, made = tiny_study / "study.yaml", tmp_path / "own.zip"
    done = studies.snakemake(tiny_study, "--report", str(made), study=study)
    assert done.returncode == 0, done.output
    with zipfile.ZipFile(made) as archive:
        (page,) = [name for name in archive.namelist() if name.endswith("/report_alone.html")]
        assert b'<section id="answer"' in archive.read(page)
    dead, followed = dead_links(made)
    assert dead == [] and followed > 20


@pytest.mark.slow
def test_report_figures_and_tables_are_built_again_alike_without_training(tiny_study, results):
    made = [path for path in results.iterdir() if path.name not in KEPT]
    assert {"figures", "history.tsv", "report.html", "runs.tsv", "test_accuracy.tsv"} <= {path.name for path in made}
    files = [path for root in made for path in ([root] if root.is_file() else root.rglob("*")) if path.is_file()]
    before = {path: sha256(path) for path in files}
    for path in made:
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    study = tiny_study / "study.yaml"
    jobs = studies.plan(tiny_study, study=study)
    assert {"aggregate_runs", "build_report", "plot_arms", "tabulate_test_accuracy"} <= jobs.keys()
    training = ("pretrain", "finetune_", "evaluate_", "test_curve_", "select_", "binarize_", "build_splits", "convert_")
    assert not [rule for rule in jobs if rule.startswith(training)]
    done = studies.snakemake(tiny_study, "--quiet", "progress", study=study)
    assert done.returncode == 0, done.output
    assert {path: sha256(path) for path in files} == before
    assert studies.plan(tiny_study, study=study) == {}
