"""Read a page as its reader does: every text with a digit, its record if it has one, and its place."""

import re
from html.parser import HTMLParser

from report.constants import CONSTANTS
from report.pictures import Pictures

# These are not read as text: drawings, of which `pictures` reads the charts, and the page's machinery.
SKIPPED = {"svg", "script", "style"}
VOID = {"meta", "link", "img", "br", "hr", "input", "wbr", "source", "col"}
BLOCKS = {"p", "li", "figcaption", "summary", "h1", "h2", "h3", "h4", "footer", "header", "dd", "dt"}
BLOCKS |= {"td", "th", "caption", "title", "div", "section", "aside", "figure", "table", "tr", "main", "nav", "body"}
# Attributes that a reader sees or hears.
SPOKEN = ("alt", "title", "aria-label", "aria-description", "placeholder", "label", "summary", "content")
# This replaces a recorded number in the text around it; no constant may contain it.
HOLE = "\ufffc"
PHRASES = re.compile(
    "|".join(rf"(?<![\w.,-]){re.escape(phrase)}(?![\w-]|[.,]\d)" for phrase in sorted(CONSTANTS, key=len, reverse=True))
)


class Number:
    """A text with a record.

    Attributes:
        text: what the page shows.
        record: its record.
        where: section, table or kind of element, and its place there.
        count: how many records the page's builder had written with it; None in an attribute.
    """

    def __init__(self, text, record, where, count=None):
        """Keep what is read."""
        self.text, self.record, self.where, self.count = text, record, where, count


class Reader(HTMLParser):
    """Reads a page.

    Attributes:
        numbers: [`Number`] in the page's order.
        bare: [(where, text)]: digits that have no record and are in no constant.
        titles: {`title` or `h1`: its text}, the first of each.
        pictures: `Pictures`: the charts.
        drawings: [(where, attributes)] of the drawings: images of a figure's file.
    """

    def __init__(self, html):
        """Read all of it."""
        super().__init__()
        self.numbers, self.bare, self.titles, self.pictures = [], [], {}, Pictures()
        self.drawings = []
        self._stack, self._counts, self._section = [], {}, "head"
        self._table, self._row, self._cell, self._headings = None, 0, 0, []
        # Two groups of facts: the blocks around this place with their text, with and without numbers; and the current
        # record and link with their depth, attribute and text.
        self._blocks, self._record, self._link = [], None, None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        """Note where the page is now."""
        found = dict(attributes)
        if tag not in VOID:
            self._stack.append((tag, found))
        if any(name in SKIPPED for name, _ in self._stack):
            if any(name == "svg" for name, _ in self._stack):
                self.pictures.start(tag, found, f"{self._section}, chart")
            return
        self._enter(tag, found)
        if tag in BLOCKS:
            self._counts[self._section, tag] = self._counts.get((self._section, tag), 0) + 1
            self._blocks.append([self._where(tag), "", ""])
        self._attributes(tag, found)
        if tag == "img":
            self.drawings.append((f"{self._section}, drawing {len(self.drawings) + 1}", found))
        if "data-of" in found and self._record is None:
            self._record = [len(self._stack), found["data-of"], ""]
        if tag == "a" and self._record is None:
            self._link = [len(self._stack), found.get("href", ""), "", ""]

    def _enter(self, tag, found):
        if tag in ("section", "body"):
            self._section, self._table = found.get("id", tag), None
        elif tag == "table":
            number = self._counts.get((self._section, tag), 0) + 1
            self._table, self._row, self._cell, self._headings = f"{self._section}, table {number}", 0, 0, []
        elif tag == "tr":
            self._row, self._cell = self._row + 1, 0
        elif tag in ("td", "th"):
            self._cell += 1

    def _where(self, tag):
        if self._table and tag in ("td", "th"):
            if self._row > 1 and self._cell <= len(self._headings):
                return f"{self._table}, row {self._row - 1}, {self._headings[self._cell - 1]}"
            return f"{self._table}, heading {self._cell}"
        return f"{self._section}, {tag} {self._counts[self._section, tag]}"

    def _attributes(self, tag, found):
        """Read the attributes that are text."""
        for name in SPOKEN:
            text = found.get(name) or ""
            # A page's settings, such as its width, are no text.
            if tag == "meta" or not text:
                continue
            where = f"{self._blocks[-1][0] if self._blocks else tag}, {name}"
            rest, records = text, (found.get(f"data-{name}") or "").split(" ")
            for place, record in reversed(list(zip(records[::2], records[1::2], strict=False))):
                start, length = map(int, place.split("+"))
                self.numbers.append(Number(text[start : start + length], record, where))
                rest = rest[:start] + HOLE + rest[start + length :]
            self._finish(where, rest)

    def handle_data(self, data):
        """Add a text to what it stands in."""
        if any(name in SKIPPED for name, _ in self._stack):
            self.pictures.data(data)
            return
        if self._record is not None:
            self._record[2] += data
        else:
            self._add(data, data)

    def handle_endtag(self, tag):
        """Close what ends here."""
        if any(name == "svg" for name, _ in self._stack):
            self.pictures.end(tag)
        if not any(name == tag for name, _ in self._stack):
            return
        while self._stack[-1][0] != tag:
            self._stack.pop()
        depth, skipped = len(self._stack), any(name in SKIPPED for name, _ in self._stack)
        self._stack.pop()
        if skipped:
            return
        if self._record is not None and self._record[0] == depth:
            self._close_record()
        if self._link is not None and self._link[0] == depth:
            _, href, text, bare = self._link
            self._link = None
            # A file's name on its link is its record.
            self._add(text, HOLE if text == href and "#" not in href else bare)
        if tag in BLOCKS and self._blocks:
            self._close_block(tag)

    def _add(self, text, bare):
        """Add a text, and the same with holes, to the link or block around this place."""
        inner = self._link or (self._blocks[-1] if self._blocks else None)
        if inner:
            inner[-2] += text
            inner[-1] += bare

    def _close_record(self):
        _, record, text = self._record
        self._record = None
        count, _, record = record.partition(" ")
        self.numbers.append(Number(text, record, self._blocks[-1][0] if self._blocks else self._section, count))
        self._add(text, HOLE)

    def _close_block(self, tag):
        where, text, bare = self._blocks.pop()
        if tag in ("title", "h1"):
            self.titles.setdefault(tag, text)
        if self._table and tag in ("td", "th") and self._row == 1:
            self._headings.append(" ".join(text.split()) or f"column {self._cell}")
        if tag == "table":
            self._table = None
        if tag != "title":
            self._finish(where, bare)

    def _finish(self, where, text):
        """Keep a block's digits, if any are left without constants."""
        if any(character.isdecimal() for character in PHRASES.sub("", text)):
            self.bare.append((where, " ".join(text.replace(HOLE, "…").split())))
