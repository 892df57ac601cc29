"""Drawings in fewer bytes: matplotlib's SVG with the same marks, without what no viewer needs."""

import collections
import math
import re

NUMBER = re.compile(r"-?\d+\.\d+")
# A hundredth of a point is below a pixel of any screen.
DECIMALS = 2
PLACES = re.compile(r'(?<= )(d|x|y|width|height)="([^"]*)"')
LONE = re.compile(r"<g>\n(<[^<>]*/>|<text[^<>]*>[^<>]*</text>)\n</g>")
STYLE = re.compile(r' style="([^"]*)"')
# matplotlib draws a circle as eight curves from its lowest point.
CIRCLE = re.compile(r'<path d="M(-?[\d.]+) (-?[\d.]+)((?:C(?:-?[\d.]+ ?){6}){8})z"')


def compact(svg):
    """Return the text of an SVG that matplotlib wrote, smaller: every mark, text, title and description is kept.

    Coordinates are rounded, styles that occur twice become classes, circles become circles, and ids that nothing
    refers to go, except those of the axes.
    """
    svg = re.sub(r"<!DOCTYPE[^>]*>\s*", "", svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = PLACES.sub(lambda found: f'{found[1]}="{_rounded(found[2], found[1] == "d")}"', svg)
    svg = CIRCLE.sub(_circle, svg)
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(r'<g id="([^"]*)"', lambda found: found[0] if found[1] in used or _is_axes(found[1]) else "<g", svg)
    svg, count = re.sub(r"\n\s+<", "\n<", svg), 1
    while count:
        svg, count = LONE.subn(r"\1", svg)
    return _with_classes(svg)


def _is_axes(name):
    """Return whether an id names the axes, which readers of a drawing count."""
    return name.startswith("axes_")


def _short(number):
    """Return a decimal number as text with few decimals and without trailing zeros."""
    text = f"{float(number):.{DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _rounded(value, is_path):
    """Return an attribute's numbers in short; a path also loses the blanks around its letters."""
    value = NUMBER.sub(lambda found: _short(found[0]), value)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", value.strip()) if is_path else value


def _circle(found):
    """Return eight curves as a circle where they are one, else as they are."""
    x, low = float(found[1]), float(found[2])
    points = [float(number) for number in re.findall(r"-?[\d.]+", found[3])]
    # The fourth curve ends at the highest point, the eighth at the lowest; the second and sixth at the sides.
    ends = [tuple(points[6 * n + 4 : 6 * n + 6]) for n in range(8)]
    radius = (low - ends[3][1]) / 2
    corners = [(x + radius, low - radius), (x, low - 2 * radius), (x - radius, low - radius), (x, low)]
    close = all(math.dist(end, corner) <= 0.03 for end, corner in zip(ends[1::2], corners, strict=True))
    if radius <= 0 or not close:
        return found[0]
    return f'<circle cx="{_short(x)}" cy="{_short(low - radius)}" r="{_short(radius)}"'


def _with_classes(svg):
    """Return the drawing with a class for every style that occurs more than once."""
    counts = collections.Counter(STYLE.findall(svg))
    names = {style: f"s{n}" for n, (style, count) in enumerate(counts.items()) if count > 1}
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    if not rules or "</style>" not in svg:
        return svg
    svg = STYLE.sub(lambda found: f' class="{names[found[1]]}"' if found[1] in names else found[0], svg)
    return svg.replace("</style>", f"{rules}</style>", 1)
