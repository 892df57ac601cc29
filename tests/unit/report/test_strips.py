"""The chart of seeds: an arm's name has a plate that ends the lines behind it."""

import re

from report.numbers import Value
from report.strips import Strip, strip_chart


def test_a_name_lies_on_a_plate_and_no_dot_does():
    seeds = [
        {
            "test_accuracy": Value(text, "runs.tsv", row, "test_accuracy"),
            "seed": Value(str(row), "runs.tsv", row, "seed"),
        }
        for row, text in enumerate(["0.5", "0.7", "0.71"], start=1)
    ]
    names = ["an arm", "an arm with a long name"]
    strips = [Strip(name, place, "#000000", seeds, {}, None) for place, name in enumerate(names)]
    chart = str(strip_chart(strips, "seeds", share=0.5))
    plates = re.findall(r'<path class="plate" d="M6 ([\d.]+) h([\d.]+) v18 H6 z"/><text class="name"', chart)
    assert len(plates) == 2 and float(plates[0][1]) < float(plates[1][1])
    # Plates come after the lines, so they cover them, and end above the dots.
    assert chart.index("majority") < chart.index("plate")
    first = min(float(y) for y in re.findall(r'cy="([\d.]+)"', chart))
    assert float(plates[0][0]) + 18 < first - 4
