"""A suite published: its page beside those of its studies, and README's part from its tables."""

import shutil

import pytest

from analysis.verdicts import points
from common.errors import StudyError
from common.files import read_tsv
from support.suites import write_finished, write_suite
from tools import publish_suite, suite
from tools.publish import links
from tools.suite_settings import note_finished, read_suite

NAMES = ("set1", "set2")
MARKS = "<!-- tiny-suite -->\nold\n<!-- /tiny-suite -->"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    for name in NAMES:
        write_finished(folder, name, n=80)
    return folder


@pytest.fixture
def root(finished, tmp_path, monkeypatch):
    """A copy of two finished studies and their suite's page, in which commands run."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(suite.OPTIONS, "bootstrap", 200)
    path = write_suite(tmp_path, NAMES)
    for entry in read_suite(path).entries:
        note_finished(entry.study, read_suite(path).stamp(entry))
    suite.main(path)
    (tmp_path / "README.md").write_text(f"# A\n{MARKS}\nend\n")
    return tmp_path


def publish_studies(root):
    for name in NAMES:
        (root / "published" / name).mkdir(parents=True)
        shutil.copy(root / "results" / name / "report.html", root / "published" / name)


def test_every_link_of_the_published_page_leads_to_a_page(root):
    publish_studies(root)
    publish_suite.main(str(root / "suite.yaml"))
    folder = root / "published" / "suites" / "tiny"
    targets = set(links(folder / "report.html"))
    assert {f"../../{name}/report.html" for name in NAMES} <= targets
    assert all((folder / target).exists() for target in targets)
    assert b"<svg" in (folder / "forest.svg").read_bytes()


def test_readme_has_the_answers_of_the_tables(root):
    publish_studies(root)
    publish_suite.main(str(root / "suite.yaml"))
    text = (root / "README.md").read_text(encoding="utf-8")
    assert "old" not in text and text.startswith("# A\n") and text.endswith("end\n")
    folder = root / "published" / "suites" / "tiny"
    for row in read_tsv(folder / "questions.tsv"):
        line = next(line for line in text.splitlines() if row["ask"] in line)
        assert all(points(float(row[name])) in line for name in ("score_difference", "low", "high", "least", "most"))
    for row in read_tsv(folder / "arms.tsv"):
        assert f"{100 * float(row['mean']):.2f}" in text


def test_a_suite_of_unpublished_or_other_results_is_refused(root):
    with pytest.raises(StudyError, match="set1 has no report.html; run python -m tools.publish set1 first"):
        publish_suite.main(str(root / "suite.yaml"))
    publish_studies(root)
    page = root / "published" / "set2" / "report.html"
    page.write_text("an older page")
    with pytest.raises(StudyError, match="set2/report.html is not the page of results/set2"):
        publish_suite.main(str(root / "suite.yaml"))
    shutil.copy(root / "results" / "set2" / "report.html", page)
    crate = root / "results" / "set1" / "ro-crate-metadata.json"
    crate.write_text(crate.read_text() + " ")
    with pytest.raises(StudyError, match="set1/ro-crate-metadata.json is not the one that the suite read"):
        publish_suite.main(str(root / "suite.yaml"))
    assert not (root / "published" / "suites").exists()
