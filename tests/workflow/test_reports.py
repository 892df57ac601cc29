"""docs/method/reports.md: each figure, table and question of the five reports has a file and a section of the page."""

import os
import re
from pathlib import Path

import pytest

from report.sections import sections as page_sections
from support import studies

ROOT = Path(studies.ROOT)
SEEDS = sorted((ROOT.parent / "shared" / "seeds").glob("*.txt"))
# What a report calls one of its items, by the words at the start of a line.
HEADINGS = {
    "Figure": re.compile(r"^(Figure \d+):", re.MULTILINE),
    "Table": re.compile(r"^(Table \d+):", re.MULTILINE),
    "Question": re.compile(r"^[#\s]*\d+ (Question \d+)$", re.MULTILINE),
}


def rows():
    """The table: (report, item, file, section)."""
    found = []
    for line in (ROOT / "docs" / "method" / "reports.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and (cells[0].isdigit() or cells[0] == "all"):
            found.append((cells[0], cells[1], cells[3].strip("`"), cells[4].strip("`")))
    return found


@pytest.mark.workflow
@pytest.mark.timeout(600)
def test_every_file_is_made_by_a_rule(tmp_path):
    made = {file for job in studies.planned_jobs(tmp_path, study=ROOT / "config.yaml") for file in job.output}
    missing = [file for *_, file, _ in rows() if os.path.join("results", "embedded", file) not in made]
    assert len(rows()) >= 30 and not missing


def test_every_section_is_one_of_the_page():
    sections = {f"#{name.replace('_', '-')}" for name, *_ in page_sections()}
    assert {section for *_, section in rows()} <= sections


@pytest.mark.skipif(len(SEEDS) != 5, reason="the five reports are not beside this project (../shared/seeds)")
def test_no_item_of_a_report_is_left_out():
    there = {(report, item) for report, item, *_ in rows()}
    for number, path in enumerate(SEEDS, start=1):
        text = path.read_text(encoding="utf-8")
        items = {(str(number), item) for pattern in HEADINGS.values() for item in pattern.findall(text)}
        assert len(items) >= 2 and items <= there, items - there
