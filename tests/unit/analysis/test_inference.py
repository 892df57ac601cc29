"""Statistics: against hand arithmetic, scipy and statsmodels, plain loops, exact enumeration and simulation."""

import itertools
import json
import math
import pathlib
import random
import time

import numpy as np
import pandas
import pytest
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from analysis import inference as statistics
from analysis.compute_statistics import compute, judge_learning, main
from analysis.intervals import t_interval
from analysis.permutations import permute_items
from analysis.scored import load_runs
from common.arms import Arm, summarise
from common.errors import StudyError
from common.files import read_tsv, write_json, write_tsv
from common.frames import read_frame
from support import simulation
from support.arms import OPTIONS, answers, arm, facts, study

# The published test accuracies (PROTOCOL, section 1), as fractions.
PRETRAINED = [0.799, 0.785, 0.801]
RANDOM = [0.654, 0.667, 0.674]
HUGGINGFACE = [0.8005, 0.803, 0.803]


def computed(arms):
    """The tables as lists of rows."""
    return [table.to_dict("records") for table in compute(arms, 0.5, OPTIONS)]


# mean, sd, t interval, best of k


def test_published_standard_deviations_to_the_digit():
    # 79.9, 78.5, 80.1: mean 79.5; squares of 0.4, -1.0, 0.6 sum to 1.52; √(1.52/3) = 0.712, √(1.52/2) = 0.872
    assert 100 * np.mean(PRETRAINED) == pytest.approx(79.5)
    assert [round(100 * summarise(PRETRAINED)[f"sd_ddof{d}"], 2) for d in (0, 1)] == [0.71, 0.87]
    # 65.4, 66.7, 67.4: mean 66.5; squares of -1.1, 0.2, 0.9 sum to 2.06; √(2.06/3) = 0.829, √(2.06/2) = 1.015 (1.01489)
    assert [round(100 * summarise(RANDOM)[f"sd_ddof{d}"], 2) for d in (0, 1)] == [0.83, 1.01]
    assert [round(100 * summarise(HUGGINGFACE)[f"sd_ddof{d}"], 2) for d in (0, 1)] == [0.12, 0.14]


def test_seed_interval():
    # t(0.975, 2) = 4.302653; 4.302653 * 0.0087178 / √3 = 0.0216563
    low, high = t_interval(PRETRAINED)
    assert (low, high) == (pytest.approx(0.795 - 0.0216563, abs=1e-6), pytest.approx(0.795 + 0.0216563, abs=1e-6))
    oracle = stats.t.interval(0.95, 2, loc=np.mean(PRETRAINED), scale=stats.sem(PRETRAINED))
    assert (low, high) == pytest.approx(oracle)


def test_expected_best_by_enumeration():
    # best of 2 of (78.5, 79.9, 80.1): pairs give 79.9, 80.1, 80.1: mean 80.0333
    best = statistics.expected_best(PRETRAINED)
    assert best == pytest.approx([0.795, (0.799 + 0.801 + 0.801) / 3, 0.801])
    five = [0.5, 0.9, 0.7, 0.6, 0.9]
    for k, value in enumerate(statistics.expected_best(five), 1):
        assert value == pytest.approx(np.mean([max(s) for s in itertools.combinations(five, k)]))


def test_sampling_margin_of_2000_and_200_items():
    # 1.96 √(0.8 · 0.2 / 2000) = 0.01753; 1.96 √(0.8 · 0.2 / 200) = 0.0554
    assert round(100 * statistics.sampling_margin(0.8, 2000), 2) == 1.75
    assert round(100 * statistics.sampling_margin(0.8, 200), 1) == 5.5


# tests


def test_published_welch():
    assert round(statistics.welch_p(HUGGINGFACE, PRETRAINED), 2) == 0.29
    assert f"{statistics.welch_p(PRETRAINED, RANDOM):.1e}" == "8.5e-05"
    assert round(100 * (np.mean(HUGGINGFACE) - np.mean(PRETRAINED)), 2) == 0.72
    assert round(100 * (np.mean(PRETRAINED) - np.mean(RANDOM)), 1) == 13.0


