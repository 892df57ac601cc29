"""The pages are HTML as the standard has it, by html-validate's reading."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from support.report_study import make_study
from support.result_sets import make_page, make_whole
from tools import compare

ROOT = Path(__file__).resolve().parents[3]
# Where .ci/run installs it from the npm registry; git ignores it.
VALIDATOR = ROOT / ".cache" / "html-validate" / "node_modules" / ".bin" / "html-validate"


@pytest.fixture(scope="module")
def validate(tmp_path_factory):
    """A function that returns what html-validate finds wrong in pages."""
    if not (VALIDATOR.is_file() and shutil.which("node")):
        pytest.skip(f"{VALIDATOR.relative_to(ROOT)} or node is missing: .ci/run installs it from the npm registry")
    version = subprocess.run([str(VALIDATOR), "--version"], capture_output=True, text=True, check=False)
    if version.returncode:
        pytest.skip(f"this machine's node does not run html-validate: {version.stderr.strip()[-200:]}")
    rules = tmp_path_factory.mktemp("html") / "rules.json"
    rules.write_text('{"root": true, "extends": ["html-validate:standard"]}', encoding="utf-8")

    def found(*pages):
        command = [str(VALIDATOR), "--config", str(rules), "--formatter", "text", *map(str, pages)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return found


def test_the_report_is_valid(validate, tmp_path):
    make_page(tmp_path, *make_whole(tmp_path))
    assert validate(tmp_path / "report.html") == (0, "")


def test_the_comparison_is_valid(validate, tmp_path):
    make_study(tmp_path / "own")
    compare.main(str(tmp_path / "own"), f"{ROOT}/claims/published_runs.tsv:published", str(tmp_path / "page.html"))
    assert "<figure>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert validate(tmp_path / "page.html") == (0, "")


def test_a_fault_is_found(validate, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<!DOCTYPE html>\n<html lang="en">\n<head><title>x</title></head>\n<body>'
        "<figure><h3>t</h3><figcaption>x</figcaption><p>y</p></figure></body>\n</html>\n",
        encoding="utf-8",
    )
    status, told = validate(page)
    assert status == 1 and "element-permitted-order" in told
