"""The folder to hand in: numbers bound to files, words that stay the student's, figures at a column's width."""

import contextlib
import io
import random
import re
import shutil

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from common.errors import StudyError
from common.files import read_tsv, write_json, write_text, write_tsv
from measures import Lead
from study.products import products
from support.crates import write_crate
from support.result_sets import make_errors, make_page, settings_of, simulated, write_tables
from tools import handin
from tools.published_answers import answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A simulated study of two arms, handed in."""
    folder = tmp_path_factory.mktemp("handin") / "simulated"
    arms = [("fairseq", "pretrained"), ("fairseq", "random")]
    labels, runs = simulated(random.Random(3), 200, arms, [1, 2, 3], [0.8, 0.66])
    with contextlib.redirect_stdout(io.StringIO()):
        files = write_tables(folder, labels, runs)
        files |= make_errors(folder, files)
    row = {"baseline": "tfidf_words", "features": "words", "valid_accuracy": 0.7, "test_accuracy": 0.7125}
    write_tsv(folder / "baselines.tsv", [row], tuple(row))
    make_page(folder, files, settings_of(runs))
    write_json(folder / "settings.json", settings_of(runs))
    write_crate(folder)
    handin.main(str(folder))
    return folder


@pytest.mark.parametrize("name", ["statistics/pairs.tsv", "test_accuracy.tsv", "figures/arms.tsv", "errors/counts.tsv"])
def test_a_table_that_the_study_did_not_write_is_refused(folder, tmp_path, name):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    text = (copy / name).read_text(encoding="utf-8")
    # The last digit of the table is another one.
    edited = re.sub(r"(\d)(\D*)$", lambda found: f"{(int(found[1]) + 1) % 10}{found[2]}", text)
    assert edited != text
    (copy / name).write_text(edited, encoding="utf-8")
    with pytest.raises(StudyError, match=f"{name} is not the file that the study made"):
        handin.main(str(copy))
    (copy / name).unlink()
    with pytest.raises(StudyError, match=f"(has no {name}|{name} is missing)"):
        handin.main(str(copy))


def test_a_finished_studys_crate_names_what_every_hand_in_reads():
    named = {row.file() for row in products().values() if row.crate}
    assert {*handin.READ, handin.table_of_arms(Lead())} <= named


def test_a_table_that_the_crate_does_not_name_is_refused(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    write_crate(copy, without="figures/arms.tsv")
    with pytest.raises(StudyError, match="does not name figures/arms.tsv"):
        handin.main(str(copy))


def test_figures_have_a_columns_width_and_tables_both_forms(folder):
    place = folder / "handin"
    pdf = (place / "figures" / "arms.pdf").read_bytes()
    width = float(re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", pdf)[1])
    assert width == pytest.approx(72 * handin.COLUMN, abs=0.5)
    assert {path.stem for path in (place / "figures").glob("*.png")} == {
        "arms", "training", "confusion", "agreement", "calibration", "by_length",
    }  # fmt: skip
    assert r"\toprule" in (place / "tables" / "pairs.tex").read_text(encoding="utf-8")
    assert "| fairseq, pretrained minus fairseq, random |" in (place / "tables" / "pairs.md").read_text(
        encoding="utf-8"
    )
    methods = (place / "methods.md").read_text(encoding="utf-8")
    assert "with 3 seeds each on 1\u202f800 reviews" in methods and "<" not in methods and "[Holm, 1979]" in methods


def test_every_number_of_the_text_is_its_files(folder):
    text = (folder / "handin" / "report.md").read_text(encoding="utf-8")
    arm, question = read_tsv(folder / "test_accuracy.tsv")[1], read_tsv(folder / "questions.tsv")[0]
    assert f"fairseq, random reaches {100 * float(arm['mean']):.2f} % test accuracy (mean of 3 seeds" in text
    assert answer(question).removeprefix("- ") in text and "{" not in text
    (row,) = [row for row in read_tsv(folder / "handin" / "numbers.tsv") if row["name"] == "arms.fairseq-random.mean"]
    assert row == {
        "name": "arms.fairseq-random.mean",
        "number": f"{100 * float(arm['mean']):.2f}",
        "file": "test_accuracy.tsv",
        "row": "3",
    }


def test_the_students_words_stay_and_numbers_follow_the_files(folder):
    template = folder / "handin" / "report.template.md"
    kept = template.read_text(encoding="utf-8")
    write_text(template, "My words: {arms.fairseq-random.mean} %, of `a` file.\nIn 2024. <!-- own number -->\n")
    rows = read_tsv(folder / "test_accuracy.tsv")
    changed = [row | {"mean": "0.4321"} if row["arm"] == "fairseq-random" else row for row in rows]
    try:
        write_tsv(folder / "test_accuracy.tsv", changed, tuple(rows[0]))
        known = handin.numbers(str(folder))
        assert (
            handin.filled(template.read_text(encoding="utf-8"), known) == "My words: 43.21 %, of `a` file.\nIn 2024.\n"
        )
    finally:
        write_tsv(folder / "test_accuracy.tsv", rows, tuple(rows[0]))
        write_text(template, kept)


def test_a_study_of_one_arm_has_no_table_of_pairs(tmp_path):
    labels, runs = simulated(random.Random(3), 60, [("fairseq", "pretrained")], [1], [0.8])
    with contextlib.redirect_stdout(io.StringIO()):
        files = write_tables(tmp_path, labels, runs)
    row = {"baseline": "tfidf_words", "features": "words", "valid_accuracy": 0.7, "test_accuracy": 0.7125}
    write_tsv(tmp_path / "baselines.tsv", [row], tuple(row))
    make_page(tmp_path, files, settings_of(runs))
    write_json(tmp_path / "settings.json", settings_of(runs))
    write_crate(tmp_path)
    handin.main(str(tmp_path))
    place = tmp_path / "handin"
    assert {path.name for path in (place / "tables").iterdir()} == {"test_accuracy.md", "test_accuracy.tex"}
    assert "% test accuracy (one seed)." in (place / "report.md").read_text(encoding="utf-8")


def test_the_first_text_calls_the_texts_what_they_are_and_counts_one_seed(folder):
    known = handin.numbers(str(folder))
    known["arms.fairseq-random.n_seeds"] = ("1", "test_accuracy.tsv", 3)
    text = handin.first_template(str(folder), known, "texts")
    assert "trained on {study.n_train} texts and tested on {study.n_test}." in text and "review" not in text
    assert "(one seed" in text and "(mean of {arms.fairseq-pretrained.n_seeds} seeds" in text


def test_several_sizes_of_training_set_are_not_told_as_one(folder, tmp_path):
    rows = read_tsv(folder / "runs.tsv")
    for name in ("test_accuracy.tsv", "figures/arms.tsv", "statistics/pairs.tsv", "baselines.tsv"):
        write_text(tmp_path / name, (folder / name).read_text(encoding="utf-8"))
    for row in rows:
        row["n_train"] = "100" if row["arm"] == "fairseq-random" else "1800"
    write_tsv(tmp_path / "runs.tsv", rows, tuple(rows[0]))
    known = handin.numbers(str(tmp_path))
    assert "study.n_train" not in known
    assert known["arms.fairseq-random.n_train"][0] == "100"
    assert known["arms.fairseq-pretrained.n_train"][0] == "1\u202f800"
    text = handin.first_template(str(tmp_path), known, "reviews")
    assert "The study tested on {study.n_test} reviews." in text and "study.n_train" not in text


def test_an_arm_whose_name_is_a_number_may_be_named():
    known = {"arms.1.mean": ("80.00", "test_accuracy.tsv", 2)}
    assert handin.filled("1 reaches {arms.1.mean} %.", known) == "1 reaches 80.00 %.\n"
    with pytest.raises(StudyError, match="1.5 was typed"):
        handin.filled("1 is 1.5 points ahead.", known)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("{arms.fairseq-random.maen}", r"line 1: there is no number {arms.fairseq-random.maen}; did you mean {arms.f"),
        ("fine\nOf `17` files.", r"line 2: 17 was typed"),
        ("[95.2 %](runs.tsv)", r"line 1: 95.2 was typed"),
        ("{arms.fairseq-random.mean}7 %", r"line 1: 7 was typed"),
        ("fine\nAbout 66.5 % are right.", r"line 2: 66.5 was typed; write its name in braces"),
    ],
)
def test_a_name_or_a_number_that_no_file_bears_out_is_refused(folder, words, told):
    with pytest.raises(StudyError, match=told):
        handin.filled(words, handin.numbers(str(folder)))


def test_an_unfinished_study_is_named(tmp_path):
    with pytest.raises(StudyError, match="has no report.html: finish the study first"):
        handin.main(str(tmp_path))
