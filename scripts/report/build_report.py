"""Build report.html: one page from the study's files, the same bytes at every build."""

from common.entry import run
from common.files import write_text
from report.assembly import build
from report.links import standing_alone


def main(templates, report, settings, commit="", alone=None, **inputs):
    """Write the page.

    Args:
        templates: see `assembly.build`, as are the other arguments.
        report: HTML file to write.
        settings: the resolved config.
        commit: the source's commit, or an empty string.
        alone: HTML file to write, the same page without links to files; None: not wanted.
        **inputs: the files that the page rests on.

    Raises:
        StudyError: see `assembly.build`.
    """
    page, html = build(templates, report, settings, commit, **inputs)
    write_text(report, html)
    if alone:
        write_text(alone, standing_alone(html))
    print(f"{len(page.sections)} sections, {len(html.encode('utf-8')) // 1024} KiB")


if __name__ == "__main__":
    run(main, snakemake)
