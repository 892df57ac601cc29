"""The measure that leads the study, as the page prints it."""

from markupsafe import Markup

from measures import DEFAULT, Lead, capitalised
from report.formats import FILTERS
from report.numbers import has_digit


class Shown(Lead):
    """A `measures.Lead` with what templates and charts print of it.

    Attributes:
        default: whether it is what leads where a study names nothing.
        title: the label with a capital.
        plural: what its values are called at the beginning of a sentence.
        chart: what a chart calls it, in which there is no number.
        format: the format of a table's column, with its options.
        says, bare: the end of a mark's words after `{COLUMN`, with the unit and without.
        in_unit, head: the unit behind a caption and a heading.
    """

    def __init__(self, settings=None):
        """Take the name from settings or from a row of runs.tsv."""
        super().__init__(settings)
        self.default = self.name == DEFAULT
        self.title = capitalised(self.label)
        self.plural = "Accuracies" if self.default else f"Values of {self.label}"
        self.chart = "score" if has_digit(self.label) else self.label
        unit = f" {self.unit}" if self.unit else ""
        self.format = ("percent",) if self.percent else ("decimals", 3)
        self.says = "|percent} %" if self.percent else f"|decimals,3}}{unit}"
        self.bare = "|percent}" if self.percent else "|decimals,3}"
        self.in_unit = " in percent" if self.percent else f" in {self.unit}" if self.unit else ""
        self.head = " (%)" if self.percent else f" ({self.unit})" if self.unit else ""
        self.after = Markup("&nbsp;%") if self.percent else Markup("&nbsp;{}").format(self.unit) if unit else ""
        self.between = " points" if self.percent else unit
        self.interval = "interval" if self.percent else "range"
        self.best = "highest" if self.higher else "lowest"
        # A chart's text of this class may have a number, which is part of a name.
        self.axis_class = "axis name plain" if has_digit(self.axis) else "axis"

    def show(self, value):
        """Print a value."""
        return FILTERS[self.format[0]](value, *self.format[1:])

    def gap(self, value):
        """Print a difference."""
        return FILTERS["points"](value) if self.percent else FILTERS["decimals"](value, 3)

    def column(self, heading, key):
        """Return a column of values for a table."""
        return (heading, key, *self.format)

    def change(self, heading, key):
        """Return a column of differences for a table."""
        return (heading, key, "points") if self.percent else self.column(heading, key)

    def ends(self, heading, keys):
        """Return a column of intervals for a table."""
        return (heading, keys, self.interval)
