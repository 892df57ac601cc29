"""Print report.html to report.pdf with a headless Chromium, the same bytes at every print.

Not WeasyPrint: it needs Pango of the system, and its own layout engine prints another page than the one on the screen.
Not Playwright: it fetches a browser of its own, whose prints hold the same dates and node names.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path
from report.links import unlink_files

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# The page comes from the study and fetches nothing, so the sandbox, which containers and root lack, is not needed.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# The limit in seconds; the runtime of the rule is longer.
TIMEOUT = 900
# The clock and the browser's threads decide these bytes of a print: dates, and names of the structure's nodes, which
# count from earlier ones of the browser. Replacements have the same length, so that no offset of the file moves.
DATES = re.compile(rb"(/(?:CreationDate|ModDate) \(D:)\d{14}[+-]\d\d'\d\d'\)")
NODES = re.compile(rb"\(node(\d{8})\)")
EPOCH = rb"\g<1>19700101000000+00'00')"


def find_browser():
    """Return the path of the first of `BROWSERS` that is installed.

    Raises:
        StudyError: none is.
    """
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise StudyError(
        f"printing the report needs a browser, and none of {', '.join(BROWSERS)} is on the PATH: install one "
        "(Debian: chromium), or print report.html from your own browser"
    )


def normalize(pdf):
    """Return a PDF's bytes with both dates set to 1970-01-01 and the nodes numbered from 1 in their order."""
    rank = {node: number for number, node in enumerate(sorted(set(NODES.findall(pdf))), start=1)}
    # Ranks keep the order, by which the file's tree of names is searched.
    return NODES.sub(lambda match: b"(node%08d)" % rank[match[1]], DATES.sub(EPOCH, pdf))


def main(report, pdf):
    """Print the page.

    Args:
        report: `report.html`.
        pdf: PDF file to write; its bytes depend on the page, the browser and the fonts, not on time or folder.

    Raises:
        StudyError: there is no browser, or it printed nothing.
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory() as folder:
        page, printed = Path(folder, "report.html"), Path(folder, "report.pdf")
        # A PDF would contain a link to a file as this machine's absolute path.
        page.write_text(unlink_files(Path(report).read_text(encoding="utf-8")), encoding="utf-8")
        command = [browser, *FLAGS, f"--user-data-dir={folder}/profile", "--no-pdf-header-footer"]
        command += ["--generate-pdf-document-outline", f"--print-to-pdf={printed}", page.as_uri()]
        try:
            done = subprocess.run(command, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired as error:
            raise StudyError(
                f"{browser} did not print {report} within {TIMEOUT} s: try on a less busy machine"
            ) from error
        content = printed.read_bytes() if printed.exists() else b""
    if not content.startswith(b"%PDF-") or not content.rstrip().endswith(b"%%EOF"):
        raise StudyError(
            f"{browser} ended with status {done.returncode} and without a whole PDF of {report}: its output is in "
            "the rule's log; try another browser, or print the page from your own"
        )
    with atomic_path(pdf) as temporary:
        Path(temporary).write_bytes(normalize(content))
    print(f"{os.path.basename(browser)}: {len(content) // 1024} KiB")


if __name__ == "__main__":
    run(main, snakemake)
