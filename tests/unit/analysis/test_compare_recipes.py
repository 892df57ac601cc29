"""The differences of recipes: their intervals and corrections by hand, and what other test answers change."""

import numpy as np
import pytest

from analysis import compare_recipes, inference
from analysis.compare_recipes import OPTIONS, compare
from common.files import read_tsv
from support.arms import arm
from support.recipe_study import finetuning, make_recipes

RECIPE_INPUTS = ("recipes", "recipe_differences", "recipe_interactions", "recipe_runs")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The tables of a study, and of the same with every test answer turned round."""
    made = {}
    for name, flip in (("as it is", False), ("turned", True)):
        folder = tmp_path_factory.mktemp("recipes")
        files = make_recipes(folder, finetuning(), flip=flip)
        made[name] = [read_tsv(files[key]) for key in RECIPE_INPUTS]
    return made


def test_other_test_answers_choose_no_other_recipe(written):
    one, other = written["as it is"][0], written["turned"][0]
    # The answers did change: what was right in p of the reviews is right in 1 - p.
    for row, turned in zip(one, other, strict=True):
        assert float(row["mean"]) + float(turned["mean"]) == pytest.approx(1)
        assert float(row["mean"]) != pytest.approx(0.5, abs=0.02)
    kept = ("pair", "start", "arm", "peak_lr", "epochs", "valid_mean", "valid_sd_ddof1", "best", "n_tied")
    assert [[row[key] for key in kept] for row in one] == [[row[key] for key in kept] for row in other]
    assert [row["start"] for row in one if row["best"] == "true"] == [
        "Hugging Face, pretrained",
        "Hugging Face, random",
    ]


def test_the_best_on_test_is_not_taken_for_the_best(written):
    """In this draw another recipe of a start is higher on test than the chosen one."""
    rows = written["as it is"][0]
    missed = 0
    for start in {row["start"] for row in rows}:
        of = [row for row in rows if row["start"] == start]
        best = next(row for row in of if row["best"] == "true")
        assert float(best["valid_mean"]) == max(float(row["valid_mean"]) for row in of)
        missed += float(best["mean"]) < max(float(row["mean"]) for row in of)
    assert missed


def test_every_shared_recipe_is_compared(written):
    rows = written["as it is"][1]
    assert [(row["epochs"], row["peak_lr"]) for row in rows] == [
        ("5", "1e-05"),
        ("5", "0.0003"),
        ("10", "1e-05"),
        ("10", "0.0003"),
    ]
    assert all(row["arm_a"].startswith("pretrained") and row["arm_b"].startswith("random") for row in rows)
    # Four shared recipes: six times two of them.
    twos = written["as it is"][2]
    assert len(twos) == 6 and {tuple(row[f"epochs_{x}"] for x in "ab") for row in twos} == {
        ("5", "5"), ("5", "10"), ("10", "10")
    }  # fmt: skip
    gaps = {(row["epochs"], row["peak_lr"]): float(row["difference"]) for row in rows}
    for row in twos:
        a, b = (gaps[row[f"epochs_{x}"], row[f"peak_lr_{x}"]] for x in "ab")
        assert (float(row["difference_a"]), float(row["difference_b"])) == (a, b)
        assert float(row["interaction"]) == pytest.approx(a - b)
        assert float(row["joint_low"]) < float(row["low"]) < float(row["high"]) < float(row["joint_high"])
    assert len(written["as it is"][3]) == 8 * 3


def test_a_difference_is_pretrained_less_random_with_the_studys_own_interval():
    arms = {"a": arm([0.8, 0.81, 0.82], seed=1), "b": arm([0.7, 0.71, 0.69], seed=2)}
    row = compare(arms, "a", "b", OPTIONS, joint=4)
    assert row["difference"] == pytest.approx(0.11)  # 0.81 - 0.70
    correct = [np.stack([run["correct"] for run in arms[name]]) for name in "ab"]
    assert (row["low"], row["high"]) == inference.difference_interval(*correct, 0.95)
    # Four intervals at once: each at 1 - 0.05 / 4.
    assert (row["joint_low"], row["joint_high"]) == inference.difference_interval(*correct, 0.9875)
    assert row["joint_low"] < row["low"] < row["high"] < row["joint_high"]


def test_one_seed_has_no_interval(tmp_path):
    files = make_recipes(tmp_path, finetuning(), seeds=(1,))
    rows = read_tsv(files["recipe_differences"])
    assert {row["low"] for row in rows} == {row["joint_high"] for row in rows} == {""}
    assert {row["t_low"] for row in read_tsv(files["recipes"])} == {""}


def test_the_options_are_those_of_the_studys_statistics():
    from analysis import compute_statistics

    assert compare_recipes.OPTIONS.items() <= compute_statistics.OPTIONS.items()
