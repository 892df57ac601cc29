"""A study with questions: noted before anything trains, answered first on the page, and later ones told as later."""

import json
import re

import pytest

from analysis.verdicts import points
from common.files import read_tsv
from support import studies

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

FIRST = [
    {"ask": "Does pretraining help?", "compare": ["fairseq-pretrained", "fairseq-random"]},
    {
        "ask": "Do the frameworks agree?",
        "compare": ["fairseq-pretrained", "huggingface-pretrained"],
        "equal_within": 30,
    },
    {"ask": "By macro-F1?", "compare": ["fairseq-pretrained", "tfidf_words"], "measure": "macro_f1"},
]
LATER = {
    "ask": "Does the gap depend on the framework?",
    "compare": [["fairseq-pretrained", "fairseq-random"], ["huggingface-pretrained", "tfidf_words"]],
}
# A run of question answering is none that a question about arms could have been asked after.
QA = {"enabled": True, "seeds": [1], "lora": {"r": 2}, "training": {"updates": 2, "evaluate_every": 1}}
QA |= {"base": {"embedded": {"n_texts": 60, "training": {"updates": 4, "warmup_updates": 1}}}}
SETTINGS = {"finetuning": {"seeds": [1, 2], "evaluation": {"test_curves": False}}, "qa": QA}


def run(folder, asked, *arguments):
    study = studies.write_study(folder / "study.yaml", studies.merged(SETTINGS, {"questions": asked}))
    return studies.snakemake(folder, *arguments, study=study)


def told_of(words, sentence):
    """What the first screen says of a question, up to the next heading's verdict."""
    return words.partition(sentence)[2].partition("An answer is shown")[0].partition("?")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    # A plan asks nothing.
    assert run(folder, FIRST, "--dry-run").returncode == 0 and not (folder / "results").exists()
    done = run(folder, FIRST)
    assert done.returncode == 0, done.output[-5000:]
    return folder


def test_they_are_noted_before_anything_trains(folder):
    known = json.loads((folder / "results/tiny/questions.json").read_text())
    assert [entry["ask"] for entry in known.values()] == [question["ask"] for question in FIRST]
    assert all(entry["runs"] == [] for entry in known.values())
    first = min(path.stat().st_mtime for path in (folder / "results/tiny/finetuning").glob("*/seed*/run.json"))
    assert (folder / "results/tiny/questions.json").stat().st_mtime < first


def test_they_are_answered_and_lead_the_page(folder):
    rows = read_tsv(folder / "results/tiny/questions.tsv")
    assert [row["ask"] for row in rows] == [question["ask"] for question in FIRST]
    assert {row["n_runs_then"] for row in rows} == {"0"} and {row["n_family"] for row in rows} == {"3"}
    page = (folder / "results/tiny/report.html").read_text(encoding="utf-8")
    first_screen = page[page.index('<section id="answer"') : page.index('<section id="test-accuracy"')]
    headings = [re.sub("<[^>]*>", "", one) for one in re.findall(r"<h3>(.*?) <span class=\"verdict\">", first_screen)]
    # What it asked is all that is answered there: the sentence below the answers says so.
    assert headings == [question["ask"] for question in FIRST]
    assert first_screen.count('class="verdict"') == len(FIRST)
    assert "nothing else on this screen answers the questions" in first_screen
    assert not [word for word in (">not shown<", ">higher<", ">lower<", "assuming normality") if word in first_screen]
    assert "All were asked before any run was finished." in first_screen and "Exploratory: a pair" in first_screen
    assert "can be claimed" not in first_screen


def test_the_page_says_what_the_table_says(folder):
    """A sentence each; an interval that leaves out zero beside an answer that is open is explained."""
    page = (folder / "results/tiny/report.html").read_text(encoding="utf-8")
    words = re.sub(r"\s+", " ", re.sub("<[^>]*>", "", page)).replace("&nbsp;", " ")
    for row in read_tsv(folder / "results/tiny/questions.tsv"):
        told, (low, high) = told_of(words, row["ask"]), (row[f"score_difference_{end}"] for end in ("low", "high"))
        gap = f"is {points(float(row['score_difference']))} points of test "
        assert gap in told and ("95 % interval" in told) == bool(low)
        excluded = bool(low) and not float(low) <= 0 <= float(high)
        explained = row["answer"] == "open" and excluded and not row["equal_within"]
        assert ("The interval leaves out zero" in told) == explained


def test_a_later_question_is_told_as_later_and_trains_nothing(folder):
    done = run(folder, FIRST, "--dry-run")
    assert "Nothing to be done" in done.output
    done = run(folder, [*FIRST, LATER], "--dry-run", "--quiet", "host")
    planned = set(re.findall(r"^(?:local)?rule (\w+):", done.output, re.MULTILINE))
    assert "answer_questions" in planned and not [name for name in planned if name.startswith(("finetune", "evaluate"))]
    done = run(folder, [*FIRST, LATER])
    assert done.returncode == 0, done.output[-5000:]
    rows = read_tsv(folder / "results/tiny/questions.tsv")
    assert [row["n_runs_then"] for row in rows] == ["0", "0", "0", "6"]
    page = (folder / "results/tiny/report.html").read_text(encoding="utf-8")
    assert "Asked afterwards, on" in page and "All were asked before" not in page
    # Taken out of the file and put in again, it keeps its date.
    note = (folder / "results/tiny/questions.json").read_bytes()
    assert run(folder, FIRST).returncode == 0 and run(folder, [*FIRST, LATER]).returncode == 0
    assert (folder / "results/tiny/questions.json").read_bytes() == note


def test_a_question_of_no_arm_is_refused_before_anything_runs(tmp_path):
    done = run(tmp_path, [FIRST[0] | {"compare": ["fairseq-pretrained", "fairseq-randon"]}], "--dry-run")
    assert done.returncode and "questions, entry 1, compare: fairseq-randon is no arm" in done.output
    assert "Did you mean fairseq-random?" in done.output
