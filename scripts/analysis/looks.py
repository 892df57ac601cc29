"""The looks of arms in figures: colours, marks and dashes."""

import itertools
import re

from common.arms import KNOWN
from common.errors import StudyError

# Okabe and Ito's palette is distinguishable with every common colour vision; yellow is left out (illegible on white).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Further arms, as in a grid, get darker colours (black becomes grey), then lighter ones that are visible on white.
DARKER = ("#003F62", "#753400", "#00573F", "#704260", "#7E5700", "#2F6380", "#808080")
LIGHTER = ("#6FA9D6", "#E89B5F", "#63BF9F", "#DDA6C4", "#EDBB4D", "#8ECBEF", "#B0B0B0")
# Marks of seeds' dots and dashes of lines, in matplotlib's terms; with colours they distinguish more arms than needed.
MARKERS = ("D", "^", "v", "P", "X", "p", "h", "*")
DASHES = ("-.", ":", "-", "--")
# The lab's arms: the mark shows the framework, and the line the start.
MARKS = dict(zip(KNOWN, itertools.product("os", ("-", "--")), strict=True))


def looks_of(names, colours=None):
    """Return how each arm of a figure is drawn: {name: (colour `#RRGGBB`, matplotlib's marker, its line style)}.

    The lab's arms look the same in every study. The others take colours, marks and dashes in turn, in the study's
    order, first the colours that no arm of the study has, then darker and lighter ones: 21 arms have different colours,
    and at least eight are distinguishable in grey.

    Args:
        names: names of the study's arms, in order.
        colours: mapping of an arm's name to its colour, or None; a missing arm gets one of the palette.

    Raises:
        StudyError: a configured colour is not `#RRGGBB`.
    """
    given = {name: colour for name, colour in (colours or {}).items() if name in names and colour is not None}
    for name, colour in given.items():
        if not (isinstance(colour, str) and re.fullmatch("#[0-9a-fA-F]{6}", colour)):
            raise StudyError(f"report.colours.{name} is {colour!r}: write it as '#RRGGBB'")
    given = dict(zip(KNOWN, PALETTE, strict=False)) | given
    taken = {given[name].upper() for name in names if name in given}
    spare = itertools.cycle(sorted((*PALETTE, *DARKER, *LIGHTER), key=lambda colour: colour in taken))
    marks = zip(itertools.cycle(MARKERS), itertools.cycle(DASHES), strict=False)
    looks = {}
    for name in names:
        mark = MARKS[name] if name in MARKS else next(marks)
        looks[name] = (given[name] if name in given else next(spare), *mark)
    return looks


def padded_limits(values, step):
    """Return axis limits in percent around `values` (percent), at multiples of `step` within 0 to 100.

    At least one step is between an extreme value and the limit's grid line, where 0 to 100 has room.
    """
    low = max(0, step * int((min(values) - step / 3) // step))
    high = min(100, -step * int((-max(values) - step / 3) // step))
    return low, max(high, low + step)


def limits_of(values, lead):
    """Return axis limits around printed values of the leading measure: `padded_limits` of per cent, else a margin.

    Args:
        values: numbers as they are printed.
        lead: `measures.Lead`.
    """
    if lead.percent:
        return padded_limits(values, 5)
    low, high = min(values), max(values)
    room = 0.06 * (high - low or abs(high) or 1)
    return low - room, high + room
