"""A contrast over several data sets: its mean, what it leaves possible for these sets, and for others like them.

Pure functions of `Contrast`s, one a set. Every set counts alike, whatever the number of its texts. Seeds and texts of
one set are independent of those of another, so the variances of sets add up. Two methods have to agree on a claim, and
the wider of their intervals is given: Student's t with Satterthwaite's degrees of freedom, and a bootstrap stratified
by set.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.contrasts import Term, decidable, p_within, satterthwaite, spread
from analysis.inference import percentile_interval

# Fewer sets say too little of how sets differ: with five, t's quantile is 2.8, and one odd set is a fifth of all.
LEAST_SETS = 6
# Bootstrap samples that are drawn at once, for memory.
BLOCK = 100


@dataclass(frozen=True)
class Contrast:
    """A question's contrast on one data set.

    Attributes:
        difference: of the arms' mean scores.
        terms: `analysis.contrasts.Term`s.
        drawn: (B,) the same of resampled seeds and texts.
    """

    difference: float
    terms: list
    drawn: np.ndarray


def contrast_of(sides, arms, drawn, difference=None):
    """Return the `Contrast` of arms of one set.

    Args:
        sides: [(sign, arm)].
        arms: {arm: (scores of its runs, (S, N) values of texts, whether no seed changes it)}.
        drawn: what `resample` returns of the same arms.
        difference: of the means, where it is known.
    """
    terms = [Term(sign, arms[name][1], arms[name][2]) for sign, name in sides]
    if difference is None:
        difference = sum(sign * float(np.mean(arms[name][0])) for sign, name in sides)
    return Contrast(difference, terms, sum(sign * drawn[name] for sign, name in sides))


def resample(arms, n_draws, generator):
    """Return {arm: (B,) mean scores of resampled seeds and texts} of one set.

    All arms answer the texts that are drawn, and each arm's seeds are drawn for themselves: S - 1 of S with
    replacement, since a mean over S drawn ones would vary too little by the factor (S - 1) / S.

    Source: Rao and Wu 1988, Journal of the American Statistical Association 83(401), for S - 1; Owen 2007, Annals of
        Applied Statistics 1(2), for seeds and texts at once.

    Args:
        arms: as of `contrast_of`.
        n_draws: B.
        generator: numpy.random.Generator.
    """
    n_items = next(iter(arms.values()))[1].shape[1]
    draws, found = text_draws(n_items, n_draws, generator), {}
    for name, (scores, items, fixed) in arms.items():
        items = np.asarray(items, dtype=np.float32)
        # Where items are pseudo-values, their mean is not quite the score.
        shift = float(np.mean(scores)) - float(items.mean(dtype=float))
        means = draws @ items.T / n_items + shift
        if fixed or len(items) == 1:
            found[name] = means.mean(axis=1, dtype=float)
            continue
        seeds = generator.integers(0, len(items), size=(n_draws, len(items) - 1))
        found[name] = np.take_along_axis(means, seeds, axis=1).mean(axis=1, dtype=float)
    return found


def text_draws(n_items, n_draws, generator):
    """Return (B, N) float32: how often each text is in each bootstrap sample.

    `analysis.inference.item_draws` counts row by row; suites draw for every set, and simulations of them for thousands.
    """
    counts = np.empty((n_draws, n_items), dtype=np.float32)
    for start in range(0, n_draws, BLOCK):
        block = counts[start : start + BLOCK]
        places = generator.integers(0, n_items, size=block.shape) + n_items * np.arange(len(block))[:, None]
        block[:] = np.bincount(places.ravel(), minlength=block.size).reshape(block.shape)
    return counts


def mean_of(every):
    """Return the mean difference over sets; sums of equal means that differ by rounding give 0."""
    mean = math.fsum(one.difference for one in every) / len(every)
    return 0.0 if abs(mean) < 1e-12 else mean


def of_these(every):
    """Return what the mean over these very sets varies by: (variances with degrees of freedom, (B,) draws).

    Var = Σ Var_k / K² by each of `analysis.contrasts.spread`'s variances; degrees of freedom are Satterthwaite's.

    Args:
        every: a `Contrast` for each set, all decidable.
    """
    ends = [spread(one.terms) for one in every]
    parts = [[(variance / len(every) ** 2, df) for variance, df in kind] for kind in _kinds(ends)]
    return [satterthwaite(part) for part in parts if part], np.mean([one.drawn for one in every], axis=0)


def _kinds(ends):
    """Return the sets' variances of seeds and texts together, and those of seeds alone."""
    return [end[0] for end in ends if end], [end[1] for end in ends if len(end) > 1]


