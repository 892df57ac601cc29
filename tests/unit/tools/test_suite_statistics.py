"""The statistics of suites against computations of other packages, and by hand."""

import numpy as np
import pandas
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from tools.suite_statistics import (
    LEAST_SETS,
    Contrast,
    claim_of,
    contrast_of,
    interval,
    mean_of,
    of_others,
    of_these,
    resample,
)

LEVEL = 0.95


def drawn_sets(n_sets, n_seeds=3, n_items=24, gap=0.15, n_draws=400, seed=1, fixed=False):
    """Return each set's arms as `contrast_of` takes them."""
    generator, found = np.random.default_rng(seed), []
    for _ in range(n_sets):
        hard = generator.normal(size=n_items)
        arms = {}
        for name, skill in (("a", 0.6 + 4 * gap), ("b", 0.6)):
            rows = 1 if fixed and name == "b" else n_seeds
            noise = generator.normal(size=(rows, n_items)) + 0.4 * generator.normal(size=(rows, 1))
            items = (hard + noise < skill).astype(float)
            arms[name] = items.mean(axis=1).tolist(), items, fixed and name == "b"
        found.append(arms)
    return found


def contrasts(sets, n_draws=400):
    generator = np.random.default_rng(2)
    return [contrast_of([(1, "a"), (-1, "b")], arms, resample(arms, n_draws, generator)) for arms in sets]


def squares(items):
    """Return statsmodels' mean squares of seeds and of the residual."""
    n_seeds, n_items = items.shape
    table = pandas.DataFrame(
        {"y": items.ravel(), "s": np.repeat(np.arange(n_seeds), n_items), "t": np.tile(np.arange(n_items), n_seeds)}
    )
    found = anova_lm(ols("y ~ C(s) + C(t)", table).fit())
    return (found["sum_sq"] / found["df"])[["C(s)", "Residual"]].tolist()


def independent(sets):
    """Return the mean over sets and its two (variance, df), from statsmodels' analysis of variance and numpy alone."""
    n_sets, both, seeds, means = len(sets), [], [], []
    for arms in sets:
        difference = arms["a"][1].mean(axis=0) - arms["b"][1].mean(axis=0)
        means.append(difference.mean())
        n_items = len(difference)
        parts, least, welch = [(np.var(difference, ddof=1) / n_items, n_items - 1)], [], []
        for _, items, _ in arms.values():
            ms_seeds, ms_rest = squares(items)
            df, size = len(items) - 1, items.size
            parts += [(ms_seeds / size, df), (-ms_rest / size, df * (n_items - 1))]
            least.append((ms_rest / size, df * (n_items - 1)))
            welch.append((np.var(items.mean(axis=1), ddof=1) / len(items), df))
        variance, df = max(satterthwaite(parts), satterthwaite(least))
        both.append((variance / n_sets**2, max(df, min(d for _, d in welch))))
        variance, df = satterthwaite(welch)
        seeds.append((variance / n_sets**2, df))
    return np.mean(means), [satterthwaite(both), satterthwaite(seeds)]


def satterthwaite(parts):
    variance = sum(part for part, _ in parts)
    return variance, variance**2 / sum(part**2 / df for part, df in parts)


@pytest.mark.parametrize("n_sets", [3, 7])
def test_the_mean_its_variances_and_the_t_interval_are_those_of_statsmodels(n_sets):
    sets = drawn_sets(n_sets)
    every = contrasts(sets)
    mean, ends = independent(sets)
    assert mean_of(every) == pytest.approx(mean)
    assert of_these(every)[0] == [pytest.approx(end) for end in ends]
    half = max(stats.t.ppf(0.975, df) * np.sqrt(variance) for variance, df in ends)
    (low, high), (b_low, b_high) = interval(mean_of(every), of_these(every), LEVEL)
    assert (low, high) == pytest.approx((min(mean - half, b_low), max(mean + half, b_high)))
    p = max(2 * stats.t.sf(abs(mean) / np.sqrt(variance), df) for variance, df in ends)
    assert claim_of(mean_of(every), of_these(every), None, every)[1] >= p - 1e-12


