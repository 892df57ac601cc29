"""The page, the list of its numbers, and their provenance."""

from study.products import Product

# Several sources are joined with `; `.
COLUMNS = {
    "number": ("text", "", "as printed"),
    "where": ("text", "", "place on the page"),
    "file": ("text", "", "that it comes from"),
    "row": ("text", "", "line of that file"),
    "column": ("text", "", "column of that file, or place in its tree"),
}
PRODUCTS = [
    Product("settings_record", "settings.json", "record_settings", "record", derived=False),
    Product(
        "provenance",
        "ro-crate-metadata.json",
        "record_provenance",
        "crate",
        caption="provenance",
        category="Trust",
        subcategory="",
        labels={"record": "provenance (RO-Crate)"},
    ),
    Product("report", "report.html", "build_report"),
    # Snakemake's report includes the page without the files that it links to.
    Product(
        "report_alone",
        "report_alone.html",
        "build_report",
        "alone",
        caption="report",
        category="Report",
        subcategory="",
        labels={"page": "the study's report"},
    ),
    Product(
        "report_numbers",
        "report_numbers.tsv",
        "check_report",
        "numbers",
        columns="number where file row column formula",
    ),
]
