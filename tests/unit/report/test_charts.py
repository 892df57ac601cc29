"""Axes of the page's charts."""

import random

import pytest

from report.charts import Scale, padded, written


def test_what_is_written_at_a_tick_is_the_tick():
    # Losses of 0.6925 to 0.7075: with two decimals 0.7025 would read 0.70, twice.
    assert written([0.6975, 0.7, 0.7025], 1, 2) == ["0.6975", "0.7000", "0.7025"]
    assert written([0.5, 0.75], 100, 0) == ["50", "75"]
    generator = random.Random(1)
    for _ in range(300):
        centre, spread = generator.choice([0.0, 0.7, 80.0]), 10 ** generator.uniform(-4, 2)
        scale = Scale(*padded([centre - spread, centre + spread]), 200.0, 8.0)
        ticks = scale.ticks()
        assert len(ticks) >= 2
        for unit, decimals in ((1, 2), (100, 0)):
            texts = written(ticks, unit, decimals)
            assert len(set(texts)) == len(ticks)
            assert [float(text) / unit for text in texts] == pytest.approx(ticks, abs=1e-5 * spread)
