"""Permutation tests of two arms, over seeds and over test reviews; the permutations are drawn once for all pairs.

Every pair of arms can use the same permutations. `scipy.stats.permutation_test`, whose p these functions return to the
last digit (tests/unit/analysis/test_permutations.py), draws anew for each pair, which takes longer than all other
statistics together.
"""

import functools
import itertools
import math

import numpy as np

# This is enough to enumerate every pair of up to 9 against 9 seeds; beyond, the test draws at random.
SEED_PERMUTATIONS = 50_000
# Decimals kept when means over seeds are compared: finer than true differences, coarser than rounding errors of sums.
DIGITS = 12
# The studentized difference divides by spreads of a hundredth of a point, which costs it digits.
STUDENTIZED_DIGITS = 8
# This many permutations over reviews are in memory at once; a multiple of 8, because their bits are kept in bytes.
BLOCK = 1000


def permute_seeds(first, second, seed=0):
    """Return the two-sided permutation p of the difference of means over seeds, exact up to `SEED_PERMUTATIONS`.

    It needs no test items. Where runs are exchangeable it is exact. Arms of unequal size whose spreads differ are not
    exchangeable even if their means are equal: the plain difference then errs in up to a quarter of studies. Arms of
    unequal size are therefore permuted by the studentized difference, the size of Welch's t, which errs less (5 seeds
    that vary ten times as much as the 10 of the other arm: 9 instead of 19 %), so no claim rests on it alone.

    Source: Janssen 1997, Statistics & Probability Letters 36(1); Chung and Romano 2013, Annals of Statistics 41(2).
    """
    n, equal = len(first), len(first) == len(second)
    statistic = _difference_of_means if equal else _studentized
    values = np.array([*first, *second], dtype=float)
    orders, drawn = orders_of_seeds(n, len(second), SEED_PERMUTATIONS, seed)
    permuted = values[orders]
    null = statistic(permuted[:, :n], permuted[:, n:], axis=1)
    return _p(null, statistic(values[:n], values[n:], axis=0), drawn, one_sided=not equal)


def flip_seeds(first, second, seed=0):
    """Return the two-sided p of the mean difference of pairs by random signs, exact up to `SEED_PERMUTATIONS`.

    Args:
        first, second: scores of two arms, in the same order of seeds, whose runs of one seed share their draws.
        seed: seed of the signs that are drawn.
    """
    # As whole numbers, sums as extreme as the data count as such.
    one, other = (np.round(np.array(scores)[None] * 10.0**DIGITS) for scores in (first, second))
    return permute_items(one, other, SEED_PERMUTATIONS, seed)


@functools.lru_cache(maxsize=8)
def orders_of_seeds(n_first, n_second, most, seed):
    """Return the permutations of two arms' runs: every division into two arms, or random ones where `most` are fewer.

    Returns:
        (ndarray, bool): (R, n_first + n_second) numbers of runs, those of the first arm first; True where they are
        random.
    """
    n_runs = n_first + n_second
    if math.comb(n_runs, n_first) > most:
        generator = np.random.default_rng(seed)
        return np.array([generator.permutation(n_runs) for _ in range(most)]), True
    runs = set(range(n_runs))
    chosen = itertools.combinations(range(n_runs), n_first)
    return np.array([[*ours, *sorted(runs.difference(ours))] for ours in chosen]), False


def _difference_of_means(first, second, axis):
    """Return mean(first) - mean(second), rounded: a permutation as extreme as the data counts as such."""
    return np.round(first.mean(axis=axis) - second.mean(axis=axis), DIGITS)


def _studentized(first, second, axis):
    """Return t² / (1 + t²) of Welch's t, rounded as above: 0 to 1, also where nothing varies."""
    gap = _difference_of_means(first, second, axis)
    one, other = (values.var(axis=axis, ddof=1) / values.shape[axis] for values in (first, second))
    # Accuracies whose difference is smaller count as equal: sums of floats have such errors.
    total = gap**2 + np.where(one + other > 10.0 ** (-2 * DIGITS), one + other, 0.0)
    return np.round(np.divide(gap**2, total, out=np.zeros_like(total), where=total > 0), STUDENTIZED_DIGITS)


