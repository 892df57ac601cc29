"""The tables of a study: every column declared once, the page up to date, the writers' constants those declared."""

import pathlib
import re

import pytest

from common.errors import StudyError
from common.files import read_table, read_tsv
from study.products import products
from study.tables import columns, columns_of, faults, fits, name_of, tables, write_table
from support.studies import ROOT, published, published_files, published_studies
from tools import data_dictionary, packs


def test_the_page_is_up_to_date():
    assert pathlib.Path(data_dictionary.PAGE).read_text(encoding="utf-8") == data_dictionary.page()


def test_every_column_is_declared_and_used():
    used = {column for key in tables() for column in columns_of(key)}
    assert used == set(columns())
    assert {kind for kind, _, _ in columns().values()} == {"text", "integer", "number", "share", "flag"}


def test_every_table_of_the_rules_is_declared():
    rules = "".join(path.read_text(encoding="utf-8") for path in pathlib.Path(ROOT, "rules").rglob("*.smk"))
    run = "finetuning/{arm}/seed{seed}/"
    found = set(re.findall(r'"<results>/([^"]*\.tsv)"', rules))
    found |= {run + name for name in re.findall(r'"<\w*run>/(history.tsv|test_curve.tsv)"', rules)}
    found |= {f"qa/{{arm}}/seed{{seed}}/{name}" for name in re.findall(r'"<qa_run>/([^"]*\.tsv)"', rules)}
    found = {name.replace("{{", "{").replace("}}", "}") for name in found}
    # These belong to the simple models, whose files are named by `linear`.
    found -= {name for name in found if "/seed0" in name}
    # Rules whose outputs the rows themselves give write no path.
    assert found <= {row.file() for row in products().values()}


def test_training_jobs_write_the_declared_columns():
    """Their constants are their own, so that a word of the declarations trains nothing anew."""
    from checkpoint import pretrain
    from finetuning import prediction_files
    from qa import finetune_lora

    assert list(prediction_files.HISTORY) == columns_of("run_histories") == columns_of("run_test_curves")
    assert list(prediction_files.COLUMNS) == columns_of("predictions")
    assert list(pretrain.COLUMNS) == columns_of("pretraining")
    assert list(finetune_lora.COLUMNS) == columns_of("qa_run_losses")


# Figures and the list of the page's numbers are made by a rebuild.
PUBLISHED = [
    (study, row.file())
    for study in published_studies()
    for names in [published_files(study)]
    for row in tables().values()
    if row.file() in names and not packs.REBUILT.search(row.file())
]


@pytest.mark.parametrize(("study", "name"), PUBLISHED)
def test_the_published_tables_have_the_declared_columns(study, name):
    assert list(faults(name_of(name), *read_table(published(study) / name))) == []


def test_types():
    assert fits(None, "integer") and fits("", "share") and fits("word", "text")
    assert fits("3", "integer") and fits(3.0, "integer") and not fits("3.5", "integer") and not fits("x", "number")
    assert fits(0, "share") and fits("1.0", "share") and not fits(1.01, "share") and not fits("nan", "number")
    assert fits(True, "flag") and fits("false", "flag") and not fits("yes", "flag")


def test_a_table_that_is_not_as_declared_is_refused(tmp_path):
    row = dict.fromkeys(columns_of("errors"), 0)
    write_table(tmp_path / "errors.tsv", "errors", [row])
    assert read_tsv(tmp_path / "errors.tsv") == [dict.fromkeys(row, "0")]
    with pytest.raises(StudyError, match="line 2: n_right 'x' is no integer"):
        write_table(tmp_path / "errors.tsv", "errors", [row | {"n_right": "x"}])
    with pytest.raises(StudyError, match="the columns are id label; declared are id label n_runs"):
        write_table(tmp_path / "errors.tsv", "errors", [row], ["id", "label"])
    assert list(faults("protocol_diff", ["setting", "huggingface", "equal", "note"], [])) == []
    assert list(faults("protocol_diff", ["setting", "equal", "huggingface", "note"], []))
