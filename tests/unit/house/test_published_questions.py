"""The answers to the published studies' questions, computed again by code that shares nothing with the project's."""

import ast
import pathlib

import pytest
import yaml

from common.files import read_tsv
from support import recompute_questions
from support.studies import published, published_studies
from tools.published_answers import answers
from tools.study_files import file_of

ROOT = pathlib.Path(__file__).resolve().parents[3]
STUDIES = published_studies()
NUMBERS = ("score_difference", "score_difference_low", "score_difference_high", "p", "p_holm")
WORDS = ("tested", "answer", "n_family", "n_runs_then", "n_seeds_each", "n_test")


def asked(study):
    return yaml.safe_load((ROOT / file_of(study)).read_text(encoding="utf-8"))["questions"]


def differing(study, rows):
    """Return what the table of a study's answers says otherwise than the recomputation."""
    found = recompute_questions.answers(published(study), asked(study))
    wrong = [f"{row['ask']}: not asked" for row in rows if row["ask"] not in found]
    for row in (row for row in rows if row["ask"] in found):
        other = found[row["ask"]]
        wrong += [
            f"{row['ask']} {name}: {row[name]}, not {other[name]}"
            for name in NUMBERS
            if float(row[name]) != pytest.approx(other[name], rel=1e-6, abs=1e-9)
        ]
        wrong += [
            f"{row['ask']} {name}: {row[name]}, not {other[name]}" for name in WORDS if row[name] != str(other[name])
        ]
        margin = float(row["equal_within"]) if row["equal_within"] else None
        wrong += [f"{row['ask']} equal_within"] if margin != pytest.approx(other["equal_within"]) else []
    return wrong


@pytest.mark.parametrize("study", STUDIES)
def test_every_answer_is_computed_again(study):
    rows = read_tsv(ROOT / "published" / study / "questions.tsv")
    assert [row["ask"] for row in rows] == [question["ask"] for question in asked(study)]
    assert differing(study, rows) == []


@pytest.mark.parametrize(
    "change",
    [{"p": "0.04"}, {"answer": "equal"}, {"score_difference_low": "0.01"}, {"n_test": "9"}, {"equal_within": "0.3"}],
)
def test_a_changed_answer_is_noticed(change):
    rows = read_tsv(ROOT / "published" / STUDIES[0] / "questions.tsv")
    assert differing(STUDIES[0], [rows[0] | change, *rows[1:]])


def test_it_shares_nothing_with_the_project():
    tree = ast.parse(pathlib.Path(recompute_questions.__file__).read_text(encoding="utf-8"))
    names = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert names <= {"csv", "json", "math", "pathlib", "numpy", "scipy", "sacrebleu"}


@pytest.mark.parametrize("study", STUDIES)
def test_the_page_of_results_has_every_answer(study):
    """The lines are made of the table, so a word or number that is edited on the page is noticed."""
    page = (ROOT / "published" / "README.md").read_text(encoding="utf-8")
    lines = answers(published(study))
    assert len(lines) > 3 and "\n".join(lines) in page
