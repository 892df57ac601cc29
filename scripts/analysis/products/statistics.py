"""Arms and pairs of arms: intervals, tests, and the results of simple models."""

from analysis.products.errors import counted, run_keys
from study.products import ARM, PAIR, RUN, Product, Rule

PAIRS = (
    f"{PAIR} n_seeds_a n_seeds_b n_test difference low high bootstrap_low bootstrap_high welch_p welch_p_holm seeds_p "
    "seeds_p_holm seeds_p_floor items_p items_p_holm probability_better_seeds probability_better_bootstrap"
)
BASELINES = (
    "baseline features C n_train n_valid valid_accuracy n_test n_correct_test test_accuracy measure? valid_score? "
    "test_score? exact_low exact_high"
)


def table(key, path, columns, label, rule="compute_statistics", output="", caption="", **facts):
    """Return the row of a table of statistics."""
    shown = {"caption": caption or key, "category": "Trust", "labels": {"table": label}}
    return Product(key, path, rule, output or key, columns, **shown, **{"page": True, "crate": True, **facts})


PRODUCTS = [
    table(
        "arm_statistics",
        "statistics/arms.tsv",
        f"{ARM} n_seeds n_test mean sd_ddof1 sd_ddof0 min max low high t_low t_high bootstrap_low bootstrap_high "
        "sampling_margin best_of_k n_learned note",
        "arms with intervals",
        output="arms",
    ),
    table("pairs", "statistics/pairs.tsv", PAIRS, "pairs of arms, exploratory"),
    table(
        "mcnemar",
        "statistics/mcnemar.tsv",
        f"{PAIR} seed only_a only_b p_value p_value_holm",
        "McNemar's test",
        page=False,
        crate=False,
    ),
    Product("method", "statistics/method.json", "compute_statistics", page=True),
    table(
        "learned",
        "learned.tsv",
        f"{RUN} valid_accuracy n_valid majority_share p_value learned test_accuracy constant_on_test",
        "which runs learnt",
        when=counted,
    ),
    table("baselines", "baselines.tsv", BASELINES, "simple models", "compare_baselines", "table"),
    table(
        "against_baselines",
        "statistics/baselines.tsv",
        f"{ARM} baseline n_seeds n_test level difference low high p p_holm",
        "arms against simple models",
        "compare_baselines",
        "compared",
    ),
    table(
        "shared_texts",
        "shared_texts.tsv",
        "arm n_seeds n_test n_shared mean sd_ddof1 mean_unshared sd_unshared_ddof1",
        "accuracy without test texts that training or validation has",
        "measure_shared_texts",
        caption="test_accuracy",
    ),
]
COLUMNS = {
    "n_shared": ("integer", "reviews", "test texts that occur, word for word, in train or valid"),
    "mean_unshared": ("number", "as mean", "mean over seeds on the other test texts"),
    "sd_unshared_ddof1": ("number", "as mean", "its standard deviation over seeds, divisor n - 1"),
}
RULES = [
    Rule(
        "compute_statistics",
        {"runs": "runs", "predictions": "predictions", "manifest": "manifest"},
        {"run_keys": run_keys},
    ),
]
