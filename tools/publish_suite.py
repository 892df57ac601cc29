"""Publish a suite: its page and tables to published/suites/NAME, its answers in short to README.md.

Run by hand, once every study of the suite is published (`python -m tools.publish STUDY`):
`python -m tools.publish_suite suites/english.yaml`.
"""

import os
import re
import shutil
import sys

from analysis.verdicts import points
from common.arms import arm_label, percent
from common.errors import StudyError
from common.files import atomic_path, read_tsv, sha256, write_text
from report.asked import SHORT
from study.baselines import model_label
from tools import suite_figure
from tools.checked import CRATE
from tools.publish import marks, with_block
from tools.published_answers import contrast
from tools.suite_settings import read_suite

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PUBLISHED = os.path.join("published", "suites")
TABLES = ("questions", "sets", "groups", "arms", "studies", "report_numbers")


def check_studies(suite, results, published):
    """Check that the suite's page was made of the records that are published.

    Args:
        suite: a `Suite`.
        results: folder of results/.
        published: folder of published/.

    Raises:
        StudyError: a study is not published, or was published from other results than the suite read.
    """
    for entry in suite.entries:
        place = os.path.join(published, entry.study)
        if not os.path.isfile(os.path.join(place, "report.html")):
            raise StudyError(f"{place} has no report.html; run python -m tools.publish {entry.study} first")
        with open(os.path.join(results, os.path.relpath(suite.stamp(entry), "results")), encoding="utf-8") as handle:
            known = handle.read().strip()
        crate = os.path.join(results, entry.study, CRATE)
        if sha256(crate) != known:
            raise StudyError(f"{crate} is not the one that the suite read; run make suite SUITE={suite.path} again")
        page, made = (os.path.join(folder, entry.study, "report.html") for folder in (published, results))
        if sha256(page) != sha256(made):
            raise StudyError(f"{page} is not the page of {made}; run python -m tools.publish {entry.study} again")


def summary(folder, link):
    """Return the suite's part of README.md: figure, a table of arms by set, a sentence for each question.

    Args:
        folder: of the published suite.
        link: the same folder as README.md links to it.
    """
    rows = {name: read_tsv(os.path.join(folder, f"{name}.tsv")) for name in ("questions", "arms", "studies")}
    studies = [row["study"] for row in rows["studies"]]
    means = {(row["arm"], row["study"]): row["mean"] for row in rows["arms"]}
    lines = [f"| Arm | {' | '.join(studies)} |", f"| :-- |{' --: |' * len(studies)}"]
    for arm in dict.fromkeys(row["arm"] for row in rows["arms"]):
        cells = [percent(means[arm, study]) if (arm, study) in means else "–" for study in studies]
        lines.append(f"| {arm_label(model_label(arm))} | {' | '.join(cells)} |")
    seconds = sum(float(row["train_seconds"] or 0) for row in rows["studies"])
    runs = sum(int(row["n_runs"]) for row in rows["studies"])
    return "\n".join(
        [
            f"![Differences on each data set, and their mean]({link}/forest.svg)",
            "",
            *map(sentence, rows["questions"]),
            "",
            "Mean test accuracy, %, over an arm's seeds:",
            "",
            *lines,
            "",
            f"{runs} runs, {seconds / 3600:.1f} hours of training. [Page of the suite]({link}/report.html) · "
            f"[tables]({link})",
        ]
    )


def sentence(row):
    """Return a question's answer over the sets, as a line of a list."""
    columns = ("score_difference", "low", "high", "least", "most")
    mean, low, high, least, most = (points(float(row[name])) if row[name] else "" for name in columns)
    said = f"- **{row['ask']}** {SHORT[row['answer']][0]}: {contrast(row)} is {mean} points"
    if low:
        said += f" on average ({percent(row['level'], 0)} % interval {low} to {high})"
    return f"{said}, {least} to {most} on single sets."


def main(path, results="results", published="published", page="README.md"):
    """Publish a suite.

    Args:
        path: the suite's file.
        results, published: the two folders.
        page: README.md.

    Raises:
        StudyError: the suite has no page, or is led by a measure that is no share; or see `check_studies`.
    """
    suite = read_suite(path, ROOT)
    source = os.path.join(results, "suites", suite.name)
    if not os.path.isfile(os.path.join(source, "report.html")):
        raise StudyError(f"{source} has no report.html; run make suite SUITE={path} first")
    for row in read_tsv(os.path.join(source, "questions.tsv")):
        if row["unit"] != "share":
            raise StudyError(f"{path} is led by {row['measure']}; README shows suites of accuracy or another share")
    check_studies(suite, results, published)
    folder = os.path.join(published, "suites", suite.name)
    with atomic_path(folder) as temporary:
        os.makedirs(temporary)
        for name in ("report.html", *(f"{table}.tsv" for table in TABLES)):
            shutil.copy(os.path.join(source, name), os.path.join(temporary, name))
        tables = [os.path.join(temporary, f"{name}.tsv") for name in ("questions", "sets")]
        pictures = [os.path.join(temporary, f"forest.{ending}") for ending in ("svg", "png")]
        suite_figure.main(*map(read_tsv, tables), tables, *pictures)
        os.remove(pictures[1])
    with open(page, encoding="utf-8") as handle:
        text = handle.read()
    link = os.path.relpath(folder, os.path.dirname(page) or ".")
    between = marks(suite.name, "suite")
    if re.search(re.escape(between[0]), text):
        write_text(page, with_block(text, summary(folder, link), *between))


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except (IndexError, StudyError) as error:
        sys.exit(f"tools.publish_suite: {error if isinstance(error, StudyError) else 'name the file of a suite'}")