def test_welch_is_undefined_without_variance():
    assert statistics.welch_p([0.5], [0.6, 0.7]) is None
    assert statistics.welch_p([0.5, 0.5], [0.6, 0.6]) is None


# The intervals by another hand: statsmodels' analysis of variance, scipy's distributions, no function of ours


def variances(correct):
    """(seeds, items, residual) mean squares over S·N of an arm, by statsmodels' two-way analysis of variance."""
    frame = pandas.DataFrame(correct).melt(ignore_index=False, var_name="item", value_name="y").rename_axis("seed")
    table = anova_lm(ols("y ~ C(seed) + C(item)", data=frame.reset_index()).fit())
    return table["mean_sq"].to_numpy() / correct.size


@pytest.mark.parametrize("sizes", [(3, 3), (5, 5), (2, 5), (4, 3)])
@pytest.mark.parametrize("spread", [0.0, 0.05, 0.2])
def test_intervals_of_differences_agree_with_statsmodels(sizes, spread):
    generator, n = np.random.default_rng([*sizes, int(100 * spread)]), 40
    hard = generator.normal(size=n)
    arms = [
        (hard + generator.normal(size=(s, n)) < 0.8 + spread * generator.normal(size=(s, 1))).astype(float)
        for s in sizes
    ]
    terms = []
    for correct in arms:
        seeds, _, residual = variances(correct)
        df = len(correct) - 1
        terms += [(seeds, df), (-residual, df * (n - 1))]
    least = [(-value, df) for value, df in terms[1::2]]
    of_items = arms[0].mean(axis=0) - arms[1].mean(axis=0)
    terms.append((stats.sem(of_items) ** 2, n - 1))
    ends = []
    for sum_of in (terms, least):
        total = sum(value for value, _ in sum_of)
        ends.append((total, total**2 / sum(value**2 / df for value, df in sum_of)))
    variance, df = max(ends)
    fewest = min(sizes) - 1
    halves = [stats.t.interval(0.95, max(df, fewest), scale=math.sqrt(variance))[1]]
    means = CompareMeans(*(DescrStatsW(arm.mean(axis=1)) for arm in arms))
    welch = means.std_meandiff_separatevar, means.dof_satt() if len(set(sizes)) == 1 else fewest
    halves.append(stats.t.interval(0.95, welch[1], scale=welch[0])[1])
    gap = arms[0].mean() - arms[1].mean()
    assert statistics.difference_interval(*arms) == pytest.approx((gap - max(halves), gap + max(halves)))


@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_intervals_of_means_and_of_a_fixed_contrast_agree_with_statsmodels(spread):
    generator, n, s = np.random.default_rng(int(10 * spread)), 40, 4
    hard = generator.normal(size=n)
    correct = (hard + generator.normal(size=(s, n)) < 0.8 + spread * generator.normal(size=(s, 1))).astype(float)
    fixed = (hard + generator.normal(size=n) < 0.6).astype(float)
    seeds, items, residual = variances(correct)
    df_residual = (s - 1) * (n - 1)
    over_seeds = stats.t.interval(0.95, s - 1, scale=stats.sem(correct.mean(axis=1)))[1]
    of_texts = stats.sem(correct.mean(axis=0) - fixed) ** 2
    halves = []
    for part in (items, of_texts):
        terms = [(seeds, s - 1), (part, n - 1), (-residual, df_residual)]
        total = sum(value for value, _ in terms)
        end = (total, total**2 / sum(value**2 / df for value, df in terms))
        variance, df = max(end, (residual, df_residual))
        halves.append(max(over_seeds, stats.t.interval(0.95, max(df, s - 1), scale=math.sqrt(variance))[1]))
    mean = correct.mean()
    bounds = max(mean - halves[0], 0), min(mean + halves[0], 1)
    assert statistics.mean_interval(correct) == pytest.approx(bounds)
    found, gap = statistics.fixed_contrast(correct, fixed), mean - fixed.mean()
    assert (found["low"], found["high"]) == pytest.approx((gap - halves[1], gap + halves[1]))


