"""Student's interval of a mean over seeds."""

import math
import statistics

from scipy.special import stdtrit

# Coverage of every interval.
LEVEL = 0.95


def t_interval(values, level=LEVEL, bounds=(0.0, 1.0)):
    """Return Student's interval of the mean over seeds: mean -/+ t(level, n-1) * sd(ddof 1) / sqrt(n), within bounds.

    Two library functions do not fit: for seeds that do not vary `scipy.stats.t.interval` is not a number, and the sums
    of statsmodels' `tconfint_mean` depend on the order of the seeds.

    Args:
        values: list of n fractions.
        level: coverage, between 0 and 1.
        bounds: least and greatest value that there can be, here of fractions; None: there is none.

    Returns:
        tuple[float, float] or None: None with fewer than two values, which have no spread.
    """
    if len(values) < 2:
        return None
    mean = statistics.mean(values)
    half = float(stdtrit(len(values) - 1, (1 + level) / 2)) * statistics.stdev(values) / len(values) ** 0.5
    low, high = bounds or (-math.inf, math.inf)
    return max(low, mean - half), min(high, mean + half)
