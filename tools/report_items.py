"""Write the table of docs/method/reports.md from claims/items.tsv: what the course's reports ask and show.

Run by hand after a change to that file: `python -m tools.report_items`.
"""

import os

from common.files import read_tsv, write_text

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE, ITEMS = os.path.join(ROOT, "docs", "method", "reports.md"), os.path.join(ROOT, "claims", "items.tsv")
HEAD = "| report | item | what it asks or shows | file | section |"


def table():
    """Return the table's lines."""
    rows = [
        f"| {row['report']} | {row['item']} | {row['what']} | `{row['file']}` | `{row['section']}` |"
        for row in read_tsv(ITEMS)
    ]
    return [HEAD, "|---|---|---|---|---|", *rows]


def page(text):
    """Return the page's text with its table as the file has it."""
    lines = text.split("\n")
    start = lines.index(HEAD)
    end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
    return "\n".join([*lines[:start], *table(), *lines[end:]])


if __name__ == "__main__":
    with open(PAGE, encoding="utf-8") as handle:
        written = page(handle.read())
    write_text(PAGE, written)
