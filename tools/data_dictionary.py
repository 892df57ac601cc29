"""Write docs/guides/data-dictionary.md from scripts/study/tables.py: every column of every table of a study.

Run by hand after a change to the tables: `python -m tools.data_dictionary`.
"""

import os

from common.files import write_text
from study.tables import COLUMNS, TABLES, columns_of

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "guides", "data-dictionary.md")
HEAD = """# Data dictionary

Every table of `results/<study>/`: tab-separated, UTF-8, one header line. Written from `scripts/study/tables.py` by
`python -m tools.data_dictionary`. The tests compare the two, and a finished study's tables with both.

A share is a number from 0 to 1. Accuracies and their differences are shares in files and percentages only where people
read them. A flag is `true` or `false`. An empty cell means that there is no value. Two columns that end in `_low` and
`_high` are an interval, named by what comes before.
"""


def page():
    """Return the page's text."""
    parts = [HEAD, "## Files\n", "| file | columns |", "|---|---|"]
    for name in TABLES:
        parts.append(f"| `{name}` | {', '.join(f'`{column}`' for column in columns_of(name))} |")
    parts += ["", "`fairseq` and `huggingface` are columns of `protocol_diff.tsv` where the study has such an arm.", ""]
    parts += ["## Columns\n", "| column | type | unit | meaning | files |", "|---|---|---|---|---|"]
    for column, (kind, unit, meaning) in COLUMNS.items():
        files = ", ".join(f"`{name}`" for name in TABLES if column in columns_of(name))
        parts.append(f"| `{column}` | {kind} | {unit} | {meaning} | {files} |")
    return "\n".join([*parts, ""])


if __name__ == "__main__":
    write_text(PAGE, page())
