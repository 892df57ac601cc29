"""Arms and pairs of arms by the measures that the study names beside the leading one."""

import measures
from analysis.products.errors import run_keys
from study.modules import file_digest
from study.products import ARM, PAIR, Product, Rule


def named(config):
    """Return the measures that arms are compared by beside the leading one, in the study's order."""
    return [name for name in config["finetuning"]["measures"] if name != measures.leading(config)]


def has_measures(config):
    """Return whether the study names one."""
    return bool(named(config))


def table(key, path, columns, label):
    """Return the row of a table of measures."""
    shown = {"caption": "measures", "category": "Trust", "labels": {"table": label}}
    return Product(key, path, "compare_measures", columns=columns, when=has_measures, page=True, crate=True, **shown)


COLUMNS = {
    "measure": ("text", "", "that arms are compared by, or that leads the study: a file of scripts/measures/"),
    "unit": ("text", "", "of its values; `share` is printed in per cent"),
    "higher_is_better": ("flag", "", "whether a higher value is the better one"),
    "valid_score": ("number", "by `measure`", "on validation at best_epoch, where another measure than accuracy leads"),
    "test_score": ("number", "by `measure`", "on test, likewise"),
    "score": ("number", "by measure", "of the run on test"),
    "score_mean": ("number", "by measure", "over seeds"),
    "score_sd_ddof1": ("number", "by measure", "standard deviation over seeds, divisor n - 1"),
    "score_min": ("number", "by measure", "lowest of the seeds"),
    "score_max": ("number", "by measure", "highest of the seeds"),
    "score_low": ("number", "by measure", "lower end of the mean's interval over seeds and texts, at `level`"),
    "score_high": ("number", "by measure", "its upper end"),
    "score_difference": ("number", "by measure", "mean of the first arm less mean of the second"),
    "score_difference_low": ("number", "by measure", "lower end of its interval over seeds and texts, at `level`"),
    "score_difference_high": ("number", "by measure", "its upper end"),
    "better": ("text", "", "the arm with the better mean; empty where they are equal"),
}
PRODUCTS = [
    table("measured_runs", "measures/runs.tsv", f"{ARM} seed measure score", "other measures by run"),
    table(
        "measured_arms",
        "measures/arms.tsv",
        f"measure unit higher_is_better {ARM} n_seeds n_test score_mean score_sd_ddof1 score_min score_max level "
        "score_low score_high",
        "other measures by arm",
    ),
    table(
        "measured_pairs",
        "measures/pairs.tsv",
        f"measure {PAIR} n_seeds_a n_seeds_b n_test score_difference level score_difference_low score_difference_high "
        "welch_p welch_p_holm seeds_p seeds_p_holm seeds_p_floor better",
        "other measures by pair of arms",
    ),
]
RULES = [
    Rule(
        "compare_measures",
        {"runs": "runs", "predictions": "predictions"},
        {
            "run_keys": run_keys,
            "names": named,
            # Snakemake looks for a script's imports, and measures are loaded by name.
            "versions": lambda config: [file_digest(measures.file(name)) for name in named(config)],
        },
        has_measures,
    ),
]