def test_arms_that_differ_on_one_review():
    # Swapping that one review's results leaves a difference of the same size: both of the 2 swaps are as extreme.
    a, b = np.ones((2, 5)), np.ones((2, 5))
    b[1, 3] = 0
    assert permute_items(a, b) == 1
    assert statistics.mean_difference(a, b) == pytest.approx(0.1)  # 10 of 10 less 9 of 10
    rows = [{"seed": "1", "valid_accuracy": 0.5, "n_valid": 4, "constant": True}] * 2
    arms = {
        Arm(name, "fairseq", "checkpoint", "random"): [
            run | {"test_accuracy": float(row.mean()), "correct": row} for run, row in zip(rows, correct, strict=True)
        ]
        for name, correct in (("a", a), ("b", b))
    }
    assert computed(arms)[2][0]["items_p"] == 1


def test_equal_seeds_have_no_variance_whatever_floats_say():
    # numpy: np.var([0.1] * 3) is 1.9e-34, and Welch's p of it 0
    assert statistics.welch_p([0.1] * 3, [0.3] * 3) is None


def test_holm():
    # sorted 0.01·3, 0.02·2, 0.04·1: 0.03, 0.04, 0.04
    assert statistics.holm([0.04, 0.01, None, 0.02]) == [
        pytest.approx(0.04),
        pytest.approx(0.03),
        None,
        pytest.approx(0.04),
    ]
    assert statistics.holm([None]) == [None]


def test_probability_better():
    # 9 pairs of (79.9, 78.5, 80.1) against (80.05, 80.3, 80.3): only 80.1 > 80.05
    assert statistics.probability_better(PRETRAINED, HUGGINGFACE) == pytest.approx(1 / 9)
    assert statistics.probability_better(HUGGINGFACE, PRETRAINED) == pytest.approx(8 / 9)
    assert statistics.probability_better(PRETRAINED, RANDOM) == 1
    assert statistics.probability_better([0.5], [0.5]) == 0.5


# interval over seeds and items


def test_mean_squares_by_hand():
    # rows 1 1 0 / 1 0 0: seed means 2/3, 1/3; item means 1, 1/2, 0; grand 1/2
    # seeds 3·2·(1/6)² = 1/6; items 2·(1/4 + 0 + 1/4) = 1; total 6·1/4 = 3/2; residual 3/2 - 1/6 - 1 = 1/3, df 2
    seeds, items, residual = statistics.mean_squares([[1, 1, 0], [1, 0, 0]])
    assert (seeds, items, residual) == (pytest.approx(1 / 6), pytest.approx(1 / 2), pytest.approx(1 / 6))


def test_mean_squares_against_statsmodels_anova():
    correct = answers([0.8, 0.7, 0.75], n_items=40)
    table = [{"y": float(correct[s, i]), "s": str(s), "i": str(i)} for s in range(3) for i in range(40)]
    oracle = anova_lm(ols("y ~ C(s) + C(i)", data=pandas.DataFrame(table)).fit())
    assert statistics.mean_squares(correct) == pytest.approx(tuple(oracle["mean_sq"]))


def test_satterthwaite_of_two_means_is_welch():
    a, b = PRETRAINED, RANDOM
    terms = [(np.var(x, ddof=1) / len(x), len(x) - 1) for x in (a, b)]
    assert statistics.satterthwaite(terms)[1] == pytest.approx(stats.ttest_ind(a, b, equal_var=False).df)


