"""The differences of recipes: their intervals and corrections by hand, and what other test answers change."""

import numpy as np
import pytest

from analysis import compare_recipes, inference
from analysis.choose_recipes import choose
from analysis.compare_recipes import OPTIONS, compare, differences
from common.files import read_tsv
from support.arms import arm
from support.recipe_study import finetuning, make_recipes, recipes

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
    own = [[rows[-1][key] for key in ("comparison", "arm_a", "arm_b")] for _, rows, *_ in written.values()]
    assert own[0] == own[1] and own[0][0] == "own best recipe"


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


def test_every_shared_recipe_and_the_own_best_are_compared(written):
    rows = written["as it is"][1]
    assert [(row["comparison"], row["epochs"], row["peak_lr"]) for row in rows] == [
        ("same recipe", "5", "1e-05"),
        ("same recipe", "5", "0.0003"),
        ("same recipe", "10", "1e-05"),
        ("same recipe", "10", "0.0003"),
        ("own best recipe", "", ""),
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
    assert row["seeds_p_floor"] == pytest.approx(0.1)  # 2 / C(6, 3)


def test_holm_is_over_all_rows_of_the_table():
    of = recipes(
        a=("pretrained", 1e-5, 5), b=("random", 1e-5, 5), c=("pretrained", 1e-4, 5), d=("random", 1e-4, 5)
    )  # fmt: skip
    of |= {f"{name}2": facts | {"pair": "q", "start": f"q, {facts['init']}"} for name, facts in of.items()}
    arms = {name: arm([0.5 + 0.04 * k, 0.51 + 0.05 * k, 0.52 + 0.05 * k]) for k, name in enumerate(of)}
    rows = differences(arms, of, choose(arms, of), OPTIONS)
    assert len(rows) == 6
    assert [row["welch_p_holm"] for row in rows] == inference.holm([row["welch_p"] for row in rows])
    assert min(row["welch_p_holm"] for row in rows) == pytest.approx(6 * min(row["welch_p"] for row in rows))


def test_the_own_best_compares_the_arms_that_validation_chose():
    of = recipes(
        a=("pretrained", 1e-5, 5), b=("random", 1e-5, 5), c=("pretrained", 1e-4, 5), d=("random", 1e-4, 5)
    )  # fmt: skip
    arms = {
        "a": arm([0.60, 0.61, 0.62], valid=[0.9, 0.9, 0.9]),
        "b": arm([0.90, 0.91, 0.92], valid=[0.5, 0.5, 0.5]),
        "c": arm([0.70, 0.71, 0.72], valid=[0.8, 0.8, 0.8]),
        "d": arm([0.50, 0.51, 0.52], valid=[0.6, 0.6, 0.6]),
    }
    row = differences(arms, of, choose(arms, of), OPTIONS)[-1]
    assert (row["arm_a"], row["arm_b"], row["peak_lr"]) == ("a", "d", None)
    assert row["difference"] == pytest.approx(0.10)  # 0.61 - 0.51


def test_one_seed_has_no_interval(tmp_path):
    files = make_recipes(tmp_path, finetuning(), seeds=(1,))
    rows = read_tsv(files["recipe_differences"])
    assert {row["claim"] for row in rows} == {"one_seed"}
    assert {row["low"] for row in rows} == {row["joint_high"] for row in rows} == {""}
    assert {row["t_low"] for row in read_tsv(files["recipes"])} == {""}


def test_the_options_are_those_of_the_studys_statistics():
    from analysis import compute_statistics

    assert compare_recipes.OPTIONS.items() <= compute_statistics.OPTIONS.items()
