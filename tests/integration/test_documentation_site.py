"""`make docs`: every page in one folder, which needs no network, with a search that works from a file."""

import json
import os
import re
import shutil
import subprocess

import pytest

from support.environments import ROOT
from support.studies import published_studies

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, made in a copy of the project that has no environment of its own."""
    folder = tmp_path_factory.mktemp("project")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    parts = re.search(r"^SITE_PARTS := (.*)$", makefile, re.MULTILINE)[1].split()
    for name in [*parts, "Makefile", "mkdocs.yml", "requirements-docs.txt"]:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
        else:
            shutil.copyfile(ROOT / name, folder / name)
    if (ROOT / ".venv-docs" / "installed").exists():
        os.symlink(ROOT / ".venv-docs", folder / ".venv-docs")
    done = subprocess.run(["make", "docs"], cwd=folder, capture_output=True, text=True, timeout=500, check=False)
    if done.returncode and "No matching distribution found" in done.stderr:
        pytest.skip("the package index has no MkDocs")
    # --strict: a link or an anchor that leads nowhere fails, too.
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_every_page_is_there_and_can_be_searched(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {document["location"].partition("#")[0] for document in index["docs"]}
    pages = {str(path.relative_to(ROOT).with_suffix(".html")) for path in (ROOT / "docs").rglob("*.md")}
    pages = {name.replace("README.html", "index.html") for name in pages}
    assert pages | {"index.html", "published/index.html", "CONTRIBUTING.html"} <= found
    assert all((site / name).exists() for name in pages)


def test_the_published_reports_are_in_it(site):
    for name in published_studies():
        for file in ("report.html", "figures/arms.svg"):
            assert (site / "published" / name / file).read_bytes() == (ROOT / "published" / name / file).read_bytes()


def test_nothing_is_loaded_from_elsewhere(site):
    for page in [site / "index.html", *(site / "docs").rglob("*.html")]:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"""<(?:link|script|img|iframe)[^>]+(?:src|href)=["']?https?:""", text), page


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_search_works_from_a_file(site, tmp_path):
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    command += ["--virtual-time-budget=20000", "--dump-dom", f"{(site / 'index.html').as_uri()}?q=satterthwaite"]
    page = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout
    assert "docs/method/statistics.html" in "".join(
        re.findall(r'<a href="([^"]+)" class="md-search-result__link"', page)
    )