def test_interval_needs_two_seeds_and_stays_in_bounds():
    assert statistics.mean_interval(answers([0.8])) is None
    assert statistics.difference_interval(answers([0.8]), answers([0.7, 0.7])) is None
    assert t_interval([0.8]) is None
    assert statistics.mean_interval(np.ones((3, 100))) == pytest.approx((0.025 ** (1 / 100), 1.0))
    low, high = statistics.mean_interval(answers([0.999, 0.9, 0.8]))
    assert 0 <= low < high <= 1


def test_identical_seeds_get_the_interval_of_the_items_alone():
    row = answers([0.8])[0]
    low, high = statistics.mean_interval(np.stack([row] * 3))
    assert (high - low) / 2 == pytest.approx(statistics.sampling_margin(0.8, 2000), rel=2e-3)


def collapsed(n_items, *classes):
    """Seeds that give every review the same answer, on as many reviews of either class."""
    labels = np.arange(n_items) % 2
    return np.stack([labels == answer for answer in classes])


def test_collapsed_seeds_have_an_interval():
    # One seed answers 0, the other 1: both get 1 of every 2 right, and so do both together on every review.
    # The mean squares of seeds and reviews are 0, the residual's is 2 · N / 4 / (N - 1): Var = 1 / (4 · (N - 1)).
    n = 1000
    low, high = statistics.mean_interval(collapsed(n, 0, 1))
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, n - 1) * math.sqrt(1 / (4 * (n - 1))))
    low, high = statistics.mean_interval(collapsed(n, 0, 0, 1))
    assert high - low > 0.03
    # Two such arms, Var twice that: half of it from each.
    low, high = statistics.difference_interval(collapsed(n, 0, 1), collapsed(n, 1, 0))
    assert high == -low == pytest.approx(stats.t.ppf(0.975, 2 * (n - 1)) * math.sqrt(1 / (2 * (n - 1))))


def test_arms_with_the_same_answers_have_an_interval():
    # The arms answer none of 1 000 reviews differently: Clopper and Pearson's upper end of 0 of n is 1 - 0.025^(1/n).
    bound = 1 - 0.025 ** (1 / 1000)
    same = collapsed(1000, 0, 0, 0)
    assert statistics.difference_interval(same, same) == pytest.approx((-bound, bound))
    right = np.ones((3, 1000))
    assert statistics.difference_interval(right, 0 * right) == pytest.approx((1 - bound, 1))
    # Seeds that are equal, in floats: 0.7 of them right.
    row = answers([0.7], n_items=1000)
    assert statistics.difference_interval(np.tile(row, (3, 1)), np.tile(row, (5, 1))) == pytest.approx((-bound, bound))


def test_no_interval_of_a_mixed_arm_is_a_point():
    generator = np.random.default_rng(5)
    for _ in range(200):
        shape = generator.integers(2, 6), generator.integers(2, 12)
        first, second = (generator.random(shape) < generator.choice([0.1, 0.5, 0.9]) for _ in range(2))
        low, high = statistics.difference_interval(first, second)
        assert low < statistics.mean_difference(first, second) < high or max(abs(low), abs(high)) == 1
        low, high = statistics.mean_interval(first)
        assert low < high


def bootstrap_by_loops(correct, resamples, seed):
    """The nested bootstrap again, by another hand: lists, loops and the standard library's generator."""
    generator, values = random.Random(seed), []
    n_seeds, n_items = len(correct), len(correct[0])
    for _ in range(resamples):
        seeds = [generator.randrange(n_seeds) for _ in range(n_seeds)]
        items = [generator.randrange(n_items) for _ in range(n_items)]
        right = 0
        for s in seeds:
            for i in items:
                right += correct[s][i]
        values.append(right / (n_seeds * n_items))
    return values


