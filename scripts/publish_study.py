"""Copy a finished study's report and all that it links to, to docs/, and put its table into README.md.

Run by hand: `python scripts/publish_study.py results/open`. Beside the copies stand the study against the published
numbers (`compare_studies.py`) and what made it: command, machine, time, versions. No reviews' text and no weights.
"""

import glob
import os
import re
import shutil
import sys

import compare_studies
from common.errors import StudyError
from common.files import atomic_path, read_json, read_tsv, write_text

# What README rests on, and what neither page links to; the rest is what the report links to.
FILES = (
    "report.html",
    "report_numbers.tsv",
    "history.tsv",
    "test_accuracy.md",
    "statistics/pairs.tsv",
    "baselines.tsv",
    "checkpoint/pretraining.tsv",
    "figures/arms.svg",
)
PUBLISHED = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "claims", "published_runs.tsv:published"
)
START, END = "<!-- open-study -->", "<!-- /open-study -->"


def links(path):
    """Return the files beside a page that it links to, as relative paths."""
    with open(path, encoding="utf-8") as handle:
        return sorted(set(re.findall(r'href="([^"#:]+)(?:#[^"]*)?"', handle.read())))


def made(results):
    """Return what made the study's runs, as Markdown: command, machine, time, versions, from the runs' own records.

    Raises:
        StudyError: there is no run, or one that does not say what machine it was trained on.
    """
    paths = sorted(glob.glob(os.path.join(results, "sentiment", "*", "*", "seed*", "run.json")))
    records = [read_json(path) for path in paths]
    unknown = [path for path, record in zip(paths, records, strict=True) if "machine" not in record]
    if unknown or not records:
        raise StudyError(f"{unknown[0] if unknown else results} does not say what made it: train its runs again")

    def every(values):
        return "; ".join(sorted({str(value) for value in values}))

    def machine(record):
        found = record["machine"]
        return f"{found['cores']} cores of {found['cpu']}, {found['gpu'] or 'no GPU'}"

    name = os.path.basename(os.path.normpath(results))
    hours = sum(record["train_seconds"] for record in records) / 3600
    versions = every(" ".join([package, version]) for r in records for package, version in r["versions"].items())
    return "\n".join(
        [
            f"# The {name} study as published",
            "",
            f"`make study STUDY=studies/{name}.yaml [MIRROR=FOLDER]` makes all of this; "
            f"`python scripts/publish_study.py results/{name}` copied it here.",
            "",
            f"- Runs: {len(records)}, trained for {hours:.2f} hours in all, on {every(map(machine, records))}.",
            f"- First started {min(r['started'] for r in records)}, last ended {max(r['ended'] for r in records)}.",
            f"- Commit: {every(record['commit'] for record in records)}.",
            f"- Precision {every(r['precision'] for r in records)}, threads {every(r['threads'] for r in records)}.",
            f"- Versions: {versions}.",
            "- [The report](report.html), [against the published numbers](comparison.html); the tables beside them are "
            "those that both rest on.",
            "",
        ]
    )


def block(folder, link):
    """Return README's part: the table, the verdicts, the baselines and the figure, all from files.

    Args:
        folder: docs folder of the study.
        link: the same folder as README links to it.

    Raises:
        StudyError: a file is missing.
    """
    with open(os.path.join(folder, "test_accuracy.md"), encoding="utf-8") as handle:
        table = handle.read().strip()
    pairs = [f"- {row['verdict']}" for row in read_tsv(os.path.join(folder, "statistics", "pairs.tsv"))]
    baselines = [
        f"{row['baseline']} {100 * float(row['test_accuracy']):.2f} %"
        for row in read_tsv(os.path.join(folder, "baselines.tsv"))
    ]
    last = [row for row in read_tsv(os.path.join(folder, "checkpoint", "pretraining.tsv")) if row["split"] == "valid"][
        -1
    ]
    return "\n".join(
        [
            table,
            "",
            *pairs,
            "",
            f"Baselines on the same splits: {'; '.join(baselines)}. The checkpoint was pretrained here for "
            f"{last['update']} updates, to {float(last['loss']):.2f} nats a masked piece on held-out text.",
            "",
            f"![Test accuracy of every seed, by arm]({link}/figures/arms.svg)",
            "",
            f"Every number: [{link}]({link}).",
        ]
    )


def with_block(readme, text, start=START, end=END):
    """Return README's text with what stands between two marks replaced.

    Raises:
        StudyError: README has not the marks.
    """
    if readme.count(start) != 1 or readme.count(end) != 1:
        raise StudyError(f"README.md needs the marks {start} and {end} once each")
    before, rest = readme.split(start)
    return f"{before}{start}\n{text}\n{end}{rest.split(end)[1]}"


def main(results, folder, readme, link):
    """Publish a study.

    Args:
        results: its results folder.
        folder: docs folder to write.
        readme: path of README.md.
        link: `folder` as README links to it.
    """
    report = os.path.join(results, "report.html")
    if not os.path.exists(report):
        raise StudyError(f"{report} is missing: finish the study first")
    with atomic_path(folder) as temporary:
        for name in dict.fromkeys([*FILES, *links(report)]):
            source, destination = os.path.join(results, name), os.path.join(temporary, name)
            if not os.path.exists(source):
                raise StudyError(f"{source} is missing: finish the study first")
            os.makedirs(os.path.dirname(destination), exist_ok=True)
            shutil.copyfile(source, destination)
        compare_studies.main(temporary, PUBLISHED, os.path.join(temporary, "comparison.html"))
        write_text(os.path.join(temporary, "README.md"), made(results))
    with open(readme, encoding="utf-8") as handle:
        text = handle.read()
    write_text(readme, with_block(text, block(folder, link)))


if __name__ == "__main__":
    try:
        main(sys.argv[1], "docs/open-study", "README.md", "docs/open-study")
    except (IndexError, StudyError) as error:
        sys.exit(f"publish_study: {error or 'name the results folder'}")
