"""Inference from a few seeds on a few thousand reviews: intervals, tests, power.

Pure functions. A *run* is one seed of one arm; `correct` is a (seeds, items) array of 0 and 1: the runs of an
arm, all scored on the same test reviews. Accuracies are fractions. scipy and statsmodels do the tests. Written here are
the bootstrap over seeds and items at once (`scipy.stats.bootstrap` resamples one axis only), the interval whose
coverage holds with three seeds, and the best of k seeds, which neither package has. Permutation tests:
`analysis.permutations`.
"""

import math
from fractions import Fraction

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from analysis import permutations
from analysis.contrasts import (
    Term,
    decidable,
    interval,
    mean_squares,
    p_beyond,
    paired,
    satterthwaite,
    spread,
)
from analysis.intervals import LEVEL, t_interval

INTERVAL_METHOD = (
    "the wider of (a) a t interval with the variance of seeds and of test reviews together "
    "(two-way random effects, Satterthwaite degrees of freedom) and (b) Student's t over seeds "
    "(Welch's for a difference)"
)


def mean_interval(correct, level=LEVEL):
    """Return the interval (low, high) of an arm's accuracy over seeds and reviews like these; None for one seed.

    Var(mean) = (MS_seed + MS_item - MS_e) / (S·N), a t interval with Satterthwaite's degrees of freedom (at least
    S - 1); where the seeds rule, those are too many with three seeds, so the wider of it and the t interval over seeds
    is taken. Neither seeds nor reviews have a variance below 0, so Var is at least MS_e / (S·N): seeds that collapsed
    onto different classes would leave less, even none. Simulated coverage: tests/unit/analysis/test_inference.py.

    Args:
        correct: (S, N) array of 0 and 1.
        level: confidence.
    """
    correct = np.asarray(correct, dtype=float)
    n_seeds, n_items = correct.shape
    if n_seeds < 2:
        return None
    mean = float(correct.mean())
    if mean in (0.0, 1.0):
        # There is no variance to estimate from, so the interval is that of N right (or wrong) answers.
        return exact_interval(round(mean * n_items), n_items, level)
    seeds, items, residual = (value / (n_seeds * n_items) for value in mean_squares(correct))
    df_residual = (n_seeds - 1) * (n_items - 1)
    terms = [(seeds, n_seeds - 1), (items, n_items - 1), (-residual, df_residual)]
    variance, df = max(satterthwaite(terms), (residual, df_residual))
    half = stats.t.ppf(0.5 + level / 2, max(df, n_seeds - 1)) * math.sqrt(variance)
    low, high = t_interval(correct.mean(axis=1).tolist(), level)
    return max(min(mean - half, low), 0.0), min(max(mean + half, high), 1.0)


def mean_difference(first, second):
    """Return accuracy(first) - accuracy(second), exact before rounding, so that equal arms differ by 0.

    Args:
        first, second: (S1, N) and (S2, N) arrays of 0 and 1.
    """
    shares = [Fraction(int(np.sum(correct, dtype=float)), np.size(correct)) for correct in (first, second)]
    return float(shares[0] - shares[1])


def difference_interval(first, second, level=LEVEL, shared=False):
    """Return the interval (low, high) of accuracy(first) - accuracy(second); None when either has one seed.

    Both arms answer the same reviews, so the reviews' part is the variance of the difference per review:
    Var = Σ_arms (MS_seed - MS_e) / (S·N) + Var(d_i) / N, with d_i the difference of the two arms' means on review i.
    As in `mean_interval`, Var is at least Σ_arms MS_e / (S·N), and the wider of this and the interval over seeds alone
    (`of_seeds_alone`) is taken. Where nothing varies at all, as between arms with the same answers, the interval is
    that of N reviews without an exception.

    Args:
        first, second: (S1, N) and (S2, N) arrays of 0 and 1, the same N reviews.
        level: confidence.
        shared: True where runs of one seed share their draws (see `analysis.contrasts.paired`).
    """
    return _interval_of_shares([Term(1, first), Term(-1, second)], mean_difference(first, second), level, shared)


