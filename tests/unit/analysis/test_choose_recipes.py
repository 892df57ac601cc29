"""Each start's recipe is chosen on validation alone."""

import pytest

from analysis.choose_recipes import choose
from common.files import read_tsv
from support.recipe_study import finetuning, make_recipes, recipes


def valid_only(*accuracies, n_valid=200):
    """Runs of which nothing but validation is known: reading test would be a KeyError."""
    return [{"valid_accuracy": accuracy, "n_valid": n_valid} for accuracy in accuracies]


def test_the_highest_mean_validation_accuracy_is_chosen_without_test():
    of = recipes(a=("random", 1e-5, 5), b=("random", 1e-4, 5), c=("pretrained", 1e-4, 5))
    # Means 0.70, 0.71 (0.80 + 0.62 = 1.42), although a's seeds vary less.
    arms = {"a": valid_only(0.7, 0.7), "b": valid_only(0.8, 0.62), "c": valid_only(0.5, 0.5)}
    assert choose(arms, of) == {"p, random": "b", "p, pretrained": "c"}


def test_of_equal_means_the_fewest_epochs_then_the_lowest_rate():
    of = recipes(a=("random", 1e-5, 10), b=("random", 1e-3, 5), c=("random", 1e-4, 5))
    # In floats 0.1 + 0.2 is more than 0.3 + 0; as counts of 10 reviews both are 3.
    assert 0.1 + 0.2 > 0.3 + 0.0
    arms = {name: valid_only(0.1, 0.2, n_valid=10) for name in "ab"}
    arms["c"] = valid_only(0.3, 0.0, n_valid=10)
    assert choose(arms, of) == {"p, random": "c"}
    del of["c"]
    assert choose(arms, of) == {"p, random": "b"}


def test_starts_that_share_no_recipe_have_a_choice_each(tmp_path):
    """Two starts that dropout, too, tells apart: nothing to compare recipe by recipe."""
    section = finetuning()
    for arm in section["arms"].values():
        if arm["init"] == "random":
            arm["training"] = arm["training"] | {"dropout": 0.3}
    files = make_recipes(tmp_path, section)
    rows = read_tsv(files["recipes"])
    assert [row["start"] for row in rows if row["best"] == "true"] == [
        "Hugging Face, pretrained",
        "Hugging Face, random, dropout 0.3",
    ]
    assert "recipe_differences" not in files
    runs = read_tsv(files["recipe_runs"])
    for row in rows:
        tested = [float(run["test_accuracy"]) for run in runs if run["arm"] == row["arm"]]
        assert len(tested) == 3 and float(row["mean"]) == pytest.approx(sum(tested) / 3)