def test_bootstrap_against_plain_loops():
    correct = answers([0.75, 0.85, 0.70], n_items=60)
    oracle = np.array(bootstrap_by_loops(correct.astype(int).tolist(), 3000, 1))
    generator = np.random.default_rng(2)
    values = statistics.nested_bootstrap(correct, statistics.item_draws(60, 20000, generator), generator)
    assert values.mean() == pytest.approx(oracle.mean(), abs=0.005)  # standard error of either: 0.07 / √3000 = 0.0013
    assert values.std() == pytest.approx(oracle.std(), rel=0.06)  # 1 / √(2 · 3000) = 1.3 % each
    assert statistics.percentile_interval(values) == pytest.approx(statistics.percentile_interval(oracle), abs=0.015)


def test_reviews_drawn_against_a_loop():
    # Row by row the same numbers as all at once, of which a sample's copies of a review are counted.
    drawn = np.random.default_rng(3).integers(0, 7, size=(40, 7)).tolist()
    counts = statistics.item_draws(7, 40, np.random.default_rng(3))
    assert counts.tolist() == [[row.count(item) for item in range(7)] for row in drawn]


def test_bootstrap_against_every_possible_draw():
    # 2 seeds, 3 items: 2² · 3³ = 108 equally likely draws, enumerated
    correct = np.array([[1, 1, 0], [1, 0, 0]])
    every = [
        correct[list(seeds)][:, list(items)].mean()
        for seeds in itertools.product(range(2), repeat=2)
        for items in itertools.product(range(3), repeat=3)
    ]
    generator = np.random.default_rng(0)
    values = statistics.nested_bootstrap(correct, statistics.item_draws(3, 50000, generator), generator)
    for level in np.unique(np.round(every, 6)):
        share = np.mean(np.isclose(every, level, atol=1e-5))
        assert np.mean(np.isclose(values, level, atol=1e-5)) == pytest.approx(share, abs=0.012)


def simulate(generator, n_seeds, n_items, seed_spread, item_spread, mean):
    """Draw answers: right when μ + a_seed + b_item + e > 0, all normal, Var e = 1, so that P(right) = mean exactly."""
    scale = math.sqrt(1 + seed_spread**2 + item_spread**2)
    latent = generator.standard_normal((n_seeds, n_items), dtype=np.float32)
    latent += item_spread * generator.standard_normal((1, n_items), dtype=np.float32)
    latent += seed_spread * generator.standard_normal((n_seeds, 1), dtype=np.float32)
    return latent > -stats.norm.ppf(mean) * scale


@pytest.mark.parametrize(
    ("n_seeds", "seed_spread", "item_spread"),
    # of the latent scale: no seed effect; one like the published (about 1 point); seeds that rule; easy items
    [(3, 0.0, 2.0), (3, 0.07, 2.0), (3, 0.2, 2.0), (5, 0.07, 2.0), (3, 0.05, 0.5)],
)
def test_coverage_of_the_interval_by_simulation(n_seeds, seed_spread, item_spread):
    generator, n, mean = np.random.default_rng(7), 1500, 0.8
    hits = 0
    for _ in range(n):
        low, high = statistics.mean_interval(simulate(generator, n_seeds, 1000, seed_spread, item_spread, mean))
        hits += low <= mean <= high
    assert 0.93 <= hits / n <= 0.97, hits / n


def on_shared_items(generator, means):
    """Draw an arm of three seeds for each mean, all on the same 1,000 items."""
    scale = math.sqrt(1 + 0.07**2 + 2**2)
    items = 2 * generator.standard_normal((1, 1000), dtype=np.float32)
    return [
        generator.standard_normal((3, 1000), dtype=np.float32) + 0.07 * generator.standard_normal((3, 1)) + items
        > -stats.norm.ppf(mean) * scale
        for mean in means
    ]


def test_coverage_of_the_difference_by_simulation():
    # Two arms on the same items with a true difference of 5 points: the items' difficulties are shared.
    generator, n, hits = np.random.default_rng(8), 1500, 0
    for _ in range(n):
        arms = on_shared_items(generator, (0.80, 0.75))
        low, high = statistics.difference_interval(*arms)
        hits += low <= 0.05 <= high
    # Difficulties that both arms share cancel out: the variance is often its least, and a little too large.
    assert 0.93 <= hits / n <= 0.975, hits / n


