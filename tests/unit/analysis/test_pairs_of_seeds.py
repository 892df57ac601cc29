"""Arms whose runs of one seed share their draws: intervals, tests and plans of the pairs."""

import numpy as np
import pandas
import pytest
from scipy import stats

from analysis import contrasts, inference, permutations
from analysis.contrasts import Term
from analysis.scored import seed_tests, sharing
from common.errors import StudyError
from tools.simulate_sources import covered

LEVEL = 0.95


def test_pairs_are_one_term_and_a_model_without_seeds_stays_apart():
    a, b, fixed = np.eye(3, 4), np.ones((3, 4)), np.zeros((1, 4))
    (both,) = contrasts.paired([Term(1, a), Term(-1, b)])
    assert both.sign == 1 and (both.items == a - b).all() and not both.fixed
    both, model = contrasts.paired([Term(1, a), Term(-1, b), Term(-1, fixed, True)])
    assert (both.items == a - b).all() and model.fixed and model.sign == -1
    single = [Term(1, a), Term(-1, fixed, True)]
    assert contrasts.paired(single) is single


def test_arms_of_unequal_numbers_of_runs_are_not_paired():
    terms = [Term(1, np.eye(3, 4)), Term(-1, np.ones((2, 4)))]
    assert contrasts.paired(terms) is terms


def test_what_a_draw_gives_to_both_arms_cancels():
    """The draw moves both arms by the same answers: paired, their difference does not vary over seeds."""
    easy = np.array([[1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 0]], dtype=float)
    a, b = np.hstack([easy, np.tile([1, 0], (3, 4))]), np.hstack([easy, np.tile([0, 0, 1, 0], (3, 2))])
    alone, pairs = (inference.difference_interval(a, b, LEVEL, shared) for shared in (False, True))
    difference = inference.mean_difference(a, b)
    # 4 of 14 texts less 2 of 14.
    assert difference == pytest.approx(2 / 14) and pairs[0] > alone[0] and pairs[1] < alone[1]
    # No seed changes the difference, so only the texts are left: Student's t of the 14 differences.
    gaps = (a - b)[0]
    half = stats.t.ppf(0.975, 13) * gaps.std(ddof=1) / 14**0.5
    assert pairs == pytest.approx((difference - half, difference + half))


def test_tests_over_seeds_are_those_of_scipy():
    a, b = [0.81, 0.83, 0.80, 0.86, 0.82], [0.80, 0.80, 0.79, 0.83, 0.80]
    found = seed_tests(a, b, 1, shared=True)
    assert found["welch_p"] == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=1e-12)
    reference = stats.permutation_test(
        (a, b), lambda x, y, axis: np.round(np.mean(x - y, axis=axis), 12), permutation_type="samples", vectorized=True
    )
    # All five differences are positive: 2 of 2^5 signs are as extreme.
    assert found["seeds_p"] == pytest.approx(reference.pvalue) == 2 / 32 == found["seeds_p_floor"]
    assert found["welch_p"] < inference.welch_p(a, b)


def test_pairs_that_do_not_vary_have_no_t_test():
    assert inference.paired_p([0.3, 0.2, 0.6], [0.2, 0.1, 0.5]) is None is inference.paired_p([0.3], [0.2])
    assert permutations.flip_floor(20) == 2 / (permutations.SEED_PERMUTATIONS + 1)


def test_runs_say_whether_their_seeds_share_draws():
    runs = pandas.DataFrame({"arm": list("aaabb"), "seed": list("12312")})
    assert sharing(runs) == {} and sharing(runs.assign(split_seed=runs["seed"])) == {"paired": True}
    # Arms that start at random have no checkpoint; the others of a seed share it.
    assert sharing(runs.assign(checkpoint_seed=[*"123", "", ""])) == {"paired": True}
    with pytest.raises(StudyError, match="different orders"):
        sharing(runs.assign(seed=list("12321"), split_seed="1"))


def test_intervals_cover_other_draws_only_where_each_seed_has_its_own():
    """600 studies of 5 seeds without a difference, where a draw moves an arm by a point.

    A share of 600 near 95 % is known to ± 1.7 points. The whole table: `python -m tools.simulate_sources`.
    """
    held, _ = covered(np.random.default_rng(47), 5, False, False, 600, n_texts=500)
    _, wide = covered(np.random.default_rng(47), 5, True, False, 600, n_texts=500, both=0.03)
    pairs, half = covered(np.random.default_rng(47), 5, True, True, 600, n_texts=500, both=0.03)
    assert held < 0.92 and 0.93 < pairs < 0.98 and half < 0.8 * wide


def test_intervals_cover_other_checkpoints_only_where_each_seed_has_its_own():
    """A split moves both arms by a point and each by another, a checkpoint one arm by a point; then checkpoints alone.

    A share of 1,000 near 95 % is known to ± 1.4 points. The whole tables: `python -m tools.simulate_sources`.
    """
    one, own = (covered(np.random.default_rng(1), 5, True, True, 1000, checkpoints=n)[0] for n in (1, 5))
    assert one < 0.92 and 0.93 < own < 0.98
    effects = {"alone": 0.0, "both": 0.0, "n_texts": 500, "checkpoint": 0.02}
    turns, own = (covered(np.random.default_rng(1), 10, True, True, 500, checkpoints=n, **effects)[0] for n in (2, 10))
    assert turns < 0.88 and 0.93 < own < 0.98
