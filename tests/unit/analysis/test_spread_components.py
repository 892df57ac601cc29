"""Components of the spread: by hand, against a mixed model of statsmodels, and recovered from simulated runs."""

import math

import numpy as np
import pytest

from analysis.measure_spread import measured
from analysis.spread_components import Component, joint, of_runs, of_texts, total
from study.tables import columns_of, faults
from tools.simulated_spread import MOVED, draw_groups, simulated, truths

LEVEL = 0.95


def test_components_of_a_small_group_by_hand():
    # Mean 0.8; deviations -0.02, 0, 0.02: (0.0004 + 0.0004) / 2 = 0.0004, SD 0.02.
    part = of_runs([0.78, 0.80, 0.82])
    assert part.variance == pytest.approx(0.0004) and part.df == 2
    # chi-square(2) is exponential: its quantile q is -2 ln(1 - q). 2 * 0.0004 / 7.3778 and 2 * 0.0004 / 0.050636.
    low, high = part.interval(LEVEL)
    assert low == pytest.approx(0.0008 / (-2 * math.log(0.025))) and high == pytest.approx(
        0.0008 / (-2 * math.log(0.975))
    )
    # F(2, 2) has the quantile q / (1 - q): 39 and 1 / 39.
    share, below, above = part.share_of(Component(0.0008, 2), LEVEL)
    assert (share, below, above) == pytest.approx((0.5, 0.5 / 39, 0.5 * 39))


def test_nothing_is_said_of_runs_that_do_not_vary():
    still = of_runs([0.8, 0.8, 0.8])
    assert still.variance < 1e-24 and still.interval(LEVEL) == (None, None)
    assert still.share_of(Component(1.0, 2), LEVEL) == (None, None, None)
    assert joint(Component(1.0, 2), [still, Component(0.5, 2)], LEVEL)[1:] == (None, None)


def test_the_texts_part_leaves_out_what_the_spread_of_runs_has():
    # Two runs on four texts: 1 1 0 0 and 1 0 1 0. Means by text 1, .5, .5, 0: variance (.25 + .25) / 3 = 1/6.
    # All run means are 1/2, so SS_runs = 0; SS_total = 8 * 1/4 = 2; SS_texts = 2 * 1/2 = 1; SS_e = 1; MS_e = 1/3.
    # (1/6 - 1/3 / 2) / 4 = 0.
    assert of_texts(np.array([[1.0, 1, 0, 0], [1, 0, 1, 0]])).variance == 0
    # Two equal runs disagree on no text: Var = 1/3 of 1 1 0 0, over 4 texts, and nothing is taken away.
    assert of_texts(np.array([[1.0, 1, 0, 0], [1, 1, 0, 0]])).variance == pytest.approx(1 / 12)


def test_runs_and_texts_agree_with_a_mixed_model():
    """Crossed random effects of runs and texts by REML, an independent computation, give the same two variances."""
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    n_runs, n_texts = 5, 24
    generator = np.random.default_rng(3)
    runs, texts = generator.normal(0, 1.0, (n_runs, 1)), generator.normal(0, 1.5, (1, n_texts))
    items = 10 + runs + texts + generator.normal(0, 1.0, (n_runs, n_texts))
    which = {"run": np.repeat(np.arange(n_runs), n_texts), "text": np.tile(np.arange(n_texts), n_runs)}
    designs = {name: (of[:, None] == np.arange(of.max() + 1)).astype(float) for name, of in which.items()}
    names = sorted(designs)
    columns = [[list(map(str, range(designs[name].shape[1])))] for name in names]
    spec = VCSpec(names, columns, [[designs[name]] for name in names])
    ones = np.ones(items.size)
    fitted = MixedLM(items.ravel(), ones[:, None], groups=ones, exog_vc=spec).fit(reml=True)
    found = dict(zip(names, fitted.vcomp, strict=True))
    # A run's mean on these texts varies by the runs' component and by what is left, over the texts.
    assert of_runs(items.mean(axis=1)).variance == pytest.approx(found["run"] + fitted.scale / n_texts, rel=1e-3)
    assert of_texts(items).variance == pytest.approx(found["text"] / n_texts, rel=1e-3)


