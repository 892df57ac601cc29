"""Permutation tests: against scipy to the last digit, plain loops, exact enumeration and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from analysis import permutations
from analysis.compute_statistics import compute
from analysis.inference import mcnemar_p
from support.arms import OPTIONS, answers, arm, study

PRETRAINED = [0.799, 0.785, 0.801]
RANDOM = [0.654, 0.667, 0.674]


# against scipy, which draws anew for each pair


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (5, 5), (10, 10), (8, 12)])
def test_over_seeds_it_is_what_scipy_gives(sizes):
    generator = np.random.default_rng(sum(sizes))
    equal = sizes[0] == sizes[1]
    for seed in range(2):
        # Accuracies on 40 reviews, so that some are equal; and values of a measure that has no bounds.
        for first, second in (
            [generator.integers(25, 35, size) / 40 for size in sizes],
            [generator.normal(place, 0.1, size) for place, size in zip((0.5, 0.6), sizes, strict=True)],
        ):
            told = stats.permutation_test(
                (first, second),
                permutations._difference_of_means if equal else permutations._studentized,
                vectorized=True,
                n_resamples=permutations.SEED_PERMUTATIONS,
                alternative="two-sided" if equal else "greater",
                rng=np.random.default_rng(seed),
            )
            assert permutations.permute_seeds(first.tolist(), second.tolist(), seed) == told.pvalue


@pytest.mark.parametrize(("n_items", "resamples"), [(8, 9999), (40, 199), (40, 2999), (331, 1000)])
def test_over_reviews_it_is_what_scipy_gives(n_items, resamples):
    generator = np.random.default_rng(n_items)
    for sizes in ((3, 3), (2, 5), (1, 1)):
        first, second = (
            generator.random((size, n_items)) < share for size, share in zip(sizes, (0.8, 0.7), strict=True)
        )
        sums = first.sum(axis=0) * sizes[1], second.sum(axis=0) * sizes[0]
        differs = sums[0] != sums[1]
        told = stats.permutation_test(
            [one[differs] for one in sums],
            lambda a, b, axis: (a - b).sum(axis=axis),
            vectorized=True,
            n_resamples=resamples,
            batch=1000,
            permutation_type="samples",
            rng=np.random.default_rng(7),
        )
        assert permutations.permute_items(first, second, resamples, 7) == told.pvalue


# against plain loops


def test_random_orders_of_seeds_against_a_loop():
    first, second = [0.8 + i / 1000 for i in range(10)], [0.7945 + i / 1000 for i in range(10)]
    generator, pool, differences = np.random.default_rng(3), first + second, []
    for _ in range(permutations.SEED_PERMUTATIONS):
        order = generator.permutation(20)
        differences.append(round(sum(pool[i] for i in order[:10]) / 10 - sum(pool[i] for i in order[10:]) / 10, 12))
    observed = round(sum(first) / 10 - sum(second) / 10, 12)
    beyond = min(sum(one >= observed for one in differences), sum(one <= observed for one in differences))
    p = 2 * (beyond + 1) / (len(differences) + 1)
    assert permutations.permute_seeds(first, second, 3) == p < 0.01


def test_random_swaps_of_reviews_against_a_loop():
    # Both arms of one run: a review on which they differ is worth 1 or -1, and 2 000 draws are more than two blocks.
    generator = np.random.default_rng(0)
    first, second = (generator.random((1, 60)) < share for share in (0.8, 0.7))
    gaps = [int(a) - int(b) for a, b in zip(first[0], second[0], strict=True) if a != b]
    swaps = [row for block in permutations.drawn_swaps(len(gaps), 60, 2500, 1) for row in block]
    assert len(swaps) == 2500
    sums = [sum(gap if kept else -gap for gap, kept in zip(gaps, row, strict=True)) for row in swaps]
    beyond = min(sum(one >= sum(gaps) for one in sums), sum(one <= sum(gaps) for one in sums))
    assert permutations.permute_items(first, second, 2500, 1) == min(1, 2 * (beyond + 1) / 2501)


def test_no_pair_changes_what_another_gets():
    first, second, third = (answers([share] * 3, n_items=150, seed=seed) for seed, share in enumerate((0.8, 0.7, 0.6)))
    alone = permutations.permute_items(first, second, 999)
    permutations._bits.cache_clear()
    permutations.permute_items(first, third, 999)
    assert permutations.permute_items(first, second, 999) == alone
    # Bits of fewer reviews, of which the pair takes the same ones.
    differs = first.sum(axis=0) != second.sum(axis=0)
    assert permutations.permute_items(first[:, differs], second[:, differs], 999) == alone


def test_sums_that_single_precision_cannot_hold():
    # Gaps 2^24, 1, 1, 1: only the data and their mirror image of 2^4 swaps are as extreme. In float32 2^24 + 1 is 2^24.
    assert permutations.permute_items([[2**24, 1, 1, 1]], np.zeros((1, 4))) == 2 / 16


def test_a_study_draws_its_permutations_once():
    for cached in (permutations.orders_of_seeds, permutations._bits):
        cached.cache_clear()
    compute(
        study(**{name: arm([0.8, 0.79, 0.78], seed, n_items=200) for seed, name in enumerate("abcde")}), 0.5, OPTIONS
    )
    for cached in (permutations.orders_of_seeds, permutations._bits):
        # Ten pairs of arms.
        assert cached.cache_info()[:2] == (9, 1)


# over seeds


def test_seed_floor():
    # 2 / C(6, 3) = 2 / 20; 2 / C(10, 5) = 2 / 252; one against one: 2 / 2
    assert permutations.seed_floor(3, 3) == 0.1
    assert permutations.seed_floor(5, 5) == pytest.approx(2 / 252)
    assert permutations.seed_floor(1, 1) == 1


def test_the_floor_of_permutations_drawn_at_random():
    # C(20, 10) = 184 756 are not enumerated; of 50 000 draws none need be as extreme as the data: 2 · 1 / 50 001
    first, second = [0.8 + i / 1000 for i in range(10)], [0.6 + i / 1000 for i in range(10)]
    assert permutations.seed_floor(10, 10) == 2 / 50_001
    drawn = [permutations.permute_seeds(first, second, seed) for seed in range(3)]
    assert min(drawn) == pytest.approx(permutations.seed_floor(10, 10))


def test_seed_permutation_is_exact():
    # 3 against 3, no overlap: only the data and their mirror image are as extreme: 2 / 20
    assert permutations.permute_seeds(PRETRAINED, RANDOM) == pytest.approx(0.1)
    # As many seeds a side, overlapping: every split of the pool.
    a, b = [0.7, 0.8, 0.85, 0.79], [0.72, 0.75, 0.81, 0.9]
    differences = [np.mean(one) - np.mean(other) for one, other in splits(a, b)]
    assert permutations.permute_seeds(a, b) == pytest.approx(two_sided(differences, np.mean(a) - np.mean(b)))


def splits(first, second):
    """Every way to give the runs of both arms to arms of the same sizes."""
    pool, places = first + second, range(len(first) + len(second))
    for chosen in itertools.combinations(places, len(first)):
        yield [pool[i] for i in chosen], [pool[i] for i in places if i not in chosen]


def two_sided(values, observed):
    """Twice the smaller share of permutations at least as far to one side as the data."""
    values = np.array(values)
    return min(1, 2 * min(np.mean(values <= observed + 1e-9), np.mean(values >= observed - 1e-9)))


def test_arms_of_unequal_size_are_permuted_by_welchs_t():
    generator = np.random.default_rng(4)
    unlike = 0
    for sizes in ((2, 5), (3, 4), (5, 3)):
        for _ in range(5):
            a, b = (generator.normal(0.8, sd, n).round(4).tolist() for n, sd in zip(sizes, (0.02, 0.005), strict=True))
            observed = abs(stats.ttest_ind(a, b, equal_var=False).statistic)
            values = np.array([abs(stats.ttest_ind(*both, equal_var=False).statistic) for both in splits(a, b)])
            p = permutations.permute_seeds(a, b)
            assert p == pytest.approx(np.mean(values >= observed * (1 - 1e-9)))
            assert p >= permutations.seed_floor(*sizes) == 1 / math.comb(sum(sizes), sizes[0])
            plain = [np.mean(one) - np.mean(other) for one, other in splits(a, b)]
            unlike += two_sided(plain, np.mean(a) - np.mean(b)) != pytest.approx(p)
    assert unlike > 3


def test_the_studentized_permutation_is_defined_where_nothing_varies():
    # Only the data, of C(5, 2) = 10 splits, put both 0.7 on one side: there nothing varies, and t has no bound.
    assert permutations.permute_seeds([0.7, 0.7], [0.6, 0.6, 0.6]) == pytest.approx(0.1)
    assert permutations.permute_seeds([0.7, 0.7], [0.7, 0.7, 0.7]) == 1


def test_unequal_sizes_and_spreads_err_less():
    # Arms of equal mean, 4 seeds that vary by 2 points and 8 by 0.2: the plain permutation errs in 21 %, this in 13 %.
    generator, wrong, plainly = np.random.default_rng(9), 0, 0
    for _ in range(300):
        a, b = generator.normal(0.8, 0.02, 4), generator.normal(0.8, 0.002, 8)
        wrong += permutations.permute_seeds(a, b) <= 0.05
        values = permutations._difference_of_means(*permuted(np.concatenate([a, b]), 4), axis=0)
        plainly += two_sided(values, a.mean() - b.mean()) <= 0.05
    assert plainly / 300 > 0.15
    assert wrong < 0.8 * plainly


def permuted(pool, first):
    """Columns of every split of a pool, (first, splits) and the rest."""
    chosen = np.array(list(itertools.combinations(range(len(pool)), first)))
    kept = np.ones((len(chosen), len(pool)), dtype=bool)
    np.put_along_axis(kept, chosen, False, axis=1)
    every = np.broadcast_to(pool, kept.shape)
    return pool[chosen].T, every[kept].reshape(len(chosen), -1).T


def test_seed_permutation_counts_ties_that_floats_tell_apart():
    # 1 000 reviews. The first four have 14 more than the others; of the C(8, 4) = 70 splits two give 14 and two -14
    # (either 722 may be on either side), so p = 4 / 70.
    first, second = ([n / 1000 for n in counts] for counts in ([724, 724, 722, 724], [719, 719, 722, 720]))
    assert permutations.permute_seeds(first, second) == pytest.approx(4 / 70)


# over reviews


def test_item_permutation_against_every_swap():
    # Thirds, whose sums are not the same in floats whatever their order.
    generator = np.random.default_rng(1)
    for _ in range(40):
        first, second = ((generator.random((3, 10)) < share).astype(np.float32) for share in (0.6, 0.5))
        gaps = [int(gap) for gap in first.sum(axis=0) - second.sum(axis=0) if gap]
        sums = [sum(map(int.__mul__, gaps, signs)) for signs in itertools.product((1, -1), repeat=len(gaps))]
        beyond = sum(value >= abs(sum(gaps)) for value in sums)
        assert permutations.permute_items(first, second) == pytest.approx(min(1, 2 * beyond / len(sums)))


def test_item_permutation_against_the_sign_test():
    # one run a side: 8 reviews only A has right, 2 only B: exact p = P(|X - 5| >= 3), X ~ Bin(10, 1/2) = 112 / 1024
    a = np.array([[1] * 8 + [0] * 2 + [1] * 50])
    b = np.array([[0] * 8 + [1] * 2 + [1] * 50])
    assert permutations.permute_items(a, b) == pytest.approx(112 / 1024)
    assert mcnemar_p(a[0], b[0]) == (8, 2, pytest.approx(112 / 1024))
    assert permutations.permute_items(a, a) == 1
    assert mcnemar_p(a[0], a[0]) == (0, 0, 1)


def test_item_permutation_at_random_against_normal_theory():
    first, second = answers([0.80, 0.81, 0.80]), answers([0.79, 0.78, 0.79], seed=1)
    d = first.mean(axis=0) - second.mean(axis=0)
    z = d.sum() / math.sqrt((d**2).sum())  # under sign flips the sum has variance Σ d²
    p = permutations.permute_items(first, second, resamples=9999, seed=3)
    assert p == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.02)
