"""A study with questions: noted before anything trains, answered first on the page, and later ones told as later."""

import json
import re

import pytest

from analysis.verdicts import points
from common.files import read_tsv
from support import studies
from support.report_items import ITEMS, lacking

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

FIRST = [
    {"ask": "Does pretraining help?", "compare": ["fairseq-pretrained", "fairseq-random"]},
    {
        "ask": "Do the frameworks agree?",
        "compare": ["fairseq-pretrained", "huggingface-pretrained"],
        "equal_within": 30,
    },
    {"ask": "By macro-F1?", "compare": ["fairseq-pretrained", "tfidf_words"], "measure": "macro_f1"},
    {"ask": "Does tuning lower the loss?", "compare": ["rank2", "base"], "measure": "answer_loss"},
]
LATER = {
    "ask": "Does the gap depend on the framework?",
    "compare": [["fairseq-pretrained", "fairseq-random"], ["huggingface-pretrained", "tfidf_words"]],
}
# A run of question answering is none that a question about arms could have been asked after.
QA = {"enabled": True, "seeds": [1, 2], "lora": {"r": 2}, "training": {"updates": 2, "evaluate_every": 1}}
QA |= {"base": {"embedded": {"n_texts": 60, "training": {"updates": 4, "warmup_updates": 1}}}}
SETTINGS = {"finetuning": {"seeds": [1, 2]}, "qa": QA}


def run(folder, asked, *arguments):
    study = studies.write_study(folder / "study.yaml", studies.merged(SETTINGS, {"questions": asked}))
    return studies.snakemake(folder, *arguments, study=study)


def told_of(words, sentence):
    """Return the first screen's text on a question, up to the next heading's verdict."""
    return words.partition(sentence)[2].partition("An answer is shown")[0].partition("?")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    # A plan asks nothing.
    assert run(folder, FIRST, "--dry-run").returncode == 0 and not (folder / "results").exists()
    done = run(folder, FIRST)
    assert done.returncode == 0, done.output[-5000:]
    return folder


@pytest.mark.parametrize("row", ITEMS, ids=lambda row: f"{row['report']}-{row['item']}")
def test_what_the_reports_ask_is_in_the_study(folder, row):
    assert lacking(row, folder / "results/tiny") == []


def test_they_are_noted_before_anything_trains(folder):
    known = json.loads((folder / "results/tiny/questions.json").read_text())
    assert [entry["ask"] for entry in known.values()] == [question["ask"] for question in FIRST]
    assert all(entry["runs"] == [] for entry in known.values())
    first = min(path.stat().st_mtime for path in (folder / "results/tiny/finetuning").glob("*/seed*/run.json"))
    assert (folder / "results/tiny/questions.json").stat().st_mtime < first


def test_they_are_answered_and_lead_the_page(folder):
    rows = read_tsv(folder / "results/tiny/questions.tsv")
    assert [row["ask"] for row in rows] == [question["ask"] for question in FIRST]
    assert {row["n_runs_then"] for row in rows} == {"0"} and {row["n_family"] for row in rows} == {"4"}
    page = (folder / "results/tiny/report.html").read_text(encoding="utf-8")
    first_screen = page[page.index('<section id="answer"') : page.index('<section id="test-accuracy"')]
    headings = [re.sub("<[^>]*>", "", one) for one in re.findall(r"<h3>(.*?) <span class=\"verdict\">", first_screen)]
    # Only its own question is answered there: the sentence below the answers says so.
    assert headings == [question["ask"] for question in FIRST]
    assert first_screen.count('class="verdict"') == len(FIRST)
    assert "nothing else on this screen answers the questions" in first_screen
    assert not [word for word in (">not shown<", ">higher<", ">lower<", "assuming normality") if word in first_screen]
    assert (
        "All were asked before any run was finished." in first_screen
        and "Exploratory: these differences" in first_screen
    )
    assert "can be claimed" not in first_screen


def test_the_page_says_what_the_table_says(folder):
    """A sentence each; an interval that leaves out zero beside an answer that is open is explained."""
    page = (folder / "results/tiny/report.html").read_text(encoding="utf-8")
    page = page[page.index('<section id="answer"') :]
    words = re.sub(r"\s+", " ", re.sub("<[^>]*>", "", page)).replace("&nbsp;", " ")
    for row in read_tsv(folder / "results/tiny/questions.tsv"):
        told, (low, high) = told_of(words, row["ask"]), (row[f"score_difference_{end}"] for end in ("low", "high"))
        gap = f"is {points(float(row['score_difference']))} points of test "
        if row["unit"] == "nats":
            gap = "nats of loss per answer token on held-out pairs, of which lower is better"
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
    assert [row["n_runs_then"] for row in rows] == ["0", "0", "0", "0", "6"]
    page = (folder / "results/tiny/report.html").read_text(encoding="utf-8")
    assert "Asked afterwards, on" in page and "All were asked before" not in page
    # Taken out of the file and put in again, it keeps its date.
    note = (folder / "results/tiny/questions.json").read_bytes()
    assert run(folder, FIRST).returncode == 0 and run(folder, [*FIRST, LATER]).returncode == 0
    assert (folder / "results/tiny/questions.json").read_bytes() == note


def test_an_arm_of_question_answering_is_compared_with_the_base_pair_by_pair(folder):
    """The question, and the section's own table, have what the records of single pairs say."""
    (asked,) = [row for row in read_tsv(folder / "results/tiny/questions.tsv") if row["measure"] == "answer_loss"]
    records = [
        json.loads(path.read_text()) for path in sorted(folder.glob("results/tiny/qa/rank2/seed*/evaluation.json"))
    ]
    assert len(records) == 2 and int(asked["n_test"]) == len(records[0]["pairs"]) == 16
    for moment in ("before", "after"):
        for record in records:
            nats, tokens = (sum(pair[moment][place] for pair in record["pairs"]) for place in (0, 1))
            assert nats / tokens == pytest.approx(record["heldout"][moment]["loss"], rel=1e-6)
    losses = [[record["heldout"][moment]["loss"] for record in records] for moment in ("after", "before")]
    assert losses[1][0] == losses[1][1]
    gap = sum(losses[0]) / 2 - losses[1][0]
    assert float(asked["score_difference"]) == pytest.approx(gap, rel=1e-6) and asked["n_seeds_each"] == "2 -"
    pairs = {row["measure"]: row for row in read_tsv(folder / "results/tiny/qa/pairs.tsv")}
    assert set(pairs) == {"answer_loss", "chrf", "rouge_l"}
    assert (pairs["answer_loss"]["arm_a"], pairs["answer_loss"]["arm_b"]) == ("rank2", "base")
    assert pairs["answer_loss"]["p"] == asked["p"]
    for name, key in (("chrf", "chrf"), ("rouge_l", "rouge_l")):
        wanted = sum(record[key]["after"] for record in records) / 2 - records[0][key]["before"]
        assert float(pairs[name]["score_difference"]) == pytest.approx(wanted, abs=1e-9)
    page = (folder / "results/tiny/report.html").read_text(encoding="utf-8")
    assert "Tuned arms against the base before tuning" in page and "Of question answering, the base model" in page


def test_a_question_of_no_arm_is_refused_before_anything_runs(tmp_path):
    done = run(tmp_path, [FIRST[0] | {"compare": ["fairseq-pretrained", "fairseq-randon"]}], "--dry-run")
    assert done.returncode and "questions, entry 1, compare: fairseq-randon is no arm" in done.output
    assert "Did you mean fairseq-random?" in done.output
