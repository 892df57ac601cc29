"""Copy a finished study's tables and figures to docs/ and put its table into README.md.

Run by hand: `python scripts/publish_study.py results/open`. No reviews'
text and no weights are copied.
"""

import os
import shutil
import sys

from common.errors import StudyError
from common.files import read_tsv, write_text

FILES = (
    "test_accuracy.tsv",
    "test_accuracy.md",
    "runs.tsv",
    "history.tsv",
    "statistics/arms.tsv",
    "statistics/pairs.tsv",
    "learned.tsv",
    "baselines.tsv",
    "protocol_diff.tsv",
    "weights.tsv",
    "logit_parity.tsv",
    "audit.tsv",
    "checkpoint/pretraining.tsv",
    "figures/arms.svg",
)
START, END = "<!-- open-study -->", "<!-- /open-study -->"


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
    for name in FILES:
        source, destination = os.path.join(results, name), os.path.join(folder, name)
        if not os.path.exists(source):
            raise StudyError(f"{source} is missing: finish the study first")
        os.makedirs(os.path.dirname(destination), exist_ok=True)
        shutil.copyfile(source, destination)
    with open(readme, encoding="utf-8") as handle:
        text = handle.read()
    write_text(readme, with_block(text, block(folder, link)))


if __name__ == "__main__":
    try:
        main(sys.argv[1], "docs/open-study", "README.md", "docs/open-study")
    except (IndexError, StudyError) as error:
        sys.exit(f"publish_study: {error or 'name the results folder'}")
