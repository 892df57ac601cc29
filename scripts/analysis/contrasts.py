"""A question's contrast: a sum of arms' scores, each added or subtracted, with interval, p values and plan.

Pure functions of `Term`s. One model of variance serves them all: seeds of an arm vary, test texts vary, and all arms
answer the same texts. An arm that no seed changes, such as a linear model, has one run and varies with the texts only.
"""

import bisect
import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

# No larger number of seeds per arm is named.
MOST_SEEDS = 1000
# A smaller variance is rounding: right and wrong answers to N texts that vary give about 1 / N² or more.
ROUNDING = 1e-24
# The planned number of seeds suffices with this power at the observed spread, and at its upper confidence bound.
POWER, ASSURANCE = 0.8, 0.8


def mean_squares(correct):
    """Return the mean squares (seeds, items, residual) of a two-way table without replication.

    Args:
        correct: (S, N) array, S >= 2, N >= 2.

    statsmodels' `anova_lm` is no alternative: its design matrix of S·N rows and S + N columns does not fit into memory
    for thousands of reviews; the tests compare the two on a small table.

    Source: Scheffé, The Analysis of Variance, chapter 7: E[MS_seed] = N·σ²_seed + σ²_e,
        E[MS_item] = S·σ²_item + σ²_e, E[MS_e] = σ²_e.
    """
    correct = np.asarray(correct, dtype=float)
    n_seeds, n_items = correct.shape
    of_seeds, of_items, mean = correct.mean(axis=1), correct.mean(axis=0), correct.mean()
    seeds = n_items * float(((of_seeds - mean) ** 2).sum())
    items = n_seeds * float(((of_items - mean) ** 2).sum())
    residual = float(((correct - mean) ** 2).sum()) - seeds - items
    # With values of 0 and 1 the sum is a multiple of 1 / (S·N), so anything smaller is rounding error.
    residual = residual if residual > 1e-9 else 0.0
    return seeds / (n_seeds - 1), items / (n_items - 1), residual / ((n_seeds - 1) * (n_items - 1))


def satterthwaite(terms):
    """Return (variance, degrees of freedom) of a sum of independent variance estimates.

    statsmodels offers it only for the difference of two means (`CompareMeans.dof_satt`).

    variance = Σ c, df = variance² / Σ (c² / d) for terms (c, d); a negative c is a subtracted estimate.

    Source: Satterthwaite 1946, Biometrics Bulletin 2(6).
    """
    variance = sum(value for value, _ in terms)
    spread = sum(value**2 / df for value, df in terms)
    return variance, (variance**2 / spread if spread > 0 else math.inf)


def of_seeds_alone(seeds):
    """Return (variance, degrees of freedom) of a sum of arms' variances over seeds, each with its degrees of freedom.

    Where numbers of seeds differ, the fewest count: Satterthwaite's degrees are too many where the arm of few seeds
    has the larger spread, and two seeds against five then claimed a difference in a tenth of studies without one.

    Source: Hsu 1938, Statistical Research Memoirs 2, for the bound.
    """
    if not seeds:
        return 0.0, math.inf
    variance, df = satterthwaite(seeds)
    every = {one for _, one in seeds}
    return variance, df if len(every) == 1 else float(min(every))


@dataclass(frozen=True)
class Term:
    """One arm of a contrast.

    Attributes:
        sign: 1 where its score is added, -1 where it is subtracted.
        items: (S, N) values of the N test texts by each of S runs, whose mean estimates the score (see `measures`).
        fixed: True where no seed changes the arm; S is then 1.
    """

    sign: int
    items: np.ndarray
    fixed: bool = False

    def __post_init__(self):
        """Take the values as float64: sums of 0 and 1 in float32 would lose digits."""
        object.__setattr__(self, "items", np.asarray(self.items, dtype=float))

    @property
    def n_seeds(self):
        """Return the number of runs, S."""
        return len(self.items)


def paired(terms):
    """Return the terms of arms whose runs of one seed share their draws: one term, their contrast seed by seed.

    What a draw adds to every arm cancels in the contrast, and its variance over seeds is that of the pairs. Arms with
    other numbers of runs stay apart, so that their variances add up: too much rather than too little, since shared
    draws move arms alike.

    Args:
        terms: the runs of every arm in the same order of seeds.
    """
    varying = [term for term in terms if not term.fixed]
    if len(varying) < 2 or len({term.n_seeds for term in varying}) > 1:
        return terms
    together = Term(1, sum(term.sign * term.items for term in varying))
    return [together, *(term for term in terms if term.fixed)]


def decidable(terms):
    """Return whether every arm that seeds change has two of them."""
    return all(term.fixed or term.n_seeds > 1 for term in terms)


def per_item(terms):
    """Return (N,) the contrast on each text, of the arms' means over seeds."""
    return sum(term.sign * term.items.mean(axis=0) for term in terms)


def spread(terms):
    """Return the variances of a contrast, each with its degrees of freedom; a claim has to hold by every one.

    First that of seeds and texts together: Σ (MS_seed - MS_e) / (S·N) + Var(d_i) / N, at least Σ MS_e / (S·N), with d_i
    the contrast on text i; then that of seeds alone, Σ s² / S (`of_seeds_alone`). Degrees of freedom are
    Satterthwaite's. See `inference.difference_interval` for the reasons.

    Args:
        terms: arms for which `decidable` holds.

    Returns:
        list[tuple]: one or two; none where nothing varies.
    """
    n_items = terms[0].items.shape[1]
    both, least, seeds = [], [], []
    for term in (term for term in terms if not term.fixed):
        of_seeds, _, residual = (square / (term.n_seeds * n_items) for square in mean_squares(term.items))
        df = term.n_seeds - 1
        least.append((residual, df * (n_items - 1)))
        both += [(of_seeds, df), (-residual, least[-1][1])]
        seeds.append((float(term.items.mean(axis=1).var(ddof=1)) / term.n_seeds, df))
    both.append((float(per_item(terms).var(ddof=1)) / n_items, n_items - 1))
    variance, df = max(satterthwaite(both), satterthwaite(least) if least else (0.0, math.inf))
    if variance <= ROUNDING:
        # Equal seeds and texts may differ by rounding.
        return []
    fewest = min((df for _, df in seeds), default=n_items - 1)
    of_seeds, of_welch = of_seeds_alone(seeds)
    return [(variance, max(df, fewest)), *([(of_seeds, of_welch)] if of_seeds > 0 else [])]


