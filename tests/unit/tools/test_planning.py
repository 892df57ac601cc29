"""Plans: power by the noncentral t, the fewest seeds and texts, and agreement with simulated studies."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis import contrasts
from tools import planning


def test_power_is_that_of_a_t_test_where_seeds_are_all():
    # One arm without texts' part: n seeds of variance 4 against 0, true contrast 2: a one-sample t test.
    for n in (3, 5, 10):
        wanted = stats.nct.sf(stats.t.isf(0.025, n - 1), n - 1, 2 / math.sqrt(4 / n))
        assert planning.power(n, 2, 0.025, 0.0, [(4.0, 0.0)], 10**9) == pytest.approx(wanted)


def test_the_fewest_seeds_have_the_power_and_one_less_has_not():
    given = (0.09, [(1e-4, 0.12), (4e-4, 0.12)], 2000)
    n = planning.fewest_seeds(0.03, 0.025, 0.8, *given)
    assert planning.power(n, 0.03, 0.025, *given) >= 0.8 > planning.power(n - 1, 0.03, 0.025, *given)
    assert planning.fewest_seeds(0.0, 0.025, 0.8, *given) is None
    # The texts alone leave 0.3 / √2000 = 0.0067 a standard error: 1 point is 1.5 of these, and 2.8 are needed.
    assert planning.fewest_seeds(0.01, 0.025, 0.8, *given) is None
    least = planning.least_contrast(0.025, 0.8, 0.09, 2000)
    assert least == pytest.approx((1.959964 + 0.841621) * 0.3 / math.sqrt(2000), rel=1e-5)
    assert planning.fewest_seeds(1.05 * least, 0.025, 0.8, *given) is not None


def test_the_fewest_texts_leave_the_least_contrast():
    # (1.96 + 0.8416)² · 0.09 / 0.02² = 1766.
    n = planning.fewest_texts(0.02, 0.025, 0.8, 0.09)
    assert n == 1766 and planning.least_contrast(0.025, 0.8, 0.09, n) <= 0.02 < planning.least_contrast(
        0.025, 0.8, 0.09, n - 1
    )


def test_a_planned_power_is_what_simulated_studies_have():
    generator, n_items, n_seeds, studies = np.random.default_rng(1), 400, 5, 400
    sd, of_items, noise, gap = 0.02, 0.15, 0.1, 0.07
    shown, halves = 0, []
    for _ in range(studies):
        # Texts' contrast in one arm alone, as the sum has it; seeds and what is left in both.
        text = math.sqrt(of_items) * generator.standard_normal(n_items)
        arms = [
            sign_gap + own[:, None] + part + math.sqrt(noise) * generator.standard_normal((n_seeds, n_items))
            for sign_gap, part in ((gap, text), (0.0, 0.0))
            for own in [sd * generator.standard_normal(n_seeds)]
        ]
        terms = [contrasts.Term(1, arms[0]), contrasts.Term(-1, arms[1])]
        difference = float(contrasts.per_item(terms).mean())
        shown += contrasts.p_beyond(terms, difference) <= 0.05
        low, high = contrasts.interval(terms, difference, 0.95)
        halves.append((high - low) / 2)
    given = (of_items, [(sd**2, noise)] * 2, n_items)
    planned = planning.power(n_seeds, gap, 0.025, *given)
    # Standard error √(0.25 / 400) = 0.025; the larger of two p errs on the side of less power.
    assert 0.3 < planned < 0.95 and -0.12 < shown / studies - planned < 0.06
    assert planning.half_width(n_seeds, 0.95, *given) == pytest.approx(np.median(halves), rel=0.1)
