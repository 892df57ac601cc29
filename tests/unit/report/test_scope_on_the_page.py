"""The scope of an answer on the page: what seeds varied, what they did not, and that differences are paired."""

import json
import re

import pytest

from analysis import answer_questions, compare_recipes, compute_statistics
from common.files import read_tsv, write_tsv
from finetuning.recipes import compared_recipes, tried_recipes
from report.asked import scope
from study import questions
from support.recipe_study import finetuning, make_recipes
from support.result_sets import OPTIONS, check_page, make_page
from support.settings import defaults

BASE = {"baselines": ["majority"], "init_seed": None, "data_seed": None}


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({}, None),
        (BASE, None),
        (BASE | {"vary": ["split"]}, (["split"], ["initialisation", "order"], "split", True)),
        (BASE | {"vary": ["order"], "baselines": []}, (["order"], ["initialisation"], None, False)),
        # A seed that all runs share holds its source fixed.
        (BASE | {"init_seed": 3}, (["order"], ["initialisation"], None, True)),
    ],
)
def test_the_scope_is_that_of_the_settings(section, said):
    found = scope(section)
    assert found == (said and found | dict(zip(("varied", "held", "draw", "simple"), said, strict=True)))
    assert not found or not (found["checkpoint"] or found["others"])


def test_pretrainings_are_in_the_scope_and_other_models_are_not():
    own = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}
    section = BASE | {"vary": ["initialisation", "order", "checkpoint"], "arms": {"own": own}}
    assert scope(section)["varied"] == section["vary"] and scope(section)["held"] == []
    assert scope(section)["checkpoint"] and not scope(section)["others"]
    assert scope(section | {"arms": {"own": own, "other": own | {"model": "camembert"}}})["others"]
    assert not scope(section | {"arms": {"own": own, "other": own | {"model": "camembert", "init": "random"}}})[
        "others"
    ]
    assert not scope(section | {"vary": ["order"]})["checkpoint"]


def words_of(html):
    text = re.sub(r"<svg.*?</svg>|<style.*?</style>|<script.*?</script>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", "", text).replace("&nbsp;", " ").split())


def page(folder, vary):
    """Make a study of eight arms of three seeds whose page is of these sources; return questions.tsv and the words."""
    section = finetuning()
    files = make_recipes(folder, section, n_test=300)
    keys = [(path.split("/")[-2], path.split("/seed")[-1].removesuffix(".tsv")) for path in files["predictions"]]
    if vary:
        section["vary"] = vary
        drawn = [f"{source}_seed" for source in ("split", "checkpoint") if source in vary]
        rows = [row | dict.fromkeys(drawn, row["seed"]) for row in read_tsv(files["runs"])]
        header = [name for column in read_tsv(files["runs"])[0] for name in (column, *(drawn * (column == "seed")))]
        write_tsv(files["runs"], rows, header)
        tables = [files[name] for name in ("arm_statistics", "pairs", "mcnemar", "method", "learned")]
        compute_statistics.main(files["runs"], files["predictions"], keys, files["manifest"], *tables, OPTIONS)
        both = files["recipe_differences"], files["recipe_interactions"]
        compare_recipes.main(files["runs"], files["predictions"], keys, compared_recipes(tried_recipes(section)), *both)
    else:
        section.pop("vary")
    for name in (questions.REGISTER, "questions.tsv"):
        (folder / name).unlink()
    asked = [{"ask": "Does the start matter?", "compare": ["pretrained-lr1e-05-epochs5", "random-lr1e-05-epochs5"]}]
    questions.register(folder, asked, lambda measure: [])
    given = (files["runs"], files["predictions"], [], files["learned"], files["questions"], keys, [], asked)
    answer_questions.main(*given, str(folder / questions.REGISTER))
    settings = defaults() | {"study": "simulated", "finetuning": section, "questions": asked}
    html = make_page(folder, files, settings)
    check_page(folder, files, settings)
    return read_tsv(files["questions"])[0], words_of(html), json.loads((folder / "statistics/method.json").read_text())


def test_the_page_names_what_varied_and_pairs_differences_by_seed(tmp_path):
    alone, words, method = page(tmp_path / "default", None)
    assert "Seeds and test reviews vary here. What does not: the checkpoint that arms start from, the split" in words
    assert "Welch p (Holm)" in words and "paired" not in method
    pairs, words, method = page(tmp_path / "split", ["initialisation", "split"])
    assert (
        "a seed changes the weights that are not loaded, and the training and validation reviews, drawn from all "
        "labelled ones beside test. The arms of one seed share its draw, so intervals, tests and plans of differences "
        "are those of the pairs. What does not vary: the checkpoint that arms start from, the order of the training "
        "reviews with dropout, the labelled reviews that are drawn from, the one split that simple models learn from, "
        "and the one test set, which 24 runs of 8 arms have answered." in words
    )
    assert "Paired t p (Holm)" in words and "random signs of the pairs’ differences" in words and method["paired"]
    assert alone["score_difference"] == pairs["score_difference"]
    assert alone["score_difference_low"] != pairs["score_difference_low"]


def test_with_pretrainings_the_answer_is_about_the_pretraining(tmp_path):
    _, words, method = page(tmp_path / "both", ["initialisation", "order", "split", "checkpoint"])
    assert (
        "a seed changes the weights that are not loaded, the order of the training reviews with dropout, the training "
        "and validation reviews, drawn from all labelled ones beside test, and the checkpoint that arms start from, "
        "each a pretraining with a seed of its own. The arms of one seed share its draw, and those that start from a "
        "checkpoint share it, so intervals, tests and plans of differences are those of the pairs. Answers are about "
        "this way to pretrain, not about one checkpoint. What does not vary: the corpus, the tokenizer and the "
        "settings of the pretraining, the labelled reviews that are drawn from," in words
    )
    assert "share its draw of training and validation reviews and its checkpoint, where they start from one" in words
    assert "which all arms shared, and had a pretraining of its own, whose checkpoint its pretrained arms" in words
    assert "share their draw of training and validation reviews and their checkpoint;" in method["difference_interval"]
    _, words, method = page(tmp_path / "alone", ["initialisation", "order", "checkpoint"])
    assert "The arms of one seed that start from a checkpoint share it, so intervals, tests and plans of diff" in words
    assert "Each seed had a pretraining of its own, whose checkpoint its pretrained arms shared: intervals" in words
    assert "the split of the reviews, the draw of those that have labels, and the one test set" in words
    assert "since runs of one seed share their checkpoint;" in method["difference_interval"]
