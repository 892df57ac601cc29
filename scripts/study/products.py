"""The study's tables and figures: one row each, found in `products` of the rooms and of the frameworks.

A row says where its file lies, which rule makes it and under which settings, its columns, its caption in Snakemake's
own report, and who reads it. The rules, the page, the provenance, `make regenerate` and the data dictionary read the
rows, so a path is written once. A module `scripts/<room>/products/<topic>.py` has PRODUCTS, a list of `Product`, and
may have RULES, a list of `Rule` (a rule whose inputs are products needs no text in rules/), and COLUMNS, what columns
mean that `study.tables` does not know. See docs/development/add_a_table.md.
"""

import functools
import glob
import importlib
import os
import re
from dataclasses import dataclass, field

import measures
from common.errors import StudyError

# These columns name the arm, run or pair of arms of a row.
ARM = "arm framework model init"
RUN = f"{ARM} seed"
PAIR = " ".join(f"arm_{side} framework_{side} model_{side} init_{side}" for side in "ab")
CURVE = "epoch update split metric value"
LEADING = "leading"
SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def always(config):
    """The condition of files that every study has."""
    return True


@dataclass(frozen=True)
class Product:
    """A table, figure or record of a study.

    Attributes:
        key: its name in rules, as an input of the page and in `study.tables`.
        path: below results/<study>; with wildcards where it is a family of files, and `{leading}` for the name of the
            measure that leads.
        rule: the rule that makes it.
        output: what the rule calls it; empty: its key.
        columns: columns of a table, in order; a `?` marks columns that only some studies have.
        when: function of the settings: whether the study has it.
        of_framework: of a record of every run: function of a framework's facts, whether its runs leave it.
        each: function of the settings that gives the values of the path's one wildcard; one job makes the family.
        caption: file of report/ without its ending; empty: Snakemake's own report leaves it out.
        category, subcategory, labels: its place in Snakemake's own report; a family's label is its wildcard's value.
        page: whether the page reads it.
        crate: whether the provenance names it with its hash.
        derived: whether it follows from the records of the runs, so that `make regenerate` makes it again.
    """

    key: str
    path: str
    rule: str
    output: str = ""
    columns: str = ""
    when: object = always
    of_framework: object = always
    each: object = None
    caption: str = ""
    category: str = "Sentiment"
    subcategory: str = "Tables"
    labels: dict = field(default_factory=dict)
    page: bool = False
    crate: bool = False
    derived: bool = True

    @property
    def wildcards(self):
        """The names in braces of the path, each once."""
        return [name for name in dict.fromkeys(re.findall(r"{(\w+)}", self.path)) if name != LEADING]

    def file(self, config=None):
        """Return the path with the measure that leads; without settings that of a study that names none."""
        return self.path.replace(f"{{{LEADING}}}", measures.leading(config or {}))

    def paths(self, config):
        """Return the family's paths with the values of its wildcard filled in; one path for a single file."""
        if not self.each:
            return [self.file(config)]
        (wildcard,) = self.wildcards
        return [self.file(config).replace(f"{{{wildcard}}}", str(value)) for value in self.each(config)]


@dataclass(frozen=True)
class Rule:
    """A rule that one loop in rules/analysis.smk makes: its outputs are the products that name it.

    Attributes:
        name: the rule's, and its script's: scripts/<room>/<name>.py, in the room that the row was found in.
        inputs: {name of the input: key of a product, or a list of keys}; what the study lacks is left out.
        params: {name of the parameter: function of the settings}.
        when: function of the settings: whether the study has the rule.
        priority: Snakemake's.
    """

    name: str
    inputs: dict
    params: dict = field(default_factory=dict)
    when: object = always
    priority: int = 0


def figure(key, path, rule, outputs=("svg", "png"), **facts):
    """Return the rows of a figure: the drawing that pages show, and the same as PNG.

    Args:
        key, rule: as of `Product`; the PNG's key ends in `_png`.
        path: without the ending.
        outputs: what the rule calls the two.
        facts: facts of the drawing; the PNG shares its condition.
    """
    shared = {name: facts[name] for name in ("when", "each") if name in facts}
    return [
        Product(key, f"{path}.svg", rule, outputs[0], **{"page": True, "crate": True, **facts}),
        Product(f"{key}_png", f"{path}.png", rule, outputs[1], **shared),
    ]


@functools.cache
def _modules():
    """The modules of rows with the room of each, in the order of their paths."""
    places = (("*", "products", "*.py"), ("frameworks", "*", "products.py"))
    paths = sorted(path for place in places for path in glob.glob(os.path.join(glob.escape(SCRIPTS), *place)))
    names = [os.path.relpath(path, SCRIPTS).removesuffix(".py").replace(os.sep, ".") for path in paths]
    return [(name.split(".")[0], importlib.import_module(name)) for name in names]


@functools.cache
def products():
    """Return every product as {key: Product}.

    Raises:
        StudyError: two rows share a key or a path.
    """
    found, paths = {}, {}
    for _, module in _modules():
        for row in module.PRODUCTS:
            for fact, seen in ((row.key, found), (row.path, paths)):
                if fact in seen:
                    raise StudyError(
                        f"{module.__name__}: {fact} is the key or path of an earlier product; give it another one"
                    )
            found[row.key] = paths[row.path] = row
    return found


def own_columns():
    """Return the columns that modules of rows declare, as [(module's name, {column: (type, unit, meaning)})]."""
    return [(module.__name__, getattr(module, "COLUMNS", {})) for _, module in _modules()]


def generated_rules(config=None):
    """Return the rules that need no text of their own, as [(room, Rule)]; without settings those of every study."""
    return [
        (room, rule)
        for room, module in _modules()
        for rule in getattr(module, "RULES", [])
        if config is None or rule.when(config)
    ]


def product(key):
    """Return a product by its key.

    Raises:
        StudyError: no row has the key.
    """
    if key not in products():
        raise StudyError(f"products: no row has the key {key}; add one to scripts/<room>/products/")
    return products()[key]


def chosen(config, **facts):
    """Return the products of a study whose facts have these values, such as `page=True`, in the order of the rows."""
    return [
        row
        for row in products().values()
        if (config is None or row.when(config)) and all(getattr(row, name) == value for name, value in facts.items())
    ]


def page_rules(config=None):
    """Return the sorted names of the rules that make the derived products; without settings those of every study."""
    return sorted({row.rule for row in chosen(config, derived=True)})


def page_files(config=None):
    """Return the sorted paths of the derived products below results/<study>; a folder of nothing else as a whole."""
    kept = [row.file(config) for row in products().values() if not row.derived]
    found = set()
    for row in chosen(config, derived=True):
        parts = row.file(config).split("/")
        folders = ["/".join(parts[:n]) for n in range(1, len(parts))]
        whole = [folder for folder in folders if not any(path.startswith(f"{folder}/") for path in kept)]
        found.add(whole[0] if whole else row.file(config))
    return sorted(found)
