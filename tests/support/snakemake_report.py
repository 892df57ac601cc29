"""The links of Snakemake's own report: where each leads inside its zip."""

import posixpath
import re
import zipfile
from html.parser import HTMLParser
from urllib.parse import unquote


class Links(HTMLParser):
    """The addresses that a page links to or fetches, and its anchors."""

    def __init__(self, html):
        """Read a page."""
        super().__init__()
        self.addresses, self.anchors = [], set()
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        """Keep what leads somewhere."""
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        self.addresses += [found[name] for name in ("href", "src") if found.get(name)]


def dead_links(path):
    """Return ([(page, address)] that lead nowhere, number of links followed) of the pages in a zip.

    An address of the network is not followed: the pages fetch nothing from there.

    Args:
        path: path of the zip.
    """
    dead, followed = [], 0
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        for name in sorted(names):
            if not name.endswith((".html", ".htm")):
                continue
            page = Links(archive.read(name).decode("utf-8"))
            for address in page.addresses:
                if re.match(r"(?:[a-z]+:|//)", address):
                    continue
                followed += 1
                file, _, anchor = address.partition("#")
                target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(file))) if file else name
                if target not in names or (anchor and target == name and anchor not in page.anchors):
                    dead.append((name, address))
    return dead, followed
