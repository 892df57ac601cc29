"""Read a page as its reader does: every text with a digit in it, its record, its place, and the charts."""

import collections
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from report.constants import CONSTANTS
from report.marks import Charts
from report.numbers import in_full

VOID = {"meta", "link", "img", "br", "hr", "input", "wbr", "source", "col"}
BLOCKS = {"p", "li", "figcaption", "summary", "h1", "h2", "h3", "h4", "footer", "header", "dd", "dt"}
BLOCKS |= {"td", "th", "caption", "title", "div", "section", "aside", "figure", "table", "tr", "main", "nav", "body"}
# Attributes that a reader sees or hears.
SPOKEN = ("alt", "title", "aria-label", "aria-description", "placeholder", "label", "summary", "content")
# A recorded number in the text around it is replaced by this, which no constant holds.
HOLE = "\ufffc"
PHRASES = re.compile(
    "|".join(rf"(?<![\w.,-]){re.escape(phrase)}(?![\w-]|[.,]\d)" for phrase in sorted(CONSTANTS, key=len, reverse=True))
)

# A text with a record: what the page shows, its record, its section, table or kind of element and place there, and
# its place among the page's records (None in an attribute).
Number = collections.namedtuple("Number", "text record where count", defaults=[None])


class Tree(HTMLParser):
    """Builds an `ElementTree` of a page."""

    def __init__(self, html):
        """Read all of it into `root`."""
        super().__init__()
        self._builder, self._open = ElementTree.TreeBuilder(), ["page"]
        self._builder.start("page", {})
        self.feed(html)
        self.close()
        while self._open:
            self._builder.end(self._open.pop())
        self.root = self._builder.close()

    def handle_starttag(self, tag, attributes):
        """Open an element; one without content is closed at once."""
        self._builder.start(tag, {name: value or "" for name, value in attributes})
        if tag in VOID:
            self._builder.end(tag)
        else:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        """Add an element that closes itself, as those of drawings do."""
        self._builder.start(tag, {name: value or "" for name, value in attributes})
        self._builder.end(tag)

    def handle_endtag(self, tag):
        """Close an element and what is open inside it."""
        while tag in self._open[1:]:
            self._builder.end(closed := self._open.pop())
            if closed == tag:
                return

    def handle_data(self, data):
        """Add text."""
        self._builder.data(data)


class Reader:
    """Reads a page.

    Attributes:
        numbers: [`Number`] in the page's order.
        bare: [(where, text)]: digits that have no record and are in no constant.
        titles: {`title` or `h1`: its text}, the first of each.
        charts: `marks.Charts`.
        drawings: [(where, attributes)] of the drawings: images of a figure's file, and links to one.
    """

    def __init__(self, html):
        """Read all of it."""
        self.numbers, self.bare, self.titles, self.charts, self.drawings = [], [], {}, Charts(), []
        self._section, self._counts, self._names = "head", collections.Counter(), []
        self._table, self._row, self._cell, self._headings = None, 0, 0, []
        # Where the blocks around this place are, and their texts with holes for numbers.
        self._blocks = [["head", ""]]
        self._visit(Tree(html).root)

    def _visit(self, element):
        tag, found = element.tag, element.attrib
        if tag in ("script", "style"):
            return
        if tag == "meta" and found.get("name") == "record-names":
            self._names = found.get("content", "").split()
        if tag == "svg":
            self.charts.add(element, f"{self._section}, chart")
            return
        if tag in ("section", "body"):
            self._section, self._table = found.get("id", tag), None
        elif tag == "table":
            self._table = f"{self._section}, table {self._counts[self._section, tag] + 1}"
            self._row, self._cell, self._headings = 0, 0, []
        elif tag == "tr":
            self._row, self._cell = self._row + 1, 0
        elif tag in ("td", "th"):
            self._cell += 1
        if tag in BLOCKS:
            self._counts[self._section, tag] += 1
            self._blocks.append([self._where(tag), ""])
        self._attributes(tag, found)
        if tag == "img" or "data-drawing" in found:
            self.drawings.append((f"{self._section}, drawing {len(self.drawings) + 1}", found))
        self._content(element)
        if tag in BLOCKS:
            self._close(element)

    def _content(self, element):
        """Read what is inside an element: a record's text, the name of a file on the link to it, or any other."""
        text, href = "".join(element.itertext()), element.get("href", "#")
        if "data-of" in element.attrib:
            count, _, record = element.get("data-of").partition(" ")
            self.numbers.append(Number(text, in_full(record, self._names), self._blocks[-1][0], count))
            for inner in list(element.iter())[1:]:
                self._attributes(inner.tag, inner.attrib)
            self._blocks[-1][1] += HOLE
            return
        kept = self._blocks[-1][1]
        self._blocks[-1][1] += element.text or ""
        for inner in element:
            self._visit(inner)
            self._blocks[-1][1] += inner.tail or ""
        # A file's name on its link is its record.
        if element.tag == "a" and text == href and "#" not in href:
            self._blocks[-1][1] = kept + HOLE

    def _where(self, tag):
        if self._table and tag in ("td", "th"):
            if self._row > 1 and self._cell <= len(self._headings):
                return f"{self._table}, row {self._row - 1}, {self._headings[self._cell - 1]}"
            return f"{self._table}, heading {self._cell}"
        return f"{self._section}, {tag} {self._counts[self._section, tag]}"

    def _attributes(self, tag, found):
        """Read the attributes that are text; a page's settings, such as its width, are none."""
        for name in SPOKEN if tag != "meta" else ():
            rest, records = found.get(name, ""), found.get(f"data-{name}", "").split(" ")
            where = f"{self._blocks[-1][0]}, {name}"
            for place, record in reversed(list(zip(records[::2], records[1::2], strict=False))):
                start, length = map(int, place.split("+"))
                self.numbers.append(Number(rest[start : start + length], record, where))
                rest = rest[:start] + HOLE + rest[start + length :]
            self._finish(where, rest)

    def _close(self, element):
        where, bare = self._blocks.pop()
        tag, text = element.tag, "".join(element.itertext())
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