def test_the_joint_part_recovers_its_ends_from_those_of_the_parts():
    whole, parts = Component(3.0, 4), [Component(1.0, 4), Component(1.5, 4)]
    difference, low, high = joint(whole, parts, LEVEL)
    assert difference == pytest.approx(0.5)
    ends = {one.variance: one.interval(LEVEL) for one in (whole, *parts)}
    below = (3 - ends[3.0][0]) ** 2 + (ends[1.0][1] - 1) ** 2 + (ends[1.5][1] - 1.5) ** 2
    above = (ends[3.0][1] - 3) ** 2 + (1 - ends[1.0][0]) ** 2 + (1.5 - ends[1.5][0]) ** 2
    assert (low, high) == pytest.approx((0.5 - math.sqrt(below), 0.5 + math.sqrt(above)))


def test_the_sum_of_independent_parts_has_satterthwaites_degrees():
    # (1 + 1)² / (1/4 + 1/4) = 8.
    both = total(Component(1.0, 4), Component(1.0, 4))
    assert (both.variance, both.df) == (2.0, 8.0)


def test_known_components_are_recovered_and_covered():
    """400 studies of 5 runs of each: means within 4 standard errors, coverage within 4 binomial ones (1.1 points each).

    All together less the sum of each alone is the part by which runs disagree on texts, taken twice: below 0.
    """
    found = simulated(5, 400)
    assert set(found) == {*MOVED, "all", "texts", "jointly"} == set(truths())
    for name, (mean, error, truth, covered) in found.items():
        assert abs(mean - truth) < 4 * error, (name, mean, error, truth)
        assert covered > LEVEL - 4 * math.sqrt(0.95 * 0.05 / 400), (name, covered)
        assert name == "jointly" or covered < LEVEL + 4 * math.sqrt(0.95 * 0.05 / 400), (name, covered)
    assert found["jointly"][2] < 0


def of_arm(groups, arm, base=0.0):
    return {
        f"{arm}--{way}": [
            {"seed": str(seed), "test_accuracy": float((items + base).mean()), "correct": items + base, "n_valid": 10}
            for seed, items in enumerate(group, start=2)
        ]
        for way, group in groups.items()
    }


def test_the_rows_of_the_table_and_what_each_adds():
    section = {"arm": "a", "vary": ["order", "split"], "runs": 5}
    groups = draw_groups(np.random.default_rng(1), 5)
    del groups["initialisation"]
    arms = of_arm(groups, "a")
    rows = measured(section, arms, {"n_seeds": 3, "varied": ["order"]}, LEVEL)
    assert [row["varied"] for row in rows] == ["order", "split", "all", "texts", "all and texts", "jointly"]
    assert not list(faults("spread_sources", columns_of("spread_sources"), rows))
    by_name = {row["varied"]: row for row in rows}
    order, split = by_name["order"], by_name["split"]
    # Three seeds share the order's variance; the split is the study's one, and its variance is whole.
    assert order["covered"] and order["added_variance"] == pytest.approx(order["variance"] / 3)
    assert not split["covered"] and split["added_variance"] == split["variance"]
    assert order["variance_share"] == pytest.approx(order["variance"] / by_name["all"]["variance"])
    assert by_name["jointly"]["variance"] == pytest.approx(
        by_name["all"]["variance"] - order["variance"] - split["variance"]
    )
    # A question is about differences seed by seed: an arm less itself varies in nothing, an arm less a constant as it.
    both = {"compare": ["a", "b"], "vary": ["order", "split"], "runs": 5}
    alike = measured(both, arms | of_arm(groups, "b", base=-0.1), {"n_seeds": 3, "varied": []}, LEVEL)
    assert all(row["variance"] == pytest.approx(0, abs=1e-20) for row in alike[:3])
    flat = {way: np.zeros_like(items) for way, items in groups.items()}
    again = measured(both, arms | of_arm(flat, "b"), {"n_seeds": 3, "varied": ["order"]}, LEVEL)
    assert [row["variance"] for row in again[:4]] == pytest.approx([row["variance"] for row in rows[:4]])