def test_over_other_sets_the_t_interval_is_scipys_of_the_sets_differences():
    every = contrasts(drawn_sets(8))
    differences = [one.difference for one in every]
    found = stats.ttest_1samp(differences, 0)
    ends, drawn = of_others(every, np.random.default_rng(3))
    variance, df = ends[-1]
    assert df == 7 and variance == pytest.approx(stats.sem(differences) ** 2)
    (low, high), _ = interval(mean_of(every), (ends, drawn), LEVEL)
    wanted = found.confidence_interval(LEVEL)
    assert low <= wanted.low + 1e-12 and high >= wanted.high - 1e-12
    assert claim_of(mean_of(every), (ends, drawn), None, every)[1] >= found.pvalue - 1e-12


def test_few_sets_say_nothing_of_others():
    assert of_others(contrasts(drawn_sets(LEAST_SETS - 1)), np.random.default_rng(1)) is None
    assert of_others(contrasts(drawn_sets(LEAST_SETS)), np.random.default_rng(1)) is not None


def by_loops(arms, n_draws, seed):
    """The bootstrap of one set, draw by draw."""
    generator, found = np.random.default_rng(seed), []
    for _ in range(n_draws):
        n_items, difference = arms["a"][1].shape[1], 0.0
        texts = generator.integers(0, n_items, n_items)
        for sign, (_, items, fixed) in zip((1, -1), arms.values(), strict=True):
            rows = np.array([0]) if fixed else generator.integers(0, len(items), len(items) - 1)
            difference += sign * items[rows][:, texts].mean()
        found.append(difference)
    return np.array(found)


@pytest.mark.parametrize("fixed", [False, True])
def test_the_bootstrap_is_that_of_plain_loops(fixed):
    (arms,) = drawn_sets(1, n_seeds=4, n_items=40, fixed=fixed)
    drawn = resample(arms, 6000, np.random.default_rng(5))
    ours, loops = drawn["a"] - drawn["b"], by_loops(arms, 6000, 6)
    # Two samples of one distribution: Kolmogorov and Smirnov's test, on values that rounding has made equal.
    assert stats.ks_2samp(np.round(ours, 9), np.round(loops, 9)).pvalue > 0.001
    assert ours.std() == pytest.approx(loops.std(), rel=0.05)


def test_seeds_are_drawn_so_that_their_variance_is_unbiased():
    # Texts do not vary here: the variance of the mean over S seeds is s² / S, with s² = 0.01 and S = 2.
    items = np.repeat([[0.4], [0.4 + np.sqrt(0.02)]], 50, axis=1)
    arms = {"a": (items.mean(axis=1).tolist(), items, False)}
    assert resample(arms, 20000, np.random.default_rng(1))["a"].var() == pytest.approx(0.01 / 2, rel=0.03)


def test_every_set_counts_alike_whatever_its_size():
    one = Contrast(0.10, [], np.zeros(3))
    other = Contrast(0.02, [], np.zeros(3))
    assert mean_of([one, other, other]) == pytest.approx(0.14 / 3)


def test_equality_is_claimed_within_the_margin_and_a_difference_beyond_it():
    every = contrasts(drawn_sets(4, n_items=400, gap=0.0), 2000)
    difference, varies = mean_of(every), of_these(every)
    name, p = claim_of(difference, varies, 0.5, every)
    assert name == "equal" and p < 0.01
    # The margin is beyond reach on one side only: no equality.
    name, p = claim_of(difference, varies, abs(difference) + 1e-6, every)
    assert name == "equal" and p > 0.3
    every = contrasts(drawn_sets(4, n_items=400, gap=0.3), 2000)
    name, p = claim_of(mean_of(every), of_these(every), 0.02, every)
    assert name == "beyond" and p < 0.01


def test_arms_that_answer_alike_differ_nowhere():
    (arms,) = drawn_sets(1)
    arms = {"a": arms["a"], "b": arms["a"]}
    same = {name: (scores, np.repeat(items[:1], 3, axis=0), False) for name, (scores, items, _) in arms.items()}
    every = contrasts([same, same, same])
    assert interval(0.0, of_these(every), LEVEL) == ((None, None), (None, None))
    assert claim_of(0.0, of_these(every), None, every) == ("difference", 1.0)
    # 24 texts without an exception: (1 - 0.2)^24.
    assert claim_of(0.0, of_these(every), 0.2, every) == ("equal", pytest.approx(0.8**24))
