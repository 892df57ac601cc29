"""The claims that are checked against the study's tables."""

from study.products import Product


def is_asked(config):
    """Return whether the study is of reviews, as the reports are."""
    return config["data"]["source"] != "table"


COLUMNS = {
    "lab_verdict": ("text", "", "what the reports' own figures say of the sentence"),
    "report": ("integer", "", "which of the course's reports, by claims/reports.tsv"),
    "asks": ("text", "", "what of it: a question, task, table or figure"),
    "shows": ("text", "", "what it asks or shows"),
    "answered_in": ("text", "", "the file of a study that answers it"),
    "place": ("text", "", "the section of the page"),
}
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
        "report_items",
        "report_items.tsv",
        "check_claims",
        "items_table",
        "report asks shows answered_in place",
        is_asked,
        page=True,
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
