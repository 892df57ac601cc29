"""The parameter count, as counted in files."""

from study.products import Product

PRODUCTS = [
    # A record that is read from checkpoints.
    Product(
        "parameter_ledger",
        "parameter_ledger.tsv",
        "build_parameter_ledger",
        "ledger",
        "section item formula count expected agrees note",
        caption="parameter_ledger",
        category="Trust",
        labels={"table": "parameter ledger"},
        page=True,
        crate=True,
        derived=False,
    ),
]