def interval(terms, difference, level):
    """Return the interval (low, high) of a contrast: the widest of `spread`'s; None where nothing varies."""
    halves = [stats.t.ppf(0.5 + level / 2, df) * math.sqrt(variance) for variance, df in spread(terms)]
    return (difference - max(halves), difference + max(halves)) if halves else None


def interval_of(terms, difference, level):
    """Return `interval`, or (None, None) where there is none or an arm that seeds change has one."""
    return (decidable(terms) and interval(terms, difference, level)) or (None, None)


def p_beyond(terms, difference, margin=0.0):
    """Return the p of a true contrast within ± margin; of margin 0 the two-sided p of no difference.

    Where nothing varies, all texts show the same difference: the p of a sign test, halved once for each text.
    """
    ends = spread(terms)
    if not ends:
        return 1.0 if abs(difference) <= margin else 0.5 ** (terms[0].items.shape[1] - 1)
    return max(
        float(sum(stats.t.sf((abs(difference) + side) / math.sqrt(variance), df) for side in (-margin, margin)))
        for variance, df in ends
    )


def p_within(terms, difference, margin):
    """Return the p of a true contrast of margin or more, either way: two one-sided tests, the larger p.

    Where nothing varies, p follows from N texts without a difference: (1 - margin)^N, for shares.

    Source: Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15(6).
    """
    ends = spread(terms)
    if not ends:
        return (1 - min(margin, 1.0)) ** terms[0].items.shape[1] if abs(difference) < margin else 1.0
    return max(float(stats.t.sf((margin - abs(difference)) / math.sqrt(v), df)) for v, df in ends)


def components(terms):
    """Return the components that `spread` sums, for use with other numbers of seeds.

    Returns:
        tuple: variance of a text's contrast with unlimited seeds; for each arm that seeds change (variance of seeds,
            residual variance, degrees of freedom).
    """
    n_items, arms = terms[0].items.shape[1], []
    for term in (term for term in terms if not term.fixed):
        of_seeds, _, residual = mean_squares(term.items)
        arms.append((max(of_seeds - residual, 0.0) / n_items, residual, term.n_seeds - 1, term.n_seeds))
    of_items = float(per_item(terms).var(ddof=1)) - sum(noise / n_seeds for _, noise, _, n_seeds in arms)
    return max(of_items, 0.0), [(seeds, noise, df) for seeds, noise, df, _ in arms]


def texts_alone(terms, level):
    """Return the half width that these texts leave with unlimited seeds."""
    of_items, _ = components(terms)
    return float(stats.norm.ppf(0.5 + level / 2) * math.sqrt(of_items / terms[0].items.shape[1]))


def to_tell_apart(difference, margin=None):
    """Return the distance that must be separated from 0: the difference, or the margin minus the difference."""
    return abs(difference) if margin is None else abs(margin - abs(difference))


def ends_of(n_seeds, of_items, arms, n_items):
    """Return [(variance, degrees of freedom)] that a contrast will have, as `spread` estimates them.

    Args:
        n_seeds: of each arm that seeds change.
        of_items: variance of a text's contrast with seeds without end.
        arms: [(variance over seeds, variance of what is left)] of each arm that seeds change.
        n_items: test texts.
    """
    seeds = [((of_seed + noise / n_items) / n_seeds, n_seeds - 1) for of_seed, noise in arms]
    whole, of_both = satterthwaite([*seeds, (of_items / n_items, n_items - 1)])
    return [(whole, max(of_both, n_seeds - 1)), of_seeds_alone(seeds)]


def seeds_to_settle(terms, wanted, tail, assurance=None):
    """Return the fewest seeds of each arm with which a test would show a contrast, in `POWER` of studies.

    Args:
        terms: the arms as they are.
        wanted: the distance that the test must separate from 0: the true contrast, or the margin minus it.
        tail: one-sided significance of the test.
        assurance: of the upper confidence bound of each arm's variance over seeds that is taken in place of the one
            seen; None: the one seen.

    Returns:
        int or None: None where `MOST_SEEDS` do not suffice.
    """
    n_items = terms[0].items.shape[1]
    of_items, arms = components(terms)
    if not arms or wanted <= 0:
        return None
    raised = [1.0 if assurance is None else df / float(stats.chi2.ppf(1 - assurance, df)) for _, _, df in arms]

    lifted = [(f * of_seed, f * noise) for f, (of_seed, noise, _) in zip(raised, arms, strict=True)]

    def shown(n_seeds):
        ends = ends_of(n_seeds, of_items, lifted, n_items)
        return all(
            (stats.t.isf(tail, dof) + stats.norm.ppf(POWER)) * math.sqrt(one) <= wanted for one, dof in ends if one > 0
        )

    # More seeds never make it harder.
    fewest = 2 + bisect.bisect_left(range(2, MOST_SEEDS + 1), True, key=shown)
    return fewest if fewest <= MOST_SEEDS else None
