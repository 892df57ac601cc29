"""The page from the study's files: `build_report` writes it, and `check_report` compares a second one with it."""

import os

from common.errors import StudyError
from report.arm_colours import coloured
from report.inputs import Study
from report.page import Page
from report.sections import sections

NEEDED = ("runs", "test_accuracy", "arms_data", "arms_figure", "manifest")
# These links are beside a table's file.
LINKED = ("test_accuracy_markdown", "test_accuracy_latex", "arms_data")


def build(templates, report, settings, commit="", **inputs):
    """Return the page of these files, a `Page`, and its HTML.

    Args:
        templates: paths of the templates in report/layout and of the sections.
        report: path of the page, which need not exist: links are relative to its folder.
        settings: the resolved config.
        commit: the source's commit, or an empty string.
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
    page = Page(templates, study.synthetic, of_arms, links, arms, study.noun, study.lead)
    for name, part, chapter, facts_of in sections():
        facts = facts_of(study)
        if facts is not None:
            page.section(name, facts, part, chapter)
    questions = study.table("questions").rows if study.has("questions") else []
    return page, page.render(questions[0]["ask"], "{}") if questions else page.render(study.name)