def of_others(every, generator):
    """Return what the mean over sets like these varies by, as `of_these` does; None of fewer than `LEAST_SETS`.

    The variance of the sets' differences holds that of sets, seeds and texts at once: Var = Σ (d_k - d)² / K(K - 1)
    with K - 1 degrees of freedom. The bootstrap draws K - 1 of K sets with replacement, then seeds and texts in each;
    it counts these twice, so it errs on the side of width. A claim about other sets has to hold of these.
    """
    n_sets = len(every)
    if n_sets < LEAST_SETS:
        return None
    differences, drawn = np.array([one.difference for one in every]), np.stack([one.drawn for one in every])
    n_draws = drawn.shape[1]
    sets = generator.integers(0, n_sets, size=(n_draws, n_sets - 1))
    values = drawn[sets, generator.integers(0, n_draws, size=sets.shape)].mean(axis=1)
    variance = float(differences.var(ddof=1)) / n_sets
    return [*of_these(every)[0], *([(variance, n_sets - 1)] if variance > 0 else [])], values


def interval(difference, varies, level):
    """Return the wider of t's interval and the bootstrap's, and the latter; (None, None) where nothing varies.

    Args:
        difference: the mean over sets.
        varies: what `of_these` or `of_others` returns.
        level: confidence.

    Returns:
        tuple: (low, high), (low, high) of the bootstrap.
    """
    ends, drawn = varies
    if not ends:
        return (None, None), (None, None)
    half = max(stats.t.ppf(0.5 + level / 2, df) * math.sqrt(variance) for variance, df in ends)
    low, high = percentile_interval(drawn, level)
    return (min(difference - half, low), max(difference + half, high)), (low, high)


def claim_of(difference, varies, margin, every):
    """Return (what is tested, its p): a difference, equality within the margin, or a difference beyond it.

    As in `analysis.judging.tested`, the nearer claim is tested. The p is the larger of t's and the bootstrap's.

    Args:
        difference: the mean over sets.
        varies: what `of_these` or `of_others` returns.
        margin: of equality; None where a difference is asked for.
        every: the sets' `Contrast`s.
    """
    ends, drawn = varies
    if margin is not None and abs(difference) < margin:
        if not ends:
            return "equal", max(p_within(one.terms, one.difference, margin) for one in every)
        of_t = max(float(stats.t.sf((margin - abs(difference)) / math.sqrt(v), df)) for v, df in ends)
        return "equal", max(of_t, _share(drawn >= margin), _share(drawn <= -margin))
    least, name = margin or 0.0, "difference" if margin is None else "beyond"
    if not ends:
        n_texts = min(one.terms[0].items.shape[1] for one in every)
        return name, 1.0 if abs(difference) <= least else 0.5 ** (n_texts - 1)
    of_t = max(
        float(sum(stats.t.sf((abs(difference) + side) / math.sqrt(v), df) for side in (-least, least)))
        for v, df in ends
    )
    ahead = drawn if difference > 0 else -drawn
    return name, min(1.0, max(of_t, (1 if least else 2) * _share(ahead <= least)))


def _share(found):
    """Return the share of draws, that of the data among them: never 0."""
    return (1 + int(found.sum())) / (1 + len(found))


def may_be_judged(every):
    """Return whether every arm that seeds change has two of them, in every set."""
    return all(decidable(one.terms) for one in every)
