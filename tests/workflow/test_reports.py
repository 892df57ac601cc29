"""docs/method/reports.md: what the five reports ask has a file, a section of the page, and what is looked for in it."""

import os
import re
import shutil
from pathlib import Path

import pytest

from common.files import read_tsv, write_tsv
from report.sections import sections as page_sections
from support import studies
from support.report_items import ITEMS, conditions, lacking
from tools import report_items

ROOT = Path(studies.ROOT)
SEEDS = sorted((ROOT.parent / "shared" / "seeds").glob("*.txt"))
# A report's name for one of its items, by the words at the start of a line.
HEADINGS = {
    "Figure": re.compile(r"^(Figure \d+):", re.MULTILINE),
    "Table": re.compile(r"^(Table \d+):", re.MULTILINE),
    "Question": re.compile(r"^[#\s]*\d+ (Question \d+)$", re.MULTILINE),
}


def test_the_page_has_every_item_of_the_list():
    page = Path(report_items.PAGE).read_text(encoding="utf-8")
    assert report_items.page(page) == page
    assert f"{len(ITEMS)} items" in page
    assert len({(row["report"], row["item"]) for row in ITEMS}) == len(ITEMS) == 73


def test_every_item_says_what_is_looked_for():
    for row in ITEMS:
        assert row["wants"] and all(conditions(row)), row
        # A figure is looked into by the table of what it draws.
        assert (row["data"] != "") == row["file"].endswith(".svg"), row


def test_every_curve_is_asked_for_both_splits():
    curves = [row for row in ITEMS if row["file"].startswith("figures/") and row["report"] != "3"]
    assert len(curves) >= 10
    for row in curves:
        assert {one.get("split") for one in conditions(row)} >= {"valid", "test"}, row


@pytest.mark.workflow
@pytest.mark.timeout(600)
def test_every_file_is_made_by_a_rule(tmp_path):
    made = {file for job in studies.planned_jobs(tmp_path, study=ROOT / "config.yaml") for file in job.output}
    files = {row[name] for row in ITEMS for name in ("file", "data") if row[name]}
    missing = [file for file in files if os.path.join("results", "embedded", file) not in made]
    assert len(files) > 15 and not missing


def test_every_section_is_one_of_the_page():
    sections = {f"#{name.replace('_', '-')}" for name, *_ in page_sections()}
    assert {row["section"] for row in ITEMS} <= sections


@pytest.mark.skipif(len(SEEDS) != 5, reason="the five reports are not beside this project (../shared/seeds)")
def test_no_item_of_a_report_is_left_out():
    there = {(row["report"], row["item"].partition(",")[0]) for row in ITEMS}
    for number, path in enumerate(SEEDS, start=1):
        text = path.read_text(encoding="utf-8")
        items = {(str(number), item) for pattern in HEADINGS.values() for item in pattern.findall(text)}
        assert len(items) >= 2 and items <= there, items - there


def answered(folder, row):
    """Write what a curve's item asks for, and return where."""
    columns = ("arm", "split", "epoch", "mean", "chosen")
    rows = [
        {"arm": one.get("arm", "x"), "split": one.get("split", "valid"), "epoch": epoch, "mean": 0.5 + epoch / 10}
        | {"chosen": "true"}
        for one in conditions(row)
        for epoch in (1, 2)
    ]
    for name in (row["file"], row["data"]):
        os.makedirs(folder / os.path.dirname(name), exist_ok=True)
    write_tsv(folder / row["data"], rows, columns)
    (folder / row["file"]).write_text('<g id="axes_1"><g id="axes_2"><g id="axes_3">', encoding="utf-8")
    return folder


def test_a_plant_is_noticed(tmp_path):
    row = next(row for row in ITEMS if "highest_so_far" in row["file"])
    folder = answered(tmp_path / "whole", row)
    assert lacking(row, folder) == []
    # The figure without its test panel, its table without test, a best that falls, and no file at all.
    svg, table = folder / row["file"], folder / row["data"]
    svg.write_text('<g id="axes_1"><g id="axes_2">', encoding="utf-8")
    assert lacking(row, folder)[0].endswith("1 panels for test, valid")
    answered(folder, row)
    kept = read_tsv(table)
    write_tsv(table, [one for one in kept if one["split"] == "valid"], list(kept[0]))
    assert len(lacking(row, folder)) == 2 and "'split': 'test'" in lacking(row, folder)[0]
    write_tsv(table, [one | {"epoch": 3 - int(one["epoch"])} for one in kept], list(kept[0]))
    assert any("falls on test" in one for one in lacking(row, folder))
    shutil.rmtree(folder)
    assert lacking(row, folder) == [f"report {row['report']}, {row['item']}: no {row['file']}"]
    # A number that differs by one, and a cell that is empty.
    count = next(row for row in ITEMS if row["wants"].startswith("published=22807552"))
    os.makedirs(tmp_path / "parameters")
    write_tsv(tmp_path / count["file"], [{"published": "22807553"}], ["published"])
    assert lacking(count, tmp_path)
    run = next(row for row in ITEMS if "best_update=*" in row["wants"])
    cells = {"arm": "fairseq-pretrained", "best_update": "9", "valid_accuracy": "0.5", "test_accuracy": ""}
    write_tsv(tmp_path / "runs.tsv", [cells], list(cells))
    assert lacking(run, tmp_path)
    write_tsv(tmp_path / "runs.tsv", [cells | {"test_accuracy": "0.5"}], list(cells))
    assert not lacking(run, tmp_path)
