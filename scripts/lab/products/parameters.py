"""The parameter count as derived by hand."""

from common.arms import uses_checkpoint
from study.products import Product, Rule, figure


def table(key, path, rule, columns, label, **facts):
    """Return the row of a table of parameters."""
    shown = {"caption": key, "category": "Trust", "labels": {"table": label}}
    return Product(key, path, rule, "", columns, page=True, crate=True, **shown, **facts)


PRODUCTS = [
    table(
        "derivation",
        "parameters/derivation.tsv",
        "derive_parameters",
        "model step part scope formula substituted count total published source note",
        "parameters, step by step",
        when=uses_checkpoint,
    ),
    table(
        "symbols",
        "parameters/symbols.tsv",
        "derive_parameters",
        "symbol meaning study_value reports_value",
        "symbols of the parameter count",
        when=uses_checkpoint,
    ),
    *figure(
        "parameters_figure",
        "figures/parameters",
        "plot_parameters",
        when=uses_checkpoint,
        caption="parameters",
        category="Trust",
        subcategory="Figures",
        labels={"figure": "where the parameters lie"},
    ),
]
RULES = [Rule("plot_parameters", {"derivation": "derivation"}, when=uses_checkpoint)]