def fixed_contrast(correct, fixed, level=LEVEL):
    """Compare an arm of several seeds with one that no seed changes; both answer the same reviews.

    Var(difference) = (MS_seed - MS_e) / (S·N) + Var(d_i) / N, with d_i the mean over seeds on review i less the other
    arm's answer: the seeds of one arm and the reviews vary, the other arm's training does not. As in
    `difference_interval`, the wider of this interval and Student's over seeds is taken, and the larger p.

    Args:
        correct: (S, N) array of 0 and 1.
        fixed: (N,) array of 0 and 1 of the arm without seeds.
        level: confidence.

    Returns:
        dict: difference, low, high, p (two-sided, of no difference; None where nothing varies). None for one seed.
    """
    terms = [Term(1, correct), Term(-1, np.asarray(fixed)[None], fixed=True)]
    if not decidable(terms):
        return None
    difference = mean_difference(*(term.items for term in terms))
    low, high = _interval_of_shares(terms, difference, level)
    p = p_beyond(terms, difference) if spread(terms) else None
    return {"difference": difference, "low": low, "high": high, "p": p}


def interaction_interval(first, second, level=LEVEL, shared=False):
    """Return the interval (low, high) of the difference of two differences of accuracy; None where an arm has one seed.

    It shows whether the difference between two starts depends on the recipe; two overlapping intervals do not exclude
    that. Source: Schenker and Gentleman 2001, The American Statistician 55(3).

    Args:
        first, second: two arms each, all on the same N reviews: accuracy(first[0]) - accuracy(first[1]) less
            accuracy(second[0]) - accuracy(second[1]).
        level, shared: as of `difference_interval`.
    """
    terms = [Term(sign, correct) for sign, correct in zip((1, -1, 1, -1), (*first, *reversed(second)), strict=True)]
    return _interval_of_shares(terms, mean_difference(*first) - mean_difference(*second), level, shared)


def _interval_of_shares(terms, difference, level, shared=False):
    """Return the interval of a contrast of accuracies; None where an arm that seeds change has one.

    Where nothing varies at all it is that of N reviews without an exception.
    """
    if not decidable(terms):
        return None
    if found := interval(paired(terms) if shared else terms, difference, level):
        return found
    most, margin = len(terms) / 2, exact_interval(0, terms[0].items.shape[1], level)[1]
    return max(difference - margin, -most), min(difference + margin, most)


def item_draws(n_items, resamples, generator):
    """Return (resamples, n_items) float32: the counts of each review in each bootstrap sample of n_items reviews.

    One set of draws serves every arm: the arms answered the same reviews, so they are resampled together.
    """
    counts = np.empty((resamples, n_items), dtype=np.float32)
    for row in counts:
        row[:] = np.bincount(generator.integers(0, n_items, size=n_items), minlength=n_items)
    return counts


def nested_bootstrap(correct, draws, generator):
    """Return (resamples,) accuracies: S seeds drawn with replacement, then N reviews, the same for all seeds drawn.

    Drawing the reviews anew for each seed would treat S·N answers as independent and lose most of the reviews'
    variance, since all seeds answered the same ones.

    Args:
        correct: (S, N) array of 0 and 1.
        draws: (resamples, N) counts of `item_draws`.
        generator: numpy.random.Generator for the seeds.

    Source: Owen 2007, The pigeonhole bootstrap, Annals of Applied Statistics 1(2).
    """
    correct = np.asarray(correct, dtype=np.float32)
    n_seeds, n_items = correct.shape
    accuracy = (draws @ correct.T) / n_items  # (resamples, S)
    seeds = generator.integers(0, n_seeds, size=(len(draws), n_seeds))
    return np.take_along_axis(accuracy, seeds, axis=1).mean(axis=1, dtype=float)


