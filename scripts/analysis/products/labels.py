"""Numbers and sets of labels: how near they are, and how each label fares."""

import tasks
from analysis.products.errors import run_keys
from study.products import Product, Rule, figure


def is_of(task):
    """Return a function of the settings: whether the study's labels are of a kind."""
    return lambda config: tasks.name_of(config) == task


SUMMARY = "mean sd_ddof1 min max t_low t_high"
NUMBERS, SETS = is_of("regression"), is_of("multilabel")
FACTS = {"page": True, "crate": True}
PRODUCTS = [
    *figure(
        "scatter",
        "figures/scatter",
        "plot_scatter",
        when=NUMBERS,
        caption="errors",
        subcategory="Errors",
        labels={"figure": "numbers by label"},
    ),
    Product(
        "scatter_data",
        "figures/scatter.tsv",
        "plot_scatter",
        "data",
        "arm id true_number mean_number",
        NUMBERS,
        **FACTS,
    ),
    Product(
        "errors_numbers",
        "errors/numbers.tsv",
        "plot_scatter",
        "distances",
        "arm n_seeds n_test bias absolute_distance spread true_spread",
        NUMBERS,
        **FACTS,
    ),
    Product(
        "errors_by_label",
        "errors/by_label.tsv",
        "measure_labels",
        "by_set_label",
        f"arm label metric n_reviews n_seeds {SUMMARY}",
        SETS,
        **FACTS,
    ),
]
COLUMNS = {
    "true_number": ("number", "of the labels", "label of the text"),
    "mean_number": ("number", "of the labels", "mean over seeds of the arm's answers"),
    "bias": ("number", "of the labels", "mean over seeds and texts of answer less label"),
    "absolute_distance": ("number", "of the labels", "mean over seeds and texts of the distance of answer and label"),
    "spread": ("number", "of the labels", "standard deviation of the answers, mean over seeds, divisor n"),
    "true_spread": ("number", "of the labels", "standard deviation of the labels, divisor n"),
}
RULES = [
    Rule("plot_scatter", {"predictions": "predictions", "manifest": "manifest"}, {"run_keys": run_keys}, NUMBERS),
    Rule("measure_labels", {"predictions": "predictions"}, {"run_keys": run_keys}, SETS),
]
