"""Find where every number in the report's prose comes from: each must be a produced one."""

import csv
import json
import re
from html.parser import HTMLParser

from common.claims import NUMBER, cell_numbers
from common.errors import StudyError
from common.files import study_path, write_tsv
from common.rule import running

COLUMNS = ("number", "text", "file", "place")
# Digits that belong to a name, as in SHA-256.
NAMES = re.compile(r"[A-Za-z]+-\d+")
# Rows of a table whose every cell counts: a longer one would hold almost any number, so only its counts do.
LONG = 200
# What is not prose: tables show files as they are, drawings and code are not sentences.
SKIPPED = {"table", "svg", "script", "style", "code", "head"}
BLOCKS = {"p", "li", "figcaption", "summary", "h1", "h2", "h3", "h4", "footer", "header", "dd", "dt"}


class Prose(HTMLParser):
    """Collect a page's sentences: the text of its blocks outside tables, drawings and code."""

    def __init__(self):
        super().__init__()
        self.skipping, self.blocks = 0, []

    def handle_starttag(self, tag, attrs):
        """Open a block, or something to skip."""
        self.skipping += tag in SKIPPED
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_endtag(self, tag):
        """Close it."""
        self.skipping -= tag in SKIPPED
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_data(self, data):
        """Add to the block."""
        if not self.skipping and self.blocks:
            self.blocks[-1] += data

    def sentences(self):
        """Return the blocks that say something, white space joined."""
        # The narrow space between thousands counts as white space too: it goes first.
        return [" ".join(block.replace("\u202f", "").split()) for block in self.blocks if block.strip()]


def numbers_of(path):
    """Return [(value, place)] of a TSV or JSON file's numbers, and of its counts: rows, kinds, rows of a kind."""
    with open(path, encoding="utf-8", newline="") as handle:
        if path.endswith(".json"):
            return list(walk(json.load(handle), ""))
        rows = list(csv.DictReader(handle, delimiter="\t"))
    found = [(len(rows), "number of rows")]
    for name in rows[0] if rows else ():
        kinds = list(dict.fromkeys(row[name] for row in rows))
        found.append((len(kinds), f"distinct values of {name}"))
        if len(kinds) < len(rows) <= LONG or len(kinds) <= 12:
            found += [(sum(row[name] == kind for row in rows), f"rows with {name} {kind}") for kind in kinds]
    for line, row in enumerate(rows if len(rows) <= LONG else (), start=2):
        for name, text in row.items():
            # A sentence of the file, such as a verdict, was produced there with its numbers.
            words = [text] if as_numbers(text) else NUMBER.findall(text or "")
            found += [(value, f"line {line}, {name}") for word in words for value in as_numbers(word)]
    return found


def as_numbers(text):
    """Return [float] of a text that is a number, with a true minus sign too, else an empty list."""
    return cell_numbers((text or "").replace("\N{MINUS SIGN}", "-"))


def walk(node, place):
    """Yield (value, place) of the numbers in nested settings."""
    if isinstance(node, dict):
        for key, child in node.items():
            yield from walk(child, f"{place}.{key}".lstrip("."))
    elif isinstance(node, list):
        yield len(node), f"entries of {place}"
        for i, child in enumerate(node):
            yield from walk(child, f"{place}[{i}]")
    elif isinstance(node, str):
        yield from ((value, place) for word in NUMBER.findall(node) for value in as_numbers(word))
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield node, place


def forms(value):
    """Return every way in which the report may print a value: rounded, in per cent, with two significant digits."""
    value = abs(value)
    printed = {f"{value:.2g}", f"{value:.1g}"}
    for scaled in (value, 100 * value):
        printed |= {f"{scaled:.{decimals}f}" for decimals in range(5)}
    return printed


def trace(sentences, sources):
    """Yield a row for every number of the sentences.

    Args:
        sentences: list of str.
        sources: {file: [(value, place)]}, in order of preference.

    Yields:
        dict: number, text, file and place; the last two are empty where no file has the number.
    """
    known = {}
    for name, found in sources.items():
        for value, place in found:
            for printed in forms(value):
                known.setdefault(printed, (name, place))
    for sentence in sentences:
        for printed in NUMBER.findall(NAMES.sub("", sentence)):
            name, place = known.get(printed.lstrip("+-\N{MINUS SIGN}"), ("", ""))
            yield {"number": printed, "text": sentence, "file": name, "place": place}


def main(report, tables, settings, numbers):
    """Trace the report's prose and write what was found.

    Args:
        report: `report.html`.
        tables: paths of the TSV and JSON files that the report rests on.
        settings: the study's config, whose numbers may be quoted, too.
        numbers: TSV to write: `COLUMNS`.

    Raises:
        StudyError: a number that nothing produced; names it and its sentence.
    """
    prose = Prose()
    with open(report, encoding="utf-8") as handle:
        prose.feed(handle.read())
    sources = {"config": list(walk(settings, ""))}
    sources |= {study_path(path): numbers_of(path) for path in tables}
    rows = list(trace(prose.sentences(), sources))
    typed = [row for row in rows if not row["file"]]
    if typed:
        shown = "; ".join(f"{row['number']} in {row['text'][:80]!r}" for row in typed[:5])
        raise StudyError(f"{report}: {len(typed)} numbers are in no file of the study: {shown}")
    write_tsv(numbers, rows, COLUMNS)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.report,  # noqa: F821
            snakemake.input.tables,  # noqa: F821
            snakemake.params.settings,  # noqa: F821
            snakemake.output.numbers,  # noqa: F821
        )
