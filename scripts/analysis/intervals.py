"""Student's interval of a mean over seeds."""

import statistics

from scipy.special import stdtrit

# Coverage of every interval.
LEVEL = 0.95


def t_interval(values, level=LEVEL):
    """Return Student's interval of the mean over seeds: mean -/+ t(level, n-1) * sd(ddof 1) / sqrt(n), within 0 to 1.

    Not `scipy.stats.t.interval` or statsmodels' `tconfint_mean`: with seeds that do not vary the former is not a
    number, and the latter's sums depend on the order of the seeds.

    Args:
        values: list of n fractions.
        level: coverage, between 0 and 1.

    Returns:
        tuple[float, float] or None: None with fewer than two values, which say nothing of their spread.
    """
    if len(values) < 2:
        return None
    mean = statistics.mean(values)
    half = float(stdtrit(len(values) - 1, (1 + level) / 2)) * statistics.stdev(values) / len(values) ** 0.5
    return max(0.0, mean - half), min(1.0, mean + half)
