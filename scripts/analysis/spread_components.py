"""Components of the spread between runs: what each source of chance moves, and what the test texts add.

Pure functions. Runs in which one source varies, and runs in which all vary, are independent groups of n runs each, so
each group's variance (divisor n - 1) is an estimate of its own; a mixed model fitted to balanced independent groups
gives the same numbers. docs/method/spread.md has the reasons.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.contrasts import ROUNDING, mean_squares, satterthwaite


@dataclass(frozen=True)
class Component:
    """A variance that was estimated.

    Attributes:
        variance: the estimate, >= 0.
        df: its degrees of freedom.
    """

    variance: float
    df: float

    def interval(self, level):
        """Return the (low, high) of the variance; (None, None) where nothing varied.

        df * estimate / variance has a chi-square distribution where runs are normal; exact for the variance of a group,
        Satterthwaite's approximation for a sum.

        Source: Burdick and Graybill 1992, Confidence Intervals on Variance Components, chapter 2.
        """
        if self.variance <= ROUNDING:
            return None, None
        ends = stats.chi2.ppf([0.5 + level / 2, 0.5 - level / 2], self.df)
        return tuple(float(self.df * self.variance / end) for end in ends)

    def share_of(self, whole, level):
        """Return (share, low, high) of this variance in another one, of independent runs; (None, ...) without any.

        Source: the F interval of a ratio of two normal variances.
        """
        if min(self.variance, whole.variance) <= ROUNDING:
            return None, None, None
        share = self.variance / whole.variance
        ends = stats.f.ppf([0.5 + level / 2, 0.5 - level / 2], self.df, whole.df)
        return share, *(float(share / end) for end in ends)


def of_runs(scores):
    """Return the component of a group of runs: the variance of their scores, divisor n - 1.

    Args:
        scores: (n,) values of the runs, n >= 2.
    """
    return Component(float(np.var(scores, ddof=1)), len(scores) - 1)


def of_texts(items):
    """Return the component of the test texts: the variance of a score over other texts, with unlimited runs.

    Var(d_i) / N - MS_e / (n·N), with d_i the mean over runs on text i. One run's own variance over texts would also
    have the part MS_e / N by which runs disagree on a text, which is in the spread between the runs already.

    Args:
        items: (n, N) values of the texts by the runs in which all sources vary, whose mean estimates the score.
    """
    n_runs, n_items = items.shape
    *_, residual = mean_squares(items)
    terms = [
        (float(items.mean(axis=0).var(ddof=1)) / n_items, n_items - 1),
        (-residual / (n_runs * n_items), (n_runs - 1) * (n_items - 1)),
    ]
    variance, df = satterthwaite(terms)
    return Component(max(variance, 0.0), df)


def total(*parts):
    """Return the component that independent ones sum to."""
    return Component(*satterthwaite([(part.variance, part.df) for part in parts]))


def joint(together, alone, level):
    """Return (difference, low, high): the variance of all sources together less the sum of each alone.

    Below 0 sources act through each other: what several do only together is in each one's own variance. The ends are
    recovered from those of the components.

    Args:
        together: component of the runs in which all sources vary.
        alone: components of the runs in which one does.
        level: confidence.

    Source: Zou, Huo and Taleban 2009, Environmetrics 20(2); Homma and Saltelli 1996, Reliability Engineering and System
        Safety 52(1), for the sum of total effects, which interactions raise above the whole.
    """
    difference = together.variance - sum(one.variance for one in alone)
    parts = [(1, together), *((-1, one) for one in alone)]
    if not all(one.variance > ROUNDING for _, one in parts):
        return difference, None, None
    below = above = 0.0
    for sign, one in parts:
        low, high = one.interval(level)
        down, up = (one.variance - low) ** 2, (high - one.variance) ** 2
        below += down if sign > 0 else up
        above += up if sign > 0 else down
    return difference, difference - math.sqrt(below), difference + math.sqrt(above)
