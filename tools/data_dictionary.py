"""Write docs/guides/data-dictionary.md from the rows of products: every column of every table of a study.

Run by hand after a change to the tables: `python -m tools.data_dictionary`.
"""

import os

from common.files import write_text
from study.tables import columns, columns_of, tables

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "guides", "data-dictionary.md")
HEAD = """# Data dictionary

Every table of `results/<study>/`: tab-separated, UTF-8, one header line. Written from the rows in
`scripts/<room>/products/` and the meanings in `scripts/study/tables.py` by `python -m tools.data_dictionary`. The tests
compare the two, and a finished study's tables with both.

A share is a number from 0 to 1. Accuracies and their differences are shares in files and percentages only where people
read them. A flag is `true` or `false`. An empty cell means that there is no value. Two columns that end in `_low` and
`_high` are an interval, named by what comes before.
"""


def page():
    """Return the page's text."""
    parts = [HEAD, "## Files\n", "| file | columns |", "|---|---|"]
    for key, row in tables().items():
        parts.append(f"| `{row.file()}` | {', '.join(f'`{column}`' for column in columns_of(key))} |")
    parts += ["", "`fairseq` and `huggingface` are columns of `protocol_diff.tsv` where the study has such an arm.", ""]
    parts += ["## Columns\n", "| column | type | unit | meaning | files |", "|---|---|---|---|---|"]
    for column, (kind, unit, meaning) in columns().items():
        files = ", ".join(f"`{row.file()}`" for key, row in tables().items() if column in columns_of(key))
        parts.append(f"| `{column}` | {kind} | {unit} | {meaning} | {files} |")
    return "\n".join([*parts, ""])


if __name__ == "__main__":
    write_text(PAGE, page())
