"""Drawings in fewer bytes: every mark and text is kept, and a table that was drawn is still named."""

import re

from matplotlib import pyplot

from study.drawings import compact
from study.figures import save, set_style


def circle(x, y, r):
    """The eight curves of matplotlib's circle, from the lowest point over the right side."""
    s = r * 2**-0.5
    ends = [
        (x + s, y + s),
        (x + r, y),
        (x + s, y - s),
        (x, y - r),
        (x - s, y - s),
        (x - r, y),
        (x - s, y + s),
        (x, y + r),
    ]
    return f"M {x} {y + r} \n" + "".join(f"C {a} {b} {a} {b} {a} {b} \n" for a, b in ends) + "z\n"


def test_circles_become_circles_and_other_shapes_stay():
    drawn = f'<g id="patch_1">\n <path d="{circle(10.123456, 20.5, 2.25)}" style="fill: red"/>\n</g>'
    assert compact(drawn) == '<circle cx="10.12" cy="20.5" r="2.25" style="fill: red"/>'
    oval = circle(10, 20, 2).replace("C 8 20 8 20 8 20", "C 5 20 5 20 5 20")
    assert "<circle" not in compact(f'<path d="{oval}"/>') and compact(f'<path d="{oval}"/>').startswith('<path d="M10')


def test_numbers_of_text_and_hashes_stay():
    text = '<text x="1.98765" y="-0.001">0.123456</text><dc:description>a.tsv=1.123456</dc:description>'
    assert compact(text) == text.replace("1.98765", "1.99").replace("-0.001", "0")


def test_what_is_referred_to_keeps_its_id():
    drawn = '<g id="axes_1">\n <g id="line_1">\n <a/>\n<b/>\n</g>\n <g id="m1"/><use xlink:href="#m1"/>\n</g>'
    assert compact(drawn) == '<g id="axes_1">\n<g>\n<a/>\n<b/>\n</g>\n<g id="m1"/><use xlink:href="#m1"/>\n</g>'


def test_a_saved_figure_has_its_texts_marks_and_table(tmp_path):
    set_style()
    (tmp_path / "x.tsv").write_text("a\n1\n", encoding="utf-8")
    figure, axes = pyplot.subplots()
    axes.plot([1, 2, 3], [1.5, 2.25, 0.125], marker="o", label="an arm")
    axes.legend()
    save(figure, tmp_path / "x.svg", tmp_path / "x.png", "A title", tmp_path / "x.tsv")
    svg = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "<title>A title</title>" in svg and ">an arm</text>" in svg and svg.count('<g id="axes_') == 1
    assert re.search(r"<dc:description>x\.tsv=[0-9a-f]{64}</dc:description>", svg)
    # Three points and the key's own; a class instead of a style wherever one occurs twice.
    assert svg.count("<use ") >= 4
    styles = re.findall(r'style="([^"]*)"', svg)
    assert len(styles) == len(set(styles)) and set(re.findall(r'class="(\w+)"', svg)) == set(
        re.findall(r"\.(s\d+){", svg)
    )
    assert not re.search(r'(?<= )[dxy]="[^"]*\.\d{3}', svg)