def test_what_two_differences_differ_by():
    generator = np.random.default_rng(31)
    arms = [simulate(generator, 3, 2000, 0.1, 2.0, mean) for mean in (0.82, 0.70, 0.81, 0.80)]
    first, second = arms[:2], arms[2:]
    low, high = statistics.interaction_interval(first, second)
    means = [rows.mean() for rows in arms]
    assert (low + high) / 2 == pytest.approx(means[0] - means[1] - means[2] + means[3])
    assert statistics.interaction_interval(second, first) == pytest.approx((-high, -low))
    # The interval is no narrower than either part alone would leave it: both vary.
    for part in (first, second):
        own = statistics.difference_interval(*part)
        assert high - low > own[1] - own[0] - 1e-9 or high - low > 0.8 * (own[1] - own[0])
    assert statistics.interaction_interval((arms[0][:1], arms[1]), second) is None
    # A difference from none, of arms with the same answers, is that difference; its interval is at least as wide.
    none = (arms[2], arms[2])
    assert sum(statistics.interaction_interval(first, none)) == pytest.approx(
        sum(statistics.difference_interval(*first))
    )


def test_what_two_differences_share_on_the_same_reviews_cancels_out():
    """With both recipes the starts differ on the same tenth of the reviews: their differences hardly differ."""
    generator, n = np.random.default_rng(33), 2000
    hard = generator.random(n) < 0.1
    pairs = [[generator.random((20, n)) < np.where(hard, chance, 0.8) for chance in (0.95, 0.05)] for _ in range(2)]
    low, high = statistics.interaction_interval(*pairs)
    own = statistics.difference_interval(*pairs[0])
    assert low <= 0 <= high and high - low < 0.7 * (own[1] - own[0])


def test_coverage_of_what_two_differences_differ_by_by_simulation():
    """Two starts and two recipes, 12 points and 2: the items' difficulties are shared by all four arms."""
    generator, n, hits, false = np.random.default_rng(32), 1000, 0, 0
    for _ in range(n):
        arms = on_shared_items(generator, (0.80, 0.68, 0.82, 0.80, 0.80, 0.68))
        low, high = statistics.interaction_interval(arms[:2], arms[2:4])
        hits += low <= 0.10 <= high
        low, high = statistics.interaction_interval(arms[:2], arms[4:])
        false += not low <= 0 <= high
    assert 0.93 <= hits / n <= 0.985, hits / n
    assert false / n <= 0.06, false / n


def test_coverage_of_collapsed_and_of_unrelated_seeds_by_simulation():
    """Both have no variance of reviews that the seeds share; the intervals are then too wide rather than too narrow."""
    generator, n, hits = np.random.default_rng(11), 500, {"collapsed": 0, "unrelated": 0, "difference": 0}
    for _ in range(n):
        labels = generator.random(400) < 0.5
        arms = [np.stack([labels == (generator.random() < 0.5) for _ in range(3)]) for _ in range(2)]
        unrelated = generator.random((3, 400)) < 0.5
        for name, (low, high) in {
            "collapsed": statistics.mean_interval(arms[0]),
            "unrelated": statistics.mean_interval(unrelated),
        }.items():
            hits[name] += low <= 0.5 <= high
        low, high = statistics.difference_interval(*arms)
        hits["difference"] += low <= 0 <= high
    assert all(0.95 <= hit / n for hit in hits.values()), hits


def test_the_bootstrap_with_three_seeds_is_too_narrow():
    """Why it is not the headline interval: with seeds that rule, its coverage is far below 95 %."""
    generator, hits = np.random.default_rng(9), 0
    for _ in range(300):
        correct = simulate(generator, 3, 500, 0.3, 2.0, 0.8)
        draws = statistics.item_draws(500, 300, generator)
        low, high = statistics.percentile_interval(statistics.nested_bootstrap(correct, draws, generator))
        hits += low <= 0.8 <= high
    assert hits / 300 < 0.9


