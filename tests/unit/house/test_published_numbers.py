"""The published tables follow from the published predictions, run by run and, for the recipes, byte for byte."""

import os

import pytest

from analysis import choose_recipes, compare_recipes
from common.files import read_tsv
from finetuning.recipes import compared_recipes, tried_recipes
from study.configuration import load_study
from support.studies import ROOT, published

PUBLISHED = sorted(
    name
    for name in os.listdir(os.path.join(ROOT, "published"))
    if os.path.exists(os.path.join(ROOT, "published", name, "runs.tsv"))
)


def predictions_of(folder, row):
    return os.path.join(folder, "predictions", row["arm"], f"seed{row['seed']}.tsv")


@pytest.mark.parametrize("study", PUBLISHED)
def test_every_published_accuracy_is_that_of_the_published_predictions(study):
    folder = str(published(study))
    runs = read_tsv(os.path.join(folder, "runs.tsv"))
    assert runs
    for run in runs:
        told = read_tsv(predictions_of(folder, run))
        right = sum(row["label"] == row["prediction"] for row in told)
        assert len(told) == int(run["n_test"])
        assert right / len(told) == float(run["test_accuracy"]), (run["arm"], run["seed"])


def test_the_tables_of_recipes_are_made_anew_from_the_predictions(tmp_path):
    folder = str(published("recipes"))
    config, _ = load_study(ROOT, os.path.join(ROOT, "studies", "recipes.yaml"))
    runs = read_tsv(os.path.join(folder, "runs.tsv"))
    names = ("recipes.tsv", "recipes/differences.tsv", "recipes/interactions.tsv", "recipes/runs.tsv")
    (tmp_path / "recipes").mkdir()
    made, recipes = [str(tmp_path / name) for name in names], tried_recipes(config["finetuning"])
    choose_recipes.main(os.path.join(folder, "runs.tsv"), recipes, made[0], made[3])
    compare_recipes.main(
        os.path.join(folder, "runs.tsv"),
        [predictions_of(folder, run) for run in runs],
        [(run["arm"], run["seed"]) for run in runs],
        compared_recipes(recipes),
        *made[1:3],
    )
    for name in names:
        with open(os.path.join(folder, name), "rb") as kept:
            assert (tmp_path / name).read_bytes() == kept.read(), name
