"""The power that numbers of seeds and test texts give a question, from a spread that is assumed or was seen."""

import bisect
import math

from scipy import stats

from analysis.contrasts import MOST_SEEDS, ends_of


def power(n_seeds, wanted, tail, of_items, arms, n_items):
    """Return the probability that a test shows a contrast.

    Args:
        n_seeds: of each arm that seeds change.
        wanted: what the test must tell from 0: the true contrast, or what is left of the margin beside it.
        tail: one-sided significance.
        of_items: variance of a text's contrast with seeds without end.
        arms: [(variance over seeds, variance of what is left)] of each arm that seeds change.
        n_items: test texts.
    """
    ends = ends_of(n_seeds, of_items, arms, n_items)
    shares = [_shown(wanted / math.sqrt(variance), df, tail) for variance, df in ends if variance > 0]
    return min(shares, default=1.0)


def _shown(effect, df, tail):
    """Return the power of a t test whose contrast is `effect` standard errors from 0."""
    return (
        float(stats.nct.sf(stats.t.isf(tail, df), df, effect))
        if math.isfinite(df)
        else float(stats.norm.sf(stats.norm.isf(tail) - effect))
    )


def fewest_seeds(wanted, tail, wanted_power, of_items, arms, n_items):
    """Return the fewest seeds of each arm with which a test has a power; None where `MOST_SEEDS` do not do.

    Args:
        wanted_power: above `tail`.
        wanted, tail, of_items, arms, n_items: as of `power`.
    """
    if wanted <= 0:
        return None

    def enough(n_seeds):
        return power(n_seeds, wanted, tail, of_items, arms, n_items) >= wanted_power

    fewest = 2 + bisect.bisect_left(range(2, MOST_SEEDS + 1), True, key=enough)
    return fewest if fewest <= MOST_SEEDS else None


def half_width(n_seeds, level, of_items, arms, n_items):
    """Return the half width of a contrast's interval, as `analysis.contrasts.interval` has it on average."""
    ends = ends_of(n_seeds, of_items, arms, n_items)
    return max(float(stats.t.ppf(0.5 + level / 2, df)) * math.sqrt(variance) for variance, df in ends)


def least_contrast(tail, wanted_power, of_items, n_items):
    """Return the least contrast that seeds without end show with a power, on so many test texts."""
    return float(stats.norm.isf(tail) + stats.norm.ppf(wanted_power)) * math.sqrt(of_items / n_items)


def fewest_texts(wanted, tail, wanted_power, of_items):
    """Return the fewest test texts with which seeds without end have a power to show a contrast.

    It is `least_contrast` solved for N.
    """
    return math.ceil((least_contrast(tail, wanted_power, of_items, 1) / wanted) ** 2)
