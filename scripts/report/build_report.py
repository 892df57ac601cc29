"""Build report.html: one page from the study's files, the same bytes at every build."""

import os

from common.entry import run
from common.errors import StudyError
from common.files import write_text
from report.lib.arms import coloured
from report.lib.inputs import Study
from report.lib.links import standing_alone
from report.lib.page import Page
from report.lib.sections import CHAPTERS

NEEDED = ("runs", "test_accuracy", "arms_data", "arms_figure", "manifest")
# Links beside a table's own file.
LINKED = ("test_accuracy_markdown", "test_accuracy_latex", "arms_data")


def main(templates, report, settings, commit="", alone=None, **inputs):
    """Write the page.

    Args:
        templates: paths of the templates in report/layout and report/page.
        report: HTML file to write; links are relative to its folder.
        settings: the resolved config.
        commit: the source's commit, or an empty string.
        alone: HTML file to write, the same page without links to files; None: not wanted.
        **inputs: {name: path or list of paths}; a name that is missing or empty leaves out the sections that need it.

    Raises:
        StudyError: a needed file is missing or lacks a column.
    """
    files = {name: [paths] if isinstance(paths, str) else list(map(str, paths)) for name, paths in inputs.items()}
    study = Study(files, os.path.dirname(os.path.abspath(report)), settings, commit)
    for name in NEEDED:
        if not study.has(name):
            raise StudyError(f"the report needs {name}; run the study's aggregation first")
    links = {name: study.href(name) for name in LINKED if study.has(name)}
    colours = (settings.get("report") or {}).get("colours")
    arms = coloured(study.frame("runs").to_dict("records"), colours)
    of_arms = {arm: colour for arm, (*_, colour) in arms.items()}
    page = Page(templates, study.synthetic, of_arms, links, arms, study.noun)
    for chapter, facts_of in ((name, facts_of) for name, those in CHAPTERS.items() for facts_of in those):
        facts = facts_of(study)
        if facts is not None:
            page.section(facts_of.__name__, facts, chapter)
    html = page.render(study.name)
    write_text(report, html)
    if alone:
        write_text(alone, standing_alone(html))
    print(f"{len(page.sections)} sections, {len(html.encode('utf-8')) // 1024} KiB")


if __name__ == "__main__":
    run(main, snakemake)
