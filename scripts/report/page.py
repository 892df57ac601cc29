"""The page: every section from its template, with the tables and figures that it holds.

A section's template, sections/NAME/page.html.j2, sets `title`, writes its paragraphs, and calls the macros of
pieces.html.j2 for tables and figures; Python gives it tables and facts, no words.
"""

import functools
import itertools
import os
import re

import jinja2
from markupsafe import Markup

from common.errors import StudyError
from report.formats import FILTERS, FORMATS, cell, joined, line
from report.glossary import definition, glossary_of
from report.inputs import Table
from report.leading import Shown
from report.numbers import in_attribute, in_short, names_of

FULL_CELL = re.compile(r'<td((?: [^<>]*)?)><span (data-of="[^"]*")>([^<]*)</span></td>')

REVIEWS = {"one": "review", "many": "reviews"}
RECORD = re.compile(r'(?<=[ ])data-of="([^"]*)"')


class Page:
    """A page in the making.

    Attributes:
        sections: [{"id", "title", "body", "part", "chapter"}] so far.
        sources: [{"what", "href", "rule", "anchor"}]: what of the page comes from which file, in page order.
    """

    def __init__(self, templates, synthetic, colours=None, links=None, arms=None, noun=REVIEWS, lead=None):
        """Start a page.

        Args:
            templates: paths of jinja2 templates, frame.html.j2 among them: see `template_name`.
            synthetic: whether the data are, or the names of the studies whose data are; then every table and figure
                says so.
            colours: {arm: its colour, `#RRGGBB`}, or None.
            links: {input: link}, for links beside a table's own source.
            arms: `arms.coloured`: the arms that the page lets its reader switch off.
            noun: what the texts are called: see `data.reviews.noun_of`.
            lead: `report.leading.Shown`: the measure that leads; None: the one that leads where nothing is said.
        """
        self.sections, self.sources, self.colours = [], [], colours or {}
        self._tables, self._anchor = 0, None
        self.arms = arms or {}
        paths = {template_name(path): path for path in templates}
        self._environment = jinja2.Environment(
            loader=jinja2.FunctionLoader(lambda name: load(paths.get(name))),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._environment.filters |= FILTERS
        self._environment.globals |= {
            "synthetic": synthetic,
            "links": links or {},
            "columns": columns,
            "cells": self.cells,
            "number": self.number,
            "record": self.record,
            "in_attribute": in_attribute,
            "joined": joined,
            "noun": noun,
            "lead": lead or Shown(),
            "definition": functools.partial(definition, glossary=glossary_of(noun)),
            "row_attributes": self.row_attributes,
            "arms_shown": list(self.arms.values()),
            "Table": Table,
            "origins": lambda: Table(self.sources),
        }

    def section(self, name, facts, part="report", chapter=None):
        """Add the section of sections/NAME/page.html.j2, given its facts (a dict), its part and its chapter."""
        self._anchor = name.replace("_", "-")
        body = self._environment.get_template(f"{name}.html.j2").make_module(facts)
        made = {"id": self._anchor, "title": body.title, "body": body, "part": part, "chapter": chapter}
        self.sections.append(made)

    def chapters(self, part):
        """Return the contents of a part: [{"title", "sections"}]."""
        found = []
        for section in (one for one in self.sections if one["part"] == part):
            title = section["chapter"] or section["title"]
            if not found or found[-1]["title"] != title:
                found.append({"title": title, "sections": []})
            found[-1]["sections"].append(section)
        return found

    def render(self, study, heading="Study {}: report"):
        """Return the page's HTML; `study` fills the heading."""
        template = self._environment.get_template("frame.html.j2")
        parts = {part: self.chapters(part) for part in ("report", "appendix")}
        html = template.render(heading=joined(heading, study), parts=parts)
        # A cell with only a number is that number's element: most are, and the page is smaller.
        html, count = FULL_CELL.sub(r"<td\1 \2>\3</td>", html), itertools.count(1)
        names = names_of(RECORD.findall(html))
        places = {name: place for place, name in enumerate(names)}
        html = html.replace("</title>", f'</title>\n<meta name="record-names" content="{" ".join(names)}">', 1)
        # Rows are counted, so that two numbers that swap places with their records are noticed.
        return RECORD.sub(lambda found: f'data-of="{next(count)} {in_short(found[1], places)}"', html)

    def number(self):
        """Return the number of the next table."""
        self._tables += 1
        return self._tables

    def row_attributes(self, row):
        """Return the attributes of a table's row: its id, if it has one, and the number of its arm."""
        found = Markup(' id="{}"').format(row["row_id"]) if "row_id" in row else Markup("")
        arm = self.arms.get(row.get("arm"))
        return found + (Markup(' data-arm="{}"').format(arm[0]) if arm else Markup(""))

    def record(self, kind, title, href, rule):
        """Note that a table or figure comes from a file, and return an empty text to the template."""
        if href:
            what = Markup("{}: {}").format(kind, line(title))
            self.sources.append({"what": what, "href": href, "rule": rule, "anchor": f"#{self._anchor}"})
        return ""

    def cells(self, table, shown, rule):
        """Return the cells of a table: for each row a list of `formats.cell`.

        Args:
            table: `Table`.
            shown: [(heading, key or keys of a row, format, options of the format ...)]; the format is one of
                `FORMATS`, or a macro of the template, followed by the column's alignment.
            rule: rule that made the table's file, or None.

        Raises:
            StudyError: the rows lack a key.
        """
        return [[self._cell(row, table, rule, *column[1:]) for column in shown] for row in table.rows]

    def _cell(self, row, table, rule, keys, kind, *options):
        try:
            values = [row[key] for key in ([keys] if isinstance(keys, str) else keys)]
        except KeyError as error:
            raise StudyError(f"{table.href} has no column {error.args[0]}: run rule {rule} again") from error
        if callable(kind):
            # A browser does not recognise a number with its spread or interval, or with a true minus sign.
            return cell(line(kind(*values)), sort=values[0] if options[:1] == ("number",) else None)
        if kind == "arm":
            options = (self.colours.get(*values),)
        return FORMATS[kind][1](*values, *options)


def template_name(path):
    """Return the name by which a template is asked for: its file's; of a section its folder's, as NAME.html.j2."""
    folder, name = os.path.split(path)
    return f"{os.path.basename(folder)}.html.j2" if name == "page.html.j2" else name


def load(path):
    """Return what jinja2 asks a loader for: a template's text, its path, and that it stays as it is; None: no such."""
    if path is None:
        return None
    with open(path, encoding="utf-8") as handle:
        return handle.read(), path, lambda: True


def columns(shown):
    """Return the headings of a table: [{"label", "kind"}]; `shown` as in `Page.cells`."""
    kinds = [options[0] if callable(kind) else FORMATS[kind][0] for _, _, kind, *options in shown]
    return [{"label": column[0], "kind": kind} for column, kind in zip(shown, kinds, strict=True)]
