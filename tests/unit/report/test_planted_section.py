"""A section is a folder: that of docs/development/add_a_section.md is planted in a copy of the tree."""

import json
import re
import shutil
from pathlib import Path

import pytest

from common.files import read_tsv
from support import trees
from support.report_study import make_study

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "development" / "add_a_section.md").read_text(encoding="utf-8")
SETTINGS = {"study": "published", "finetuning": {"arms": {}, "seeds": [1]}, "report": {}}
BUILD = """
import json, sys
from report import build_report
from report.sections import templates
settings, files, report = json.loads(sys.argv[1])
build_report.main(templates(), report, settings, **files)
"""
CHECK = """
import json, sys
from report import check_report
from report.sections import templates
settings, files, report = json.loads(sys.argv[1])
check_report.main(templates(), report, report.replace("report.html", "numbers.tsv"), settings, **files)
"""


def written_files():
    """The files of the guide: {path: text}."""
    return dict(trees.BLOCK.findall(GUIDE))


def run(script, root, folder, files):
    """Run a script with the code of another tree; return what it wrote on its standard error."""
    given = json.dumps([SETTINGS, files, str(folder / "report.html")])
    return trees.python(root, ["-c", script, given]).stderr


def build(root, folder, files):
    """Build the page with the code of another tree; return it."""
    assert run(BUILD, root, folder, files) == ""
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    for name in ("scripts", "report"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_the_guides_section_is_on_the_page_and_its_number_is_recorded(tree, tmp_path):
    files = make_study(tmp_path / "study")
    before = build(tree, tmp_path / "study", files)
    planted = written_files()
    assert 1 <= len(planted) <= 3
    for path, text in planted.items():
        assert not (tree / path).exists(), f"the guide edits {path}"
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text, encoding="utf-8")
    after = build(tree, tmp_path / "study", files)
    assert 'id="longest-training"' not in before and 'id="longest-training"' in after
    section = re.search(r'<section id="longest-training".*?</section>', after, re.DOTALL)[0]
    assert "1\u202f125" in re.sub(r"<[^>]*>", "", section)
    # Every number of the page is checked against its file, those of the new section too.
    assert run(CHECK, tree, tmp_path / "study", files) == ""
    numbers = read_tsv(tmp_path / "study" / "numbers.tsv")
    (row,) = [row for row in numbers if row["where"].startswith("longest-training")]
    assert (row["number"], row["column"]) == ("1125", "total_updates") and row["file"].endswith("runs.tsv")


def test_a_digit_typed_into_a_template_is_refused(tree, tmp_path):
    files = make_study(tmp_path / "study")
    template = tree / "scripts" / "report" / "sections" / "test_accuracy" / "page.html.j2"
    template.write_text(template.read_text(encoding="utf-8") + "\n<p>The mean is 81 %.</p>\n", encoding="utf-8")
    build(tree, tmp_path / "study", files)
    assert re.search(
        "StudyError: .*'The mean is 81 %.' .* has a number without a record",
        run(CHECK, tree, tmp_path / "study", files),
    )
