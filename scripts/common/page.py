"""Pieces of the report page: files that may be absent, tables and figures as plain data for the template.

A section is a function `section(study) -> dict | None` that reads files through `Study` and returns what `section()`
builds from `table`, `figure`, `notice` and paragraphs; None leaves it out. The template knows only these pieces.
"""

import base64
import dataclasses
import os

from common.arms import percent
from common.errors import StudyError
from common.files import read_json, read_tsv

ABSENT = "–"


@dataclasses.dataclass
class Study:
    """What a section may read.

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
        """Say whether every one of these inputs was given."""
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

    def tsv(self, name):
        """Return the rows of a TSV input."""
        return read_tsv(self.path(name))

    def json(self, name):
        """Return the content of a JSON input."""
        return read_json(self.path(name))

    def link(self, path):
        """Return a path relative to the results folder, with `/`."""
        return os.path.relpath(path, self.root).replace(os.sep, "/")

    @property
    def synthetic(self):
        """Say whether the data manifest calls the data synthetic."""
        return bool(self.json("manifest")["synthetic"])

    @property
    def colours(self):
        """Return the configured colours by arm, or None."""
        return (self.settings.get("report") or {}).get("colours")


def section(identifier, title, *blocks, lead=()):
    """Return a section of the page.

    Args:
        identifier: its anchor, unique on the page.
        title: its heading.
        *blocks: of `table`, `figure`, `figures`, `notice`, `prose`; None is left out.
        lead: paragraphs above them.
    """
    return {
        "id": identifier,
        "title": title,
        "lead": [lead] if isinstance(lead, str) else list(lead),
        "blocks": [block for block in blocks if block is not None],
    }


def prose(*paragraphs, heading=None):
    """Return paragraphs, under a smaller heading if given."""
    return {"kind": "prose", "heading": heading, "paragraphs": list(paragraphs)}


def notice(text):
    """Return a sentence that the reader must not miss."""
    return {"kind": "notice", "text": text}


def cell(text, sort=None, colour=None, code=False, href=None, lang=None):
    """Return a table cell.

    Args:
        text: what is shown; None or an empty string shows a dash.
        sort: number or text to sort by, when it is not the text.
        colour: `#RRGGBB` of a swatch before the text (an arm's).
        code: show in a fixed-width face (hashes, settings).
        href: link target relative to the results folder.
        lang: language of the text when it is not the page's, such as `fr`.
    """
    text = ABSENT if text is None or text == "" else str(text)
    return {
        "text": text,
        "sort": None if sort is None or sort == "" else str(sort),
        "colour": colour,
        "code": code,
        "href": href,
        "lang": lang,
    }


def column(label, number=False, wide=False):
    """Return a table column: its heading, whether it holds numbers (right-aligned), whether its text wraps freely."""
    return {"label": label, "number": number, "wide": wide}


def table(caption, columns, rows, study=None, path=None, rule=None, note=None, other=(), row_header=True, fold=None):
    """Return a table.

    Args:
        caption: sentence above it.
        columns: list of `column` or of headings.
        rows: list of lists of `cell` or plain values.
        study: `Study`, for links; needed with `path`.
        path: file that every number of it comes from, or None.
        rule: rule that made that file.
        note: sentence below it.
        other: [(label, path)] of the same table in other forms.
        row_header: whether the first column names the row.
        fold: summary text under which the table is folded away, or None.
    """
    return {
        "kind": "table",
        "caption": caption,
        "columns": [c if isinstance(c, dict) else column(c) for c in columns],
        "rows": [[value if isinstance(value, dict) else cell(value) for value in row] for row in rows],
        "source": source(study, path, rule) if path else None,
        "note": note,
        "other": [{"label": label, "href": study.link(target)} for label, target in other],
        "row_header": row_header,
        "fold": fold,
    }


def source(study, path, rule):
    """Return where a table or figure comes from: the file's link and the rule's name."""
    return {"href": study.link(path), "rule": rule}


# How tsv_table shows a column; each takes the file's text.
def as_text(value):
    """Show the text as it stands."""
    return cell(value)


def as_prose(value):
    """Show sentences, which wrap freely."""
    return cell(value)


def as_integer(value):
    """Show a whole number with thin spaces between thousands."""
    return cell(f"{int(float(value)):,}".replace(",", "\u202f") if value else "", sort=value)


def as_percent(value):
    """Show a fraction as a percentage with two decimals."""
    return cell(percent(value), sort=value)


def as_number(digits):
    """Return a formatter to `digits` significant digits."""
    return lambda value: cell(f"{float(value):.{digits}g}" if value else "", sort=value)


def as_decimals(decimals):
    """Return a formatter to fixed decimals."""
    return lambda value: cell(f"{float(value):.{decimals}f}" if value else "", sort=value)


def as_p_value(value):
    """Show a p-value with two significant digits, never as 0."""
    if not value:
        return cell("")
    p = float(value)
    return cell("< 0.0001" if p < 1e-4 else f"{p:.2g}", sort=value)


def as_code(value):
    """Show the text in a fixed-width face."""
    return cell(value, code=True)


def tsv_table(study, path, rule, caption, columns, **options):
    """Return the table of a TSV file: one row a line, the chosen columns formatted.

    Args:
        study: `Study`.
        path: the TSV file.
        rule: rule that made it.
        caption: sentence above the table.
        columns: {file column: (heading, formatter)}, in order; formatters above. A heading whose formatter is
            `as_text` or `as_code` is left-aligned, every other holds numbers.
        **options: of `table`.

    Raises:
        StudyError: the file lacks a column.
    """
    rows = read_tsv(path)
    for name in columns:
        if rows and name not in rows[0]:
            raise StudyError(f"{path} has no column {name}: run rule {rule} again")
    return table(
        caption,
        [
            column(label, number=show not in (as_text, as_prose, as_code), wide=show is as_prose)
            for label, show in columns.values()
        ],
        [[show(row[name]) for name, (_, show) in columns.items()] for row in rows],
        study,
        path,
        rule,
        **options,
    )


def figure(study, svg, rule, caption, alt, data=None, title=None):
    """Return a figure.

    The SVG goes into the page as a data address: ids of two figures cannot meet, and its text needs no font.

    Args:
        study: `Study`.
        svg: path of the figure; the PNG beside it is linked where it exists.
        rule: rule that made it.
        caption: sentence beneath.
        alt: what it shows, for those who do not see it.
        data: `table` with its values, folded beneath, or None.
        title: short heading above, or None.
    """
    with open(svg, "rb") as handle:
        encoded = base64.b64encode(handle.read()).decode("ascii")
    png = os.path.splitext(svg)[0] + ".png"
    other = [{"label": "PNG", "href": study.link(png)}] if os.path.exists(png) else []
    if data is not None and data["source"]:
        other.append({"label": "data", "href": data["source"]["href"]})
    if data is not None and not data["fold"]:
        data = data | {"fold": "Values of this figure"}
    return {
        "kind": "figure",
        "title": title,
        "image": f"data:image/svg+xml;base64,{encoded}",
        "caption": caption,
        "alt": alt,
        "data": data,
        "source": source(study, svg, rule),
        "other": other,
    }


def figures(*items):
    """Return figures side by side where the screen is wide enough."""
    return {"kind": "figures", "items": list(items)}


def sources(sections):
    """Return every table and figure that names its file: [(what, href, rule, section id)], in page order."""
    found = []

    def visit(block, identifier):
        if block is None:
            return
        if block["kind"] == "figures":
            for item in block["items"]:
                visit(item, identifier)
        elif block["kind"] in ("table", "figure"):
            if block["source"]:
                what = ("Figure: " if block["kind"] == "figure" else "Table: ") + (
                    block.get("title") or block["caption"]
                )
                found.append((what, block["source"]["href"], block["source"]["rule"], identifier))
            if block["kind"] == "figure":
                visit(block["data"], identifier)

    for part in sections:
        for block in part["blocks"]:
            visit(block, part["id"])
    return found


def render(template, **values):
    """Return the page's HTML.

    Args:
        template: path of the jinja2 template. Values are escaped unless the template marks them safe.
        **values: its variables; one that is missing is an error, not an empty place.
    """
    import jinja2

    with open(template, encoding="utf-8") as handle:
        text = handle.read()
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(text).render(**values)