# did it learn


def test_constant_predictor_did_not_learn():
    # a constant predictor on a balanced split: 100 of 200: P(X >= 100) = 0.528
    rows = judge_learning(study(x=arm([0.5, 0.8], valid=[0.5, 0.62])), 0.5, 0.05)
    assert list(rows["learned"]) == [False, True]
    assert rows["p_value"][0] == pytest.approx(stats.binom.sf(99, 200, 0.5))


def test_learning_is_measured_against_the_majority():
    # 65 % correct is nothing where 65 % are positive; the bound for n = 200, share 0.5 is 112: P(X >= 113) = 0.038
    assert not judge_learning(study(x=arm([0.65], valid=[0.65])), 0.65, 0.05)["learned"][0]
    assert not judge_learning(study(x=arm([0.56], valid=[0.56])), 0.5, 0.05)["learned"][0]
    assert judge_learning(study(x=arm([0.56], valid=[0.565])), 0.5, 0.05)["learned"][0]


def test_which_runs_of_numbers_learnt_is_not_said():
    learned, arms, *_ = compute(study(a=arm([0.8, 0.7, 0.5]), b=arm(RANDOM, 1)), None, OPTIONS)
    assert learned is None and arms["n_learned"].tolist() == [None, None]
    assert not any("learn" in note for note in arms["note"])


def test_unlearned_runs_are_counted_not_dropped():
    _, arms, *_ = computed(study(a=arm([0.8, 0.8, 0.5], valid=[0.8, 0.8, 0.5]), b=arm(RANDOM, 1)))
    assert (arms[0]["n_learned"], arms[0]["n_seeds"]) == (2, 3)
    assert arms[0]["mean"] == pytest.approx(0.7)


# pairs


def published():
    return study(pretrained=arm(PRETRAINED), random=arm(RANDOM, 1), huggingface=arm(HUGGINGFACE, 2))


def test_pairs_of_the_published_runs():
    _, arms, pairs, mcnemar = computed(published())
    by_names = {(row["arm_a"], row["arm_b"]): row for row in pairs}
    same, apart = by_names["pretrained", "huggingface"], by_names["pretrained", "random"]
    assert f"{same['welch_p']:.2g}" == "0.29" and f"{100 * same['difference']:.2f}" == "-0.72"
    # 3 against 3 seeds: no permutation has a p below 2 / C(6, 3) = 0.1.
    assert apart["seeds_p"] == pytest.approx(0.1) and apart["seeds_p_floor"] == 0.1
    assert apart["seeds_p_holm"] == pytest.approx(0.3) and f"{apart['welch_p']:.2g}" == "8.5e-05"
    assert len(mcnemar) == 9
    assert arms[0]["low"] < 0.795 < arms[0]["high"]


def test_one_seed_gives_no_interval_and_says_so():
    _, arms, pairs, _ = computed(study(a=arm([0.8]), b=arm([0.6], 1)))
    assert [arms[0][key] for key in ("low", "high", "t_low", "bootstrap_low", "sd_ddof1", "sd_ddof0")] == [None] * 6
    assert "one seed" in arms[0]["note"]
    assert pairs[0]["welch_p"] is None and pairs[0]["low"] is None


def test_holm_counts_the_pairs_that_are_tested():
    # The pair of a and b, one of three, has no Welch test, so Holm's correction is over two.
    arms = study(a=arm([0.8, 0.8, 0.8]), b=arm([0.6, 0.6, 0.6], 1), c=arm([0.62, 0.70, 0.66], 2))
    _, _, pairs, _ = computed(arms)
    assert pairs[0]["welch_p"] is None
    assert max(row["welch_p_holm"] for row in pairs[1:]) <= 2 * max(row["welch_p"] for row in pairs[1:])


