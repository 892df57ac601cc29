"""Learning curves, where arms differ in how much they learn from."""

from analysis.products.statistics import BASELINES
from finetuning.learning_curves import REVIEWS, learning_points
from study.products import Product, Rule, figure


def points(config):
    """Return the points of the study's learning curves."""
    return learning_points(config["finetuning"])


def has_points(config):
    """Return whether the study has a learning curve."""
    return bool(points(config))


def has_reviews(config):
    """Return whether a curve is of labelled reviews, which the simple models learn from as well."""
    return any(point["curve"] == REVIEWS for point in points(config))


PRODUCTS = [
    Product(
        "learning_curve_means",
        "learning_curves/means.tsv",
        "tabulate_learning_curves",
        "means",
        "curve start arm init amount n_seeds n_test mean sd_ddof1 min max level low high",
        has_points,
        caption="learning_curves",
        labels={"table": "learning curves"},
        page=True,
        crate=True,
    ),
    Product(
        "learning_curve_runs",
        "learning_curves/runs.tsv",
        "tabulate_learning_curves",
        "seeds",
        "curve start arm init amount seed valid_accuracy test_accuracy measure? valid_score? test_score?",
        has_points,
        page=True,
        crate=True,
    ),
    Product(
        "learning_curve_baselines",
        "learning_curves/baselines.tsv",
        "compare_baselines",
        "subsets",
        BASELINES,
        has_reviews,
        page=True,
        crate=True,
    ),
    *figure(
        "learning_curve_figure",
        "figures/learning_curves",
        "plot_learning_curves",
        when=has_points,
        caption="learning_curves",
        subcategory="Arms compared",
        labels={"figure": "learning curves"},
    ),
]
RULES = [
    Rule(
        "plot_learning_curves",
        {
            "means": "learning_curve_means",
            "seeds": "learning_curve_runs",
            "whole": "baselines",
            "simple": ["learning_curve_baselines"],
            "manifest": "manifest",
        },
        when=has_points,
    ),
]
