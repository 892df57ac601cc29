"""A table is a row and a script: that of docs/development/add_a_table.md is planted in a copy of the tree and made."""

import re
from pathlib import Path

import pytest

from common.files import read_tsv
from support import trees

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "development" / "add_a_table.md").read_text(encoding="utf-8")
TABLE = "results/embedded/longest_runs.tsv"
RUNS = "arm\tseed\ttotal_updates\na\t1\t30\na\t2\t40\nb\t1\t20\n"
# Files that `make regenerate` makes again.
PRINTED = "from study import products; print(*products.page_{}())"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return trees.plant(tmp_path_factory.mktemp("tree"), GUIDE, most=3, fewest=2)


def run(root, *command):
    """The output of a Python command in a tree, which must succeed."""
    done = trees.python(root, command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_table_is_made_by_its_rule(tree):
    runs = tree / "results" / "embedded" / "runs.tsv"
    runs.parent.mkdir(parents=True)
    runs.write_text(RUNS)
    run(tree, "-m", "snakemake", "--cores", "1", "--allowed-rules", "tabulate_longest_runs", "--", TABLE)
    assert read_tsv(tree / TABLE) == [
        {"arm": "a", "seed": "2", "most_updates": "40"},
        {"arm": "b", "seed": "1", "most_updates": "20"},
    ]


def test_page_and_provenance_read_it(tree):
    planned = run(tree, "-m", "snakemake", "--cores", "1", "--dry-run")
    reading = {
        rule: TABLE in inputs.split(", ")
        for rule, inputs in re.findall(r"^(?:local)?rule (\w+):\n    input: (.*)$", planned, re.MULTILINE)
    }
    assert [rule for rule, reads in sorted(reading.items()) if reads] == [
        "all",
        "build_report",
        "check_report",
        "record_provenance",
    ]


def test_regenerate_and_dictionary_know_it(tree):
    assert "tabulate_longest_runs" in run(tree, "-c", PRINTED.format("rules")).split()
    assert "longest_runs.tsv" in run(tree, "-c", PRINTED.format("files")).split()
    page = run(tree, "-c", "from tools import data_dictionary; print(data_dictionary.page())")
    assert "| `longest_runs.tsv` | `arm`, `seed`, `most_updates` |" in page
    assert "| `most_updates` | integer | updates | updates of the arm's longest run | `longest_runs.tsv` |" in page


def test_a_key_or_a_path_is_refused_twice(tree):
    clash = tree / "scripts" / "analysis" / "products" / "updates_again.py"
    clash.write_text("from analysis.products.updates import PRODUCTS  # noqa: F401\n", encoding="utf-8")
    try:
        with pytest.raises(AssertionError, match="longest_runs is the key or path of an earlier product"):
            run(tree, "-c", PRINTED.format("files"))
    finally:
        clash.unlink()
