"""Summaries of a figure over an arm's seeds for tables."""

import numpy as np

from analysis.intervals import LEVEL, t_interval
from common.arms import summarise

SUMMARY = ("n_seeds", "mean", "sd_ddof1", "min", "max")


def divided(above, below):
    """Return quotients, 0 where the divisor is 0: a class that is never answered has a precision of 0.

    Source: scikit-learn's `precision_recall_fscore_support`, zero_division=0.
    """
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def summarised(values):
    """Return the summary of one figure over an arm's seeds: mean, spread, and Student's interval of the mean.

    Args:
        values: fractions, one a seed.
    """
    values = list(map(float, values))
    facts, (low, high) = summarise(values), t_interval(values, LEVEL) or (None, None)
    return {name: facts[name] for name in SUMMARY} | {"t_low": low, "t_high": high}
