"""Recipes: learning rates and epochs that starts are compared at, where a study tries several."""

from analysis.products.errors import run_keys
from finetuning.recipes import compared_recipes, tried_recipes
from study.products import Product, Rule, figure


def tried(config):
    """Return the recipes of the starts that have several."""
    return tried_recipes(config["finetuning"])


def compared(config):
    """Return the recipes that pretrained and random arms share."""
    return compared_recipes(tried(config))


def has_tried(config):
    """Return whether a start has several recipes."""
    return bool(tried(config))


def has_compared(config):
    """Return whether pretrained and random arms share several."""
    return bool(compared(config))


def table(key, file, rule, output, when, columns, label=""):
    """Return the row of a table of recipes."""
    facts = {"caption": "recipes", "labels": {"table": label}} if label else {}
    return Product(key, file, rule, output, columns, when, page=True, crate=True, **facts)


PRODUCTS = [
    table(
        "recipes",
        "recipes.tsv",
        "choose_recipes",
        "table",
        has_tried,
        "pair start arm init peak_lr epochs n_seeds n_valid valid_mean valid_sd_ddof1 best n_tied mean sd_ddof1 min "
        "max level t_low t_high",
        "recipes, chosen on validation",
    ),
    table(
        "recipe_runs",
        "recipes/runs.tsv",
        "choose_recipes",
        "seeds",
        has_tried,
        "pair start arm init peak_lr epochs seed valid_accuracy test_accuracy measure? valid_score? test_score?",
    ),
    table(
        "recipe_differences",
        "recipes/differences.tsv",
        "compare_recipes",
        "differing",
        has_compared,
        "pair peak_lr epochs arm_a arm_b n_seeds_a n_seeds_b n_test difference level low high joint_low joint_high",
        "differences by recipe",
    ),
    table(
        "recipe_interactions",
        "recipes/interactions.tsv",
        "compare_recipes",
        "interacting",
        has_compared,
        "pair epochs_a peak_lr_a epochs_b peak_lr_b difference_a difference_b interaction level low high joint_low "
        "joint_high",
    ),
    *figure(
        "recipe_figure",
        "figures/recipes",
        "plot_recipes",
        when=has_compared,
        caption="recipes",
        subcategory="Arms compared",
        labels={"figure": "{leading} by learning rate"},
    ),
]
RULES = [
    # Recipes are chosen on validation; the accuracies on test only describe the choice.
    Rule("choose_recipes", {"runs": "runs"}, {"recipes": tried}, has_tried),
    Rule(
        "compare_recipes",
        {"runs": "runs", "predictions": "predictions"},
        {"run_keys": run_keys, "recipes": compared},
        has_compared,
    ),
    Rule(
        "plot_recipes",
        {
            "table": "recipes",
            "differing": "recipe_differences",
            "seeds": "recipe_runs",
            "manifest": "manifest",
        },
        when=has_compared,
    ),
]
