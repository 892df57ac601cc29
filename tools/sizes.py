"""Print what git keeps of this repository, beside its aim: in all, of published/, and of each published page.

Run by hand: `make sizes`. The sizes are those of the files of the index, so untracked files count for nothing.
"""

import os
import subprocess
import sys

from common.errors import StudyError

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MEGABYTE = 1_000_000
TRACKED = 12 * MEGABYTE
# Pages of studies with many arms have a larger aim.
PAGE, LARGE = 1_500_000, 2_500_000
MANY_ARMS = ("recipes", "learning-curves")


def tracked(root):
    """Return {path: bytes} of the files of a repository's index.

    Raises:
        StudyError: the folder is no git repository, or git is missing.
    """
    command = ["git", "-C", root, "ls-files", "-s", "-z"]
    try:
        rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
        blobs = {row.partition("\t")[2]: row.split()[1] for row in rows}
        asked = subprocess.run(
            ["git", "-C", root, "cat-file", "--batch-check=%(objectsize)"],
            input="\n".join(blobs.values()),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
    except (OSError, subprocess.CalledProcessError) as error:
        raise StudyError(f"{root} is no git repository, or git is missing; sizes are read from git") from error
    return {path: int(size) for path, size in zip(blobs, asked, strict=True)}


def measured(files):
    """Return [(what, bytes, aim or None)] of {path: bytes}."""
    published = {path: size for path, size in files.items() if path.startswith("published/")}
    rows = [("all tracked files", sum(files.values()), TRACKED), ("published/", sum(published.values()), None)]
    for path in sorted(published):
        folder, _, name = path.removeprefix("published/").rpartition("/")
        if name == "report.html":
            rows.append((path, published[path], LARGE if folder in MANY_ARMS else PAGE))
    return rows


def in_words(rows):
    """Return the lines of the table: megabytes, the aim, and whether it is met."""
    width = max(len(what) for what, _, _ in rows)
    lines = [f"{'':{width}}  {'MB':>6}  {'aim':>6}"]
    for what, size, aim in rows:
        line = f"{what:{width}}  {size / MEGABYTE:6.2f}"
        line += f"  {aim / MEGABYTE:6.2f}  {'met' if size <= aim else 'missed'}" if aim else ""
        lines.append(line)
    return lines


if __name__ == "__main__":
    try:
        print("\n".join(in_words(measured(tracked(ROOT)))))
    except StudyError as error:
        sys.exit(f"sizes: {error}")
