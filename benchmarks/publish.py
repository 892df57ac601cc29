"""Copy the benchmarks' results to published/benchmarks/; tables go to docs (performance, scale), a line to README.md.

Run by hand: `PYTHONPATH=.:scripts python benchmarks/publish.py`. What has not been run is left as it was.
"""

import math
import os
import shutil

from common.errors import StudyError
from common.files import read_json, read_tsv, write_text
from plain_commands import FRAMEWORKS, ROOT
from tools.publish import with_block

FOLDER = os.path.join(ROOT, "published", "benchmarks")
# The published files of each benchmark's results, by their new names.
FILES = {
    f"{mode}.{ending}": os.path.join(f"benchmark-{mode}", f"benchmark.{ending}")
    for mode in ("short", "epoch", "full")
    for ending in ("json", "md")
}
FILES |= {
    f"equivalence.{ending}": os.path.join("equivalence", f"equivalence.{ending}")
    for ending in ("json", "md", "tsv", "svg")
}
FILES |= {"overhead.tsv": "overhead.tsv"}
# The longest of the modes that were run, the shortest, then whether the accuracies agree.
SHOWN = (("full.md", "epoch.md"), ("short.md",), ("equivalence.md",))
PAGE = os.path.join(ROOT, "docs", "method", "performance.md")
MARKS = ("<!-- benchmarks -->", "<!-- /benchmarks -->")
SCALE = os.path.join(ROOT, "docs", "guides", "scale.md")
PLANNING = ("<!-- planning -->", "<!-- /planning -->")
README = os.path.join(ROOT, "README.md")
SPEED = ("<!-- speed -->", "<!-- /speed -->")


def block(folder=FOLDER):
    """Return the page's part: the tables of the published results.

    Raises:
        StudyError: none are there.
    """
    tables = []
    for names in SHOWN:
        found = [os.path.join(folder, name) for name in names if os.path.exists(os.path.join(folder, name))]
        if found:
            with open(found[0], encoding="utf-8") as handle:
                tables.append(handle.read().strip())
    if not tables:
        raise StudyError(f"{folder} has no results: `make benchmark`, then publish again")
    return "\n\n".join(tables)


def planning(folder=FOLDER):
    """Return the table of what planning costs, from overhead.tsv."""
    lines = ["| study | dry run | Snakemake alone | ratio |", "|---|--:|--:|--:|"]
    for row in read_tsv(os.path.join(folder, "overhead.tsv")):
        if row["what"].startswith("plan "):
            took, alone, ratio = (float(row[name]) for name in ("seconds", "snakemake_seconds", "ratio"))
            lines.append(f"| {row['what'][len('plan ') :]} | {took:.1f} s | {alone:.1f} s | {ratio:.2f} |")
    return "\n".join(lines)


def speed(folder=FOLDER):
    """Return README's sentence on an update's time, from the record of the shortest mode, which has the tuned sides."""
    record = read_json(os.path.join(folder, "short.json"))
    plain, tuned = (
        [1 / record[side][name]["update_seconds"]["ratio"] for name in FRAMEWORKS] for side in ("runs", "tuned")
    )
    also = ", and faster than tuned ones" if min(tuned) > 1 else ""
    machine = record["machine"]
    return (
        f"An update of training is {math.floor(min(plain))} to {math.ceil(max(plain))} times faster than with plain "
        f"commands{also}, on {machine['cores']} cores of {machine['cpu']}: [performance](docs/method/performance.md)."
    )


def main():
    """Copy what there is and fill the blocks."""
    os.makedirs(FOLDER, exist_ok=True)
    for name, source in FILES.items():
        path = os.path.join(ROOT, "results", source)
        if os.path.exists(path):
            shutil.copyfile(path, os.path.join(FOLDER, name))
    for page, made, marks in ((PAGE, block, MARKS), (SCALE, planning, PLANNING), (README, speed, SPEED)):
        with open(page, encoding="utf-8") as handle:
            text = handle.read()
        write_text(page, with_block(text, made(), *marks))


if __name__ == "__main__":
    main()