def percentile_interval(values, level=LEVEL):
    """Return the central (low, high) of bootstrap values."""
    low, high = np.quantile(values, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def expected_best(accuracies):
    """Return [E(best of 1), ..., E(best of n)]: the expected report of the best of k seeds.

    E(best of k) = Σ_i v_(i) · C(i - 1, k - 1) / C(n, k) over the sorted values: the mean maximum of all subsets.

    Source: Tang et al. 2020, Showing Your Work Doesn't Always Work, ACL, equation for the unbiased estimator.
    """
    values = sorted(accuracies)
    n = len(values)
    return [
        float(sum(value * math.comb(i, k - 1) for i, value in enumerate(values)) / math.comb(n, k))
        for k in range(1, n + 1)
    ]


def welch_p(first, second):
    """Return Welch's two-sided p of two samples of accuracies; None when it is not defined (n < 2, no variance).

    Missing variance is detected by comparing values: the variance of three equal floats need not be 0.
    """
    if min(len(first), len(second)) < 2 or len(set(first)) == len(set(second)) == 1:
        return None
    return float(stats.ttest_ind(first, second, equal_var=False).pvalue)


def paired_p(first, second):
    """Return the two-sided p of Student's t of the differences of pairs; None where they do not vary, or n < 2.

    Args:
        first, second: scores of two arms, in the same order of seeds.
    """
    gaps = np.round(np.subtract(first, second), permutations.DIGITS)
    return float(stats.ttest_1samp(gaps, 0.0).pvalue) if len(set(gaps.tolist())) > 1 else None


def mcnemar_p(first, second):
    """Return (only first right, only second right, exact McNemar p) of two runs on the same reviews.

    Args:
        first, second: (N,) arrays of 0 and 1.
    """
    first, second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    table = [
        [int((first & second).sum()), int((first & ~second).sum())],
        [int((~first & second).sum()), int((~first & ~second).sum())],
    ]
    return table[0][1], table[1][0], min(1.0, float(mcnemar(table, exact=True).pvalue))


def holm(p_values):
    """Return Holm-adjusted p values in the same order; a None (no test) stays None and is not counted."""
    kept = [i for i, p in enumerate(p_values) if p is not None]
    adjusted = [None] * len(p_values)
    if kept:
        for i, p in zip(kept, multipletests([p_values[i] for i in kept], method="holm")[1], strict=True):
            adjusted[i] = float(p)
    return adjusted


def correct(rows, *columns):
    """Add Holm-adjusted p values over all rows, in place: of the column p a column p_holm, and so on."""
    for column in columns:
        for row, p in zip(rows, holm([row[column] for row in rows]), strict=True):
            row[f"{column}_holm"] = p


def probability_better(first, second):
    """Return the share of pairs (a run of first, a run of second) in which first is better; a tie counts half."""
    # Mann and Whitney's U counts these pairs; its p is not needed, so the fast method suffices.
    return float(stats.mannwhitneyu(first, second, method="asymptotic").statistic / (len(first) * len(second)))


def sampling_margin(accuracy, n_items, level=LEVEL):
    """Return the half width that n reviews alone give an accuracy: z · √(p (1 - p) / n).

    statsmodels' `proportion_confint(method="normal")` gives the interval cut off at 0 and 1, not its half width.
    """
    return float(stats.norm.ppf(0.5 + level / 2) * math.sqrt(accuracy * (1 - accuracy) / n_items))


def margin_of_items(items, level=0.95):
    """Return the half width that N texts alone give a mean of values that are not 0 or 1: z · sd / √N.

    Args:
        items: (S, N) values of texts; the seeds' means are taken.
        level: confidence.
    """
    means = np.asarray(items, dtype=float).mean(axis=0)
    return float(stats.norm.ppf(0.5 + level / 2) * means.std(ddof=1) / math.sqrt(len(means)))


def exact_interval(n_correct, n_items, level=LEVEL):
    """Return the Clopper-Pearson interval of one model's accuracy (statsmodels, method `beta`)."""
    low, high = proportion_confint(n_correct, n_items, 1 - level, method="beta")
    return float(low), float(high)


def chance_p(n_correct, n_items, majority_share):
    """Return the one-sided exact binomial p of at least n_correct of n_items against the majority class's share."""
    return float(stats.binomtest(n_correct, n_items, majority_share, alternative="greater").pvalue)
