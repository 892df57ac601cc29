"""Failure rates with exact intervals, and the warnings of arms: against the binomial distribution and statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.failures import WARNINGS, failure_rate, warnings_of


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 40])
def test_the_interval_is_clopper_and_pearsons(n):
    for failed in range(n + 1):
        found = failure_rate([False] * failed + [True] * (n - failed), [0.8] * n)
        assert (found["n_failed"], found["n_seeds"], found["rate"]) == (failed, n, failed / n)
        expected = proportion_confint(failed, n, 0.05, method="beta")
        assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-12)
        assert 0 <= found["low"] <= found["rate"] <= found["high"] <= 1
        # At the ends themselves, so many failures or more, or so many or fewer, have a probability of 2.5 %.
        if failed:
            assert stats.binom.sf(failed - 1, n, found["low"]) == pytest.approx(0.025)
        if failed < n:
            assert stats.binom.cdf(failed, n, found["high"]) == pytest.approx(0.025)


def test_no_failure_leaves_a_rate_possible():
    # (1 - p)³ = 0.025: p = 0.7076; of 35 runs 0.1000, of 36 0.0974.
    assert failure_rate([True] * 3, [0.8] * 3)["high"] == pytest.approx(1 - 0.025 ** (1 / 3))
    assert failure_rate([True] * 3, [0.8] * 3)["high"] == pytest.approx(0.7076, abs=1e-4)
    assert failure_rate([True] * 36, [0.8] * 36)["high"] < 0.1 < failure_rate([True] * 34, [0.8] * 34)["high"]
    assert failure_rate([True] * 3, [0.8] * 3, level=0.9)["high"] == pytest.approx(1 - 0.05 ** (1 / 3))


def test_the_mean_of_runs_that_learned_is_apart():
    found = failure_rate([True, False, True], [0.8, 0.5, 0.7])
    assert found["mean_learned"] == pytest.approx(0.75)
    assert failure_rate([False], [0.5])["mean_learned"] is None
    for learned, accuracies in (([], []), ([True], [])):
        with pytest.raises(ValueError, match="give one of each per run"):
            failure_rate(learned, accuracies)


def arm(accuracies, n=1000):
    """(S, N) of 0 and 1 with these accuracies, errors of every run on the same texts."""
    return np.stack([np.arange(n) < round(share * n) for share in accuracies]).astype(float)


def test_warnings_name_what_makes_words_err():
    varied = arm([0.75, 0.8, 0.85])
    many = arm(np.linspace(0.75, 0.85, 40))
    assert warnings_of([many, many], [0, 0]) == []
    assert warnings_of([varied, many], [0, 0]) == ["unseen failures"]
    assert warnings_of([varied, many], [1, 0]) == ["failed runs"]
    assert warnings_of([varied, many], [0, 1]) == ["failed runs", "unseen failures"]
    assert warnings_of([many, many], [0, 0], common=True) == ["common start"]
    assert warnings_of([], [], shares=(0.95, 0.05), over_seeds=True) == ["rare class"]
    assert warnings_of([], [], shares=(0.5, 0.5), over_seeds=True) == ["classes alike"]
    assert warnings_of([], [], shares=(0.95, 0.05)) == []
    assert set(WARNINGS) == {
        "failed runs", "unseen failures", "common start", "classes alike", "rare class"
    }  # fmt: skip