def test_no_small_or_degenerate_study_contradicts_itself():
    # `python -m support.simulation 3000` takes more and larger ones; `make fuzz` others.
    assert simulation.simulate(25, largest=300) == []


# files


def write_study(folder, accuracies, n_items=400, source="embedded"):
    runs, predictions = [], {}
    labels = [str(i % 2) for i in range(n_items)]
    for init, values in accuracies.items():
        for seed, row in enumerate(answers(values, n_items), 1):
            path = folder / f"{init}{seed}.tsv"
            rows = []
            for i, (label, right) in enumerate(zip(labels, row, strict=True)):
                prediction = label if right else str(1 - int(label))
                rows.append({"id": i, "label": label, "prediction": prediction, "probability": 0.5})
            write_tsv(path, rows, ["id", "label", "prediction", "probability"])
            run = facts("fairseq", init) | {"seed": seed, "valid_accuracy": 0.8, "n_valid": 200}
            runs.append(run | {"test_accuracy": float(row.mean(dtype=float))})
            predictions[f"fairseq-{init}", str(seed)] = str(path)
    write_tsv(folder / "runs.tsv", runs, list(runs[0]))
    write_json(folder / "manifest.json", {"source": source, "splits": {"valid": {"n": 200, "n_positive": 90}}})
    return predictions


def run_main(folder, predictions):
    outputs = [str(folder / name) for name in ("arms.tsv", "pairs.tsv", "mcnemar.tsv", "method.json", "learned.tsv")]
    keys, paths = list(predictions), list(predictions.values())
    main(str(folder / "runs.tsv"), paths, keys, str(folder / "manifest.json"), *outputs, OPTIONS)
    return outputs


def test_main_writes_the_same_bytes_twice(tmp_path):
    predictions = write_study(tmp_path, {"pretrained": [0.8, 0.81], "random": [0.6, 0.65]})
    first = [pathlib.Path(path).read_bytes() for path in run_main(tmp_path, predictions)]
    second = [pathlib.Path(path).read_bytes() for path in run_main(tmp_path, predictions)]
    assert first == second
    learned = read_tsv(tmp_path / "learned.tsv")
    assert float(learned[0]["majority_share"]) == pytest.approx(110 / 200) and learned[0]["learned"] == "true"
    assert json.loads(first[3])["alpha"] == 0.05
    assert len(read_tsv(tmp_path / "arms.tsv")) == 2 and len(read_tsv(tmp_path / "pairs.tsv")) == 1


@pytest.mark.parametrize(("source", "texts"), [("embedded", "reviews"), ("table", "texts")])
def test_the_methods_call_the_texts_what_they_are(tmp_path, source, texts):
    run_main(tmp_path, write_study(tmp_path, {"pretrained": [0.8, 0.81], "random": [0.6, 0.65]}, source=source))
    method = (tmp_path / "method.json").read_text(encoding="utf-8")
    assert ("review" in method) == (source == "embedded") and f"test {texts} drawn with replacement" in method


def test_faulty_tables_are_named(tmp_path):
    predictions = write_study(tmp_path, {"pretrained": [0.8, 0.81]})
    runs = read_frame(tmp_path / "runs.tsv")
    with pytest.raises(StudyError, match="has no predictions"):
        load_runs(runs, {})
    with pytest.raises(StudyError, match="build runs.tsv again"):
        load_runs(runs.assign(test_accuracy="0.9"), predictions)
    path = predictions[("fairseq-pretrained", "2")]
    rows = read_tsv(path)
    write_tsv(path, rows[:-1], list(rows[0]))
    with pytest.raises(StudyError, match="not of the same test reviews"):
        load_runs(runs, predictions)
    with pytest.raises(StudyError, match="no run"):
        load_runs(runs[:0], {})


def test_three_arms_of_three_seeds_take_seconds():
    started = time.process_time()
    compute(published(), 0.5, OPTIONS | {"resamples": 9999, "bootstrap": 4000})
    assert time.process_time() - started < 5
