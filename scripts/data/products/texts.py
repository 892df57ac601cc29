"""Facts of the texts: the manifest of the splits and their audit."""

from study.products import Product

PRODUCTS = [
    Product("test_reviews", "data/test.review", "build_splits", "reviews", derived=False),
    Product("manifest", "data/manifest.json", "build_splits", page=True, derived=False),
    Product(
        "audit",
        "audit.tsv",
        "audit_data",
        "table",
        columns="check split other value n status note",
        caption="audit",
        category="Trust",
        labels={"table": "data audit"},
        page=True,
        crate=True,
    ),
    Product("audit_details", "audit.json", "audit_data", "details"),
]
