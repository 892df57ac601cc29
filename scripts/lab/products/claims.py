"""The claims that are checked against the study's tables."""

from study.products import Product


def is_asked(config):
    """Say whether the study is of reviews, as the reports are."""
    return config["data"]["source"] != "table"


COLUMNS = {"lab_verdict": ("text", "", "what the reports' own figures say of the sentence")}
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
        "part heading opening claims holds fails not_settled cannot_be_decided transcribed",
        labels={"table": "claims by report"},
        **SHOWN,
    ),
    Product(
        "conclusions",
        "conclusions.tsv",
        "check_claims",
        "conclusions",
        "id part sentence source split verdict data lab_verdict",
        is_asked,
        labels={"table": "the reports' conclusions, asked of this study"},
        **SHOWN,
    ),
]
