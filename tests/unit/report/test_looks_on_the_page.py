"""The page's words on looks, on changed seeds and on many arms: every number borne out by the files."""

import json
import re

from analysis import answer_questions, rank_arms
from common.files import read_tsv
from study import questions
from support.recipe_study import finetuning, make_recipes
from support.result_sets import check_page, make_page
from support.settings import defaults

ASKED = [
    {"ask": "Does the start matter?", "compare": ["pretrained-lr1e-05-epochs5", "random-lr1e-05-epochs5"]},
    {"ask": "Do the epochs matter?", "compare": ["pretrained-lr1e-05-epochs5", "pretrained-lr1e-05-epochs10"]},
]


def words_of(html):
    text = re.sub(r"<svg.*?</svg>|<style.*?</style>|<script.*?</script>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", "", text).replace("&nbsp;", " ").split())


def made(folder, plan, *plans):
    """Make a study of eight arms of three seeds whose questions have these plans of seeds, the last one its own."""
    section = finetuning()
    files = make_recipes(folder, section, n_test=300, seeds=plan["seeds"])
    keys = [(path.split("/")[-2], path.split("/seed")[-1].removesuffix(".tsv")) for path in files["predictions"]]
    for name in (questions.REGISTER, "questions.tsv"):
        (folder / name).unlink()
    for number, one in enumerate((*plans, plan)):
        runs = ["a/seed1"] if number else []
        questions.register(folder, ASKED, lambda measure, runs=runs: runs, lambda measure, one=one: one)
    table = [str(folder / name) for name in ("questions.tsv", "looks.tsv", "looks_saved.tsv")]
    tables = dict(zip(("looks", "saved"), table[1:], strict=True)) if "looks" in plan else {}
    given = (files["runs"], files["predictions"], [], files["learned"], table[0], keys, [], ASKED)
    own = plan if {"looks", "confirm"} & plan.keys() else None
    answer_questions.main(*given, str(folder / questions.REGISTER), plan=own, **tables)
    files |= {"questions": table[0]} | ({"looks": table[1], "looks_saved": table[2]} if tables else {})
    rank_arms.main(files["runs"], files["predictions"], keys, str(folder / "statistics/groups.tsv"))
    files["groups"] = str(folder / "statistics/groups.tsv")
    settings = defaults() | {"study": "simulated", "finetuning": section | plan, "questions": ASKED}
    html = make_page(folder, files, settings)
    check_page(folder, files, settings)
    return read_tsv(table[0]), words_of(html)


def test_looks_are_told_with_their_share_and_what_they_saved(tmp_path):
    rows, words = made(tmp_path, {"seeds": [1, 2, 3, 4, 5], "looks": [4, 5]})
    assert [row["look"] for row in rows] == ["1", "2"] and {row["alpha"] for row in rows} == {"0.02"}
    assert "Decided at look 1, with 4 seeds of each arm: its p is compared with 0.02, the look’s share." in words
    assert "Not settled at the last look, look 2, with 5 seeds of each arm" in words
    # The arms have five seeds each here: nothing was saved.
    assert "that saved 0 of 40 runs" in words and "98 % interval" in words
    assert "is at most its look’s share of 0.05" in words and "Continued" not in words


def test_a_continued_question_is_marked_and_judged_at_half(tmp_path):
    rows, words = made(tmp_path, {"seeds": [1, 2, 3]}, {"seeds": [1, 2]})
    assert {row["alpha"] for row in rows} == {"0.025"} and {row["n_continued"] for row in rows} == {"1"}
    assert words.count("Continued: its seeds were changed after runs were finished.") == 2
    # Said before the question is opened, too; no level is rounded to another.
    assert words.count("Its seeds were changed after runs were finished.") == 2 and "97.5 % interval" in words
    assert "needs a p of at most 0.025, half as much for each change" in words


def test_fresh_seeds_alone_answer(tmp_path):
    rows, words = made(tmp_path, {"seeds": [1, 2, 3], "confirm": [2, 3]}, {"seeds": [1]})
    assert {row["n_seeds_each"] for row in rows} == {"2 2"} and {row["n_continued"] for row in rows} == {"0"}
    assert {row["alpha"] for row in rows} == {"0.05"} and "Continued" not in words
    assert words.count("Fresh seeds alone answer.") == 2 and "95 % interval" in words
    assert "Only the seeds that had not been seen before (confirm) are judged here" in words


def test_many_arms_are_grouped_the_first_group_first(tmp_path):
    answers, words = made(tmp_path, {"seeds": [1, 2, 3]})
    rows = read_tsv(tmp_path / "statistics/groups.tsv")
    assert [int(row["group"]) for row in rows] == sorted(int(row["group"]) for row in rows) and len(rows) == 8
    assert "Arms that nothing separates" in words
    # Random weights at the low rate are right in 60 %, the others in 80 %.
    first = {row["arm"] for row in rows if row["group"] == "1"}
    assert first >= {row["arm"] for row in rows if "random-lr1e-05" not in row["arm"]} and len(first) < 8
    assert "Nothing separates" in words and "all pairs of the 8 arms" in words
    # Without looks the table of answers has no columns of theirs.
    assert list(answers[0])[-1] == "question_sha256" and "look’s share" not in words
    (entry, _) = json.loads((tmp_path / questions.REGISTER).read_text()).values()
    assert [one["plan"] for one in entry["seeds"]] == [{"seeds": [1, 2, 3]}]
