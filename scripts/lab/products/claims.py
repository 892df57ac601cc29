"""The claims that are checked against the study's tables."""

from study.products import Product

SHOWN = {"caption": "claims", "category": "Trust", "page": True, "crate": True}
PRODUCTS = [
    Product(
        "claims",
        "claims.tsv",
        "check_claims",
        columns="id sentence source verdict data",
        labels={"table": "claims"},
        **SHOWN,
    ),
    Product(
        "claims_by_report",
        "claims_by_report.tsv",
        "check_claims",
        "by_report",
        "part heading opening claims holds fails not_shown cannot_be_decided transcribed",
        labels={"table": "claims by report"},
        **SHOWN,
    ),
]
