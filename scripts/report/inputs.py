"""The page's inputs: the study's files as frames, trees and drawings that remember the place of each value."""

import base64
import dataclasses
import functools
import json
import os

import pandas as pd

from common.errors import StudyError
from common.files import read_json, read_lines, sha256
from common.frames import read_frame
from data.reviews import noun_of
from report.leading import Shown
from report.links import DATA_ADDRESS
from report.numbers import Derived, Value


@dataclasses.dataclass
class Table:
    """Rows of a table, each a dict, and the link to the file that they come from (None: to no single file)."""

    rows: list
    href: str | None = None


@dataclasses.dataclass
class Drawing:
    """A figure: its data address, the links to its file and to the PNG beside it (None: there is no PNG), its SHA-256.

    As a data address, ids of two figures cannot meet, and the page fetches nothing.
    """

    image: str
    href: str
    png: str | None
    digest: str


def located(node, path, place="", row=None, key=None):
    """Return nested settings with every number and text as a `Value`; true, false and null stay as they are."""
    if isinstance(node, dict):
        return {k: located(child, path, f"{place}.{k}" if place else k, row, k) for k, child in node.items()}
    if isinstance(node, list):
        return [located(child, path, f"{place}[{i}]", row) for i, child in enumerate(node)]
    return node if node is None or isinstance(node, bool) else Value(node, path, row, place, key)


@dataclasses.dataclass
class Study:
    """The inputs of a section.

    Attributes:
        files: {name: [paths]}; a name without paths is absent.
        root: the results folder, to which every link is relative.
        settings: the resolved config.
        commit: the source's commit, or an empty string.
    """

    files: dict
    root: str
    settings: dict
    commit: str = ""

    def has(self, *names):
        """Return whether every one of these inputs was given."""
        return all(self.files.get(name) for name in names)

    def paths(self, name):
        """Return the paths of an input; none when it is absent."""
        return self.files.get(name) or []

    def path(self, name):
        """Return the one path of an input.

        Raises:
            StudyError: it is absent or several.
        """
        paths = self.paths(name)
        if len(paths) != 1:
            raise StudyError(f"the report needs one file {name}, there are {len(paths)}")
        return paths[0]

    def link(self, path):
        """Return a path relative to the results folder, with `/`."""
        return os.path.relpath(path, self.root).replace(os.sep, "/")

    def href(self, name):
        """Return the link to an input."""
        return self.link(self.path(name))

    def read(self, path):
        """Return a TSV file as a frame of `Value`s."""
        href, frame = self.link(path), read_frame(path).fillna("")
        return pd.DataFrame(
            {
                column: [Value(text, href, line, column) for line, text in enumerate(frame[column], start=2)]
                for column in frame
            },
            dtype=object,
        )

    def frame(self, name):
        """Return a TSV input as a frame of `Value`s."""
        return self.read(self.path(name))

    def count(self, path, **where):
        """Return how many rows of a TSV file have these texts in these columns."""
        frame = read_frame(path)
        for column, text in where.items():
            frame = frame[frame[column] == text]
        return Derived(len(frame), "count", self.link(path), *(f"{column}={text}" for column, text in where.items()))

    def distinct(self, path, column, **where):
        """Return how many different texts a column of a TSV file has, in the rows that `where` leaves."""
        frame = read_frame(path)
        for name, text in where.items():
            frame = frame[frame[name] == text]
        wanted = (f"{name}={text}" for name, text in where.items())
        return Derived(frame[column].nunique(), "distinct", self.link(path), column, *wanted)

    def lines(self, name):
        """Return the objects of a JSON Lines input, their leaves `Value`s."""
        path = self.path(name)
        return [located(json.loads(text), self.link(path), row=n) for n, text in enumerate(read_lines(path), start=1)]

    def table(self, name):
        """Return a TSV input as it stands."""
        return Table(self.frame(name).to_dict("records"), self.href(name))

    def json(self, name):
        """Return the content of a JSON input, its leaves `Value`s."""
        return located(read_json(self.path(name)), self.href(name))

    def drawing(self, path):
        """Return an SVG file as a figure of the page."""
        with open(path, "rb") as handle:
            encoded = base64.b64encode(handle.read()).decode("ascii")
        png = os.path.splitext(path)[0] + ".png"
        beside = self.link(png) if os.path.exists(png) else None
        return Drawing(DATA_ADDRESS + encoded, self.link(path), beside, sha256(path))

    @functools.cached_property
    def lead(self):
        """Return the measure that leads the study."""
        return Shown(self.settings)

    @property
    def name(self):
        """Return the study's name."""
        return located(self.settings.get("study", ""), "config", "study")

    @property
    def noun(self):
        """Return what the study's texts are called: see `data.reviews.noun_of`."""
        return noun_of(self.json("manifest"))

    @functools.cached_property
    def labels(self):
        """Return the labels' names for readers, in their order; none where the manifest names none."""
        names = located((self.settings.get("data") or {}).get("label_names") or {}, "config", "data.label_names")
        return [names.get(label, label) for label in self.json("manifest").get("labels") or ()]

    @property
    def synthetic(self):
        """Return whether the data manifest calls the data synthetic."""
        return bool(self.json("manifest")["synthetic"])
