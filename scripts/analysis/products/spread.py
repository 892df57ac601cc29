"""The spread between runs by source of chance, where a study asks for it (`sources`)."""

from analysis.products.accuracy import PRODUCTS as OF_RUNS
from study.products import Product, Rule, figure


def asked(config):
    """Say whether the study asks how much each source of chance spreads its runs."""
    return bool(config.get("sources"))


COLUMNS_OF = {row.key: row.columns for row in OF_RUNS}
PRODUCTS = [
    Product(
        "spread_runs",
        "spread/runs.tsv",
        "aggregate_runs",
        columns=COLUMNS_OF["runs"],
        when=asked,
        caption="spread",
        labels={"table": "runs of the study of sources"},
        page=True,
        crate=True,
    ),
    Product(
        "spread_history",
        "spread/history.tsv",
        "aggregate_runs",
        columns=COLUMNS_OF["history"],
        when=asked,
        crate=True,
    ),
    Product(
        "spread_sources",
        "spread/sources.tsv",
        "measure_spread",
        "table",
        "contrast measure varied n_runs n_not_learned n_test level spread_sd spread_sd_low spread_sd_high variance "
        "variance_low variance_high variance_share variance_share_low variance_share_high n_seeds covered "
        "added_variance added_sd",
        asked,
        caption="spread",
        labels={"table": "spread by source"},
        page=True,
        crate=True,
    ),
    *figure(
        "spread_figure",
        "figures/spread",
        "plot_spread",
        when=asked,
        caption="spread",
        subcategory="Arms compared",
        labels={"figure": "spread by source"},
    ),
]
RULES = [Rule("plot_spread", {"table": "spread_sources", "manifest": "manifest"}, when=asked)]
COLUMNS = {
    "varied": (
        "text",
        "",
        "source of chance that alone differs between the runs; all: every one; texts: the test texts, with unlimited "
        "runs; all and texts: a run of new draws on new texts; jointly: all less the sum of each alone",
    ),
    "n_not_learned": ("integer", "runs", "runs of the row that did not learn (as in learned.tsv); they are counted"),
    "spread_sd": ("number", "by measure", "root of `variance`"),
    "spread_sd_low": ("number", "by measure", "lower end of its interval (chi-square)"),
    "spread_sd_high": ("number", "by measure", "its upper end"),
    "variance": ("number", "measure squared", "between runs (divisor n - 1), or what new texts would add to a run"),
    "variance_low": ("number", "measure squared", "lower end of its interval"),
    "variance_high": ("number", "measure squared", "its upper end"),
    "variance_share": ("number", "", "of the variance of the runs in which all sources vary; above 1 by chance"),
    "variance_share_low": ("number", "", "lower end of its interval (F)"),
    "variance_share_high": ("number", "", "its upper end"),
    "covered": ("flag", "", "whether the study's interval covers the source: its seeds, or its texts, vary it"),
    "added_variance": (
        "number",
        "measure squared",
        "that it adds to the variance of the study's mean or difference: divided by n_seeds where seeds vary it",
    ),
    "added_sd": ("number", "by measure", "root of `added_variance`"),
}
