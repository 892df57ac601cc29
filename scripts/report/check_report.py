"""Check the report: every number against the file that its record names, then all else by building the page again.

The second build must give the same bytes: it binds words, names, drawings, CSS and scripts.
"""

import base64
import hashlib
import os
import re

from common.entry import run
from common.errors import StudyError
from common.files import reading, sha256, study_path
from report import marks
from report.assembly import build
from report.links import DATA_ADDRESS
from report.printed import Reader
from report.records import Sources, Unsound, check, sources_of
from study.tables import write_table

PRINTED = re.compile(r"(?<![\w.])[+\-\u2212]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w]|\.\d)")


def faults(page, sources):
    """Return the faults of a page's numbers, in words.

    Args:
        page: `Reader`.
        sources: `Sources`.
    """
    found = [f"{text!r} ({where}) has a number without a record" for where, text in page.bare]
    found += marks.faults(page.charts, sources)
    found += drawing_faults(page.drawings, sources)
    if page.titles.get("title", "").replace(" (synthetic data)", "") != page.titles.get("h1"):
        found.append(f"the title {page.titles.get('title')!r} is not the heading {page.titles.get('h1')!r}")
    return found + list(number_faults(page.numbers, sources))


def drawing_faults(drawings, sources):
    """Yield the faults of the drawings of a page, in words: each is its file, drawn from the tables as they are.

    A drawing is an image of the page, or a file beside it that a link leads to and whose hash the link has.

    Args:
        drawings: of `Reader`.
        sources: `Sources`.
    """
    digests = {sha256(path) for path in sources.paths.values()}
    for where, found in drawings:
        name, image = found.get("data-drawing", ""), found.get("src", "")
        if name not in sources.paths:
            yield f"the drawing {name!r} ({where}) is not among the inputs of the check"
            continue
        with open(sources.paths[name], "rb") as handle:
            drawn = handle.read()
        there = (
            found.get("data-sha256") == hashlib.sha256(drawn).hexdigest()
            if "href" in found
            else (image == DATA_ADDRESS + base64.b64encode(drawn).decode("ascii"))
        )
        if not there:
            yield f"the drawing {name} ({where}) is not the file of that name"
        tables = re.search(rb"<dc:description>([^<]*)</dc:description>", drawn)
        tables = tables[1].decode("utf-8").split() if tables else []
        if not tables:
            yield f"the drawing {name} ({where}) does not say which tables it shows"
        for table in tables:
            if table.partition("=")[2] not in digests:
                yield f"the drawing {name} ({where}) shows another {table.partition('=')[0]} than the page"


def number_faults(numbers, sources):
    """Yield the faults of the recorded numbers of a page, in words."""
    before = None
    for one in numbers:
        try:
            check(one.text, one.record, sources)
        except Unsound as error:
            yield f"{one.text[:60]!r} ({one.where}) is not what its record {one.record[:120]} says: {error}"
        if one.count is not None:
            if before is not None and one.count != str(before + 1):
                yield f"{one.text[:60]!r} ({one.where}) is record {one.count} of the page, in place {before + 1}"
            before = int(one.count) if one.count.isdecimal() else -1


def listed(one):
    """Yield the rows of the table of numbers for a `Number`: one for each number of a sentence taken from a file."""
    cells, formula = sources_of(one.record)
    text = " ".join(one.text.replace("\u202f", "").split())
    found = PRINTED.findall(text)
    parts = zip(*cells, strict=True) if cells else ("", "", "")
    source = dict(zip(("file", "row", "column"), ("; ".join(dict.fromkeys(part)) for part in parts), strict=True))
    for printed in found if len(found) > 1 and not formula and len(text) > 40 else [text]:
        yield {"number": printed, "where": one.where, "formula": formula} | source


def difference(page, again):
    """Return where two pages differ first, in words; None: they are the same.

    Args:
        page: HTML that is there.
        again: HTML that the study's files give.
    """
    if page == again:
        return None
    place = next((i for i, (a, b) in enumerate(zip(page, again, strict=False)) if a != b), min(len(page), len(again)))
    section = page.rfind('<section id="', 0, place)
    # Before the first section and after the last come the frame's parts: style, contents, scripts.
    inside = section >= 0 and "</section>" not in page[section:place]
    where = page[section:].split('"', 2)[1] if inside else "outside its sections"
    line = page.count("\n", 0, place) + 1
    start = max(place - 30, page.rfind("\n", 0, place) + 1)
    found, expected = (" ".join(text[start : place + 40].split()) for text in (page, again))
    return f"line {line} ({where}) has {found!r}, and its files give {expected!r}"


def main(templates, report, numbers, settings, commit="", **inputs):
    """Check the page and write the list of its sources.

    Args:
        templates: templates of the page: see `assembly.build`.
        report: `report.html`.
        numbers: TSV to write; what has several sources has them all, with `; ` between.
        settings: the study's config, which the page may quote.
        commit: the source's commit, or an empty string.
        **inputs: {name: path or list of paths} of the files that the page rests on.

    Raises:
        StudyError: a number that differs from its source, or has none and is no stated constant; names it and its
            place. Or the page is not the one that its files give; names the first place that differs.
    """
    with reading(report), open(report, encoding="utf-8", newline="") as handle:
        html = handle.read()
    page = Reader(html)
    folder = os.path.dirname(os.path.abspath(report))
    paths = [path for given in inputs.values() for path in ([given] if isinstance(given, str) else given)]
    sources = Sources(map(str, paths), folder, settings, commit)
    wrong = faults(page, sources)
    if wrong:
        raise StudyError(f"{report}: {len(wrong)} numbers are not those of their files: {'; '.join(wrong[:5])}")
    _, again = build(templates, report, settings, commit, **inputs)
    differs = difference(html, again)
    if differs:
        raise StudyError(f"{report} was changed after it was built: {differs}. Delete it and build it again.")
    links = {link: study_path(path) for link, path in sources.paths.items()}
    rows = [
        row | {"file": "; ".join(links.get(name, name) for name in row["file"].split("; "))}
        for one in page.numbers
        for row in listed(one)
    ]
    write_table(numbers, "report_numbers", rows)
    drawn = sum(len(found) for _, _, found, _ in page.charts.groups)
    agree = f"{len(page.numbers)} numbers, {drawn} marks of charts and {len(page.drawings)} drawings"
    print(f"{agree} of the page agree with their sources; a second build gives the same bytes")


if __name__ == "__main__":
    run(main, snakemake)