def seed_floor(n_first, n_second):
    """Return the smallest p that `permute_seeds` can reach: 2 / C(n1 + n2, n1), at most 1; 1 / C with unequal sizes.

    With as many seeds a side the arms' exchange is as extreme as the data; with unequal sizes it is no permutation.
    Among permutations drawn at random the data themselves are one of `SEED_PERMUTATIONS` + 1.
    """
    sides = 2 if n_first == n_second else 1
    return min(1.0, max(sides / math.comb(n_first + n_second, n_first), sides / (SEED_PERMUTATIONS + 1)))


def flip_floor(n):
    """Return the smallest p that `flip_seeds` can reach with n pairs: 2 / 2^n; of random signs as in `seed_floor`."""
    return min(1.0, max(2.0 ** (1 - n), 2 / (SEED_PERMUTATIONS + 1)))


def permute_items(first, second, resamples=9999, seed=0):
    """Return the two-sided paired permutation p over test reviews of two arms' mean correctness.

    It judges these trained models on reviews like these; it does not judge other seeds.

    Args:
        first, second: (S1, N), (S2, N) arrays of 0 and 1.
        resamples: random swaps of the two arms' results per review (exact when 2^n is not more).

    Returns:
        float: 1 where the arms differ on one review at most, since a swap leaves the size of that difference.
    """
    # Means times S1 · S2 are whole numbers, so that swaps as extreme as the data count as such.
    sums = [np.sum(correct, axis=0, dtype=float) for correct in (first, second)]
    gaps = sums[0] * len(second) - sums[1] * len(first)
    # A review on which the arms agree adds 0 whichever way it is swapped.
    n_items, gaps = len(gaps), gaps[gaps != 0]
    n = len(gaps)
    if n < 2:
        return 1.0
    if np.abs(gaps).sum() < 2**24:
        # Single precision represents every sum exactly.
        gaps = gaps.astype(np.float32)
    drawn = 2**n > resamples
    swaps = drawn_swaps(n, n_items, resamples, seed) if drawn else [np.arange(2**n)[:, None] >> np.arange(n) & 1]
    # The sum with some gaps swapped is twice that of the kept gaps minus that of all: both have the same order.
    null = np.concatenate([kept.astype(gaps.dtype) @ gaps for kept in swaps])
    return _p(null, gaps.sum(), drawn)


def drawn_swaps(n, n_items, resamples, seed):
    """Yield random permutations of n of n_items reviews in blocks (rows, n), `resamples` rows: 0 swaps, 1 keeps."""
    packed = _bits(BLOCK * n_items, -(-resamples // BLOCK), seed)
    for start in range(0, resamples, BLOCK):
        rows = min(BLOCK, resamples - start)
        yield np.unpackbits(packed[start * n // 8 :], count=rows * n).reshape(rows, n)


@functools.lru_cache(maxsize=1)
def _bits(size, blocks, seed):
    """Return size · blocks random bits, eight a byte; size is a multiple of 8."""
    generator = np.random.default_rng(seed)
    draws = (generator.integers(2**32, size=size, dtype=np.uint32) for _ in range(blocks))
    return np.concatenate([np.packbits((draw & 1).astype(np.uint8)) for draw in draws])


def _p(null, observed, drawn, one_sided=False):
    """Return the p of a statistic: twice the smaller of its shares on either side, or the share that is as great.

    Args:
        null: (R,) its values under the permutations.
        observed: its value.
        drawn: True where the permutations are drawn at random: the data are then one more.
        one_sided: True for the share that is as great.
    """
    # Values this close are equal but for rounding, as in scipy.
    near = 100 * np.finfo(float).eps * abs(observed)
    counts = [np.count_nonzero(null >= observed - near)]
    if not one_sided:
        counts.append(np.count_nonzero(null <= observed + near))
    return float(min(1.0, len(counts) * ((min(counts) + drawn) / (len(null) + drawn))))
