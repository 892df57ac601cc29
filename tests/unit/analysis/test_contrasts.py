"""Contrasts of arms: what two arms say by the older functions, what more add up to, and how often they are wrong."""

import numpy as np
import pytest
from scipy import stats

from analysis import inference
from analysis.contrasts import (
    POWER,
    Term,
    decidable,
    interval,
    p_beyond,
    p_within,
    seeds_to_settle,
    spread,
    texts_alone,
)


def drawn(n_seeds, generator, n=400, share=0.8, sd=0.0, hard=None):
    """(S, N) answers of an arm whose seeds spread by `sd` (a share), to texts whose difficulty all arms share."""
    hard = generator.normal(size=n) if hard is None else hard
    bound = stats.norm.ppf(share)
    shifts = generator.normal(0, sd / stats.norm.pdf(bound), size=(n_seeds, 1))
    return (0.8 * hard + 0.6 * generator.normal(size=(n_seeds, len(hard))) < bound + shifts).astype(float)


def two(n_a=3, n_b=3, seed=0, **facts):
    generator = np.random.default_rng(seed)
    hard = generator.normal(size=facts.pop("n", 400))
    return [Term(1, drawn(n_a, generator, hard=hard, **facts)), Term(-1, drawn(n_b, generator, hard=hard, **facts))]


def difference(terms):
    return float(sum(term.sign * term.items.mean() for term in terms))


@pytest.mark.parametrize("seed", range(5))
def test_two_arms_have_the_interval_of_the_statistics(seed):
    terms = two(seed=seed, sd=0.02)
    wanted = inference.difference_interval(terms[0].items, terms[1].items)
    assert interval(terms, difference(terms), 0.95) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(5))
def test_an_arm_without_seeds_is_compared_as_simple_models_are(seed):
    first, second = two(5, 1, seed=seed, sd=0.02)
    terms = [first, Term(-1, second.items, fixed=True)]
    wanted = inference.fixed_contrast(first.items, second.items[0])
    low, high = interval(terms, wanted["difference"], 0.95)
    assert (low, high, p_beyond(terms, wanted["difference"])) == pytest.approx(
        (wanted["low"], wanted["high"], wanted["p"])
    )


def test_four_arms_have_the_interval_of_interactions():
    terms = [*two(seed=1, sd=0.02), *(Term(-t.sign, t.items) for t in two(seed=2, sd=0.02))]
    given = [[term.items for term in pair] for pair in (terms[:2], terms[2:])]
    wanted = inference.interaction_interval(*given)
    assert interval(terms, difference(terms), 0.95) == pytest.approx(wanted)


def test_p_and_interval_say_the_same():
    for seed in range(20):
        terms = two(seed=seed, sd=0.03)
        gap = difference(terms)
        for level in (0.5, 0.8, 0.95):
            low, high = interval(terms, gap, level)
            assert (p_beyond(terms, gap) <= 1 - level) == (not low <= 0 <= high)
            # Two one-sided tests at α are the interval at 1 - 2α within the margins.
            low, high = interval(terms, gap, 1 - 2 * 0.1)
            assert (p_within(terms, gap, 0.05) <= 0.1) == (-0.05 < low and high < 0.05)


def test_two_simple_models_vary_with_the_texts_alone():
    terms = [Term(t.sign, t.items[:1], fixed=True) for t in two()]
    per_text = (terms[0].items - terms[1].items)[0]
    assert decidable(terms)
    assert p_beyond(terms, difference(terms)) == pytest.approx(float(stats.ttest_1samp(per_text, 0).pvalue))
    assert seeds_to_settle(terms, 0.01, 0.025) is None


def test_one_seed_decides_nothing():
    assert not decidable(two(1, 3))


def test_arms_that_answer_alike_are_equal_and_not_different():
    items = np.tile([1.0, 0.0, 1.0, 1.0] * 100, (3, 1))
    terms = [Term(1, items), Term(-1, items)]
    assert (spread(terms), interval(terms, 0.0, 0.95), p_beyond(terms, 0.0)) == ([], None, 1.0)
    assert p_within(terms, 0.0, 0.01) == pytest.approx(0.99**400)
    assert p_beyond([Term(1, np.ones((2, 50))), Term(-1, np.zeros((2, 50)))], 1.0) < 1e-10


def test_seeds_that_are_equal_in_floats_do_not_vary():
    row = np.zeros(1000)
    row[:700] = 1
    terms = [Term(1, np.tile(row, (3, 1))), Term(-1, np.tile(row, (5, 1)))]
    assert (spread(terms), interval(terms, 0.0, 0.95), p_beyond(terms, 0.0)) == ([], None, 1.0)


# Numbers of seeds and their spreads in points, of settings that cost other tests their level; ± 1.2 % by 1,500 studies.
SETTINGS = {
    "two seeds, hardly any spread": ((2, 0.2), (2, 0.2)),
    "three seeds": ((3, 1), (3, 1)),
    "two against five, the two spread": ((2, 2), (5, 0.2)),
    "five seeds, equal": ((5, 1), (5, 1)),
    "no seeds on one side": ((5, 0.2), None),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_without_a_difference_few_studies_claim_one(setting):
    generator, wrong = np.random.default_rng(7), 0
    for _ in range(400):
        hard = generator.normal(size=1000)
        sides = [given or (1, 0) for given in SETTINGS[setting]]
        terms = [
            Term(sign, drawn(n_seeds, generator, sd=points / 100, hard=hard), fixed=given is None)
            for sign, (n_seeds, points), given in zip((1, -1), sides, SETTINGS[setting], strict=True)
        ]
        wrong += p_beyond(terms, difference(terms)) <= 0.05
    # 6 % and what 400 studies leave of chance.
    assert wrong / 400 <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / 400)


def test_equality_is_seldom_claimed_at_the_margin():
    generator, wrong = np.random.default_rng(3), 0
    for _ in range(400):
        hard = generator.normal(size=1000)
        terms = [
            Term(1, drawn(3, generator, sd=0.01, share=0.83, hard=hard)),
            Term(-1, drawn(3, generator, sd=0.01, share=0.80, hard=hard)),
        ]
        wrong += abs(gap := difference(terms)) < 0.03 and p_within(terms, gap, 0.03) <= 0.05
    assert wrong / 400 <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / 400)


def test_the_seeds_named_settle_it_as_often_as_is_said():
    """The spread known exactly: the planned number reaches the power that it was planned for."""
    generator = np.random.default_rng(5)
    many = [Term(sign, drawn(400, generator, n=4000, sd=0.02, share=share)) for sign, share in ((1, 0.82), (-1, 0.80))]
    planned = seeds_to_settle(many, 0.02, 0.025)
    assert 5 < planned < 100
    found = 0
    for _ in range(150):
        hard = generator.normal(size=4000)
        terms = [
            Term(sign, drawn(planned, generator, sd=0.02, share=share, hard=hard))
            for sign, share in ((1, 0.82), (-1, 0.80))
        ]
        found += p_beyond(terms, difference(terms)) <= 0.05
    assert found / 150 >= POWER - 0.1


def test_a_plan_that_allows_for_few_seeds_names_more():
    terms = two(3, 3, sd=0.02, n=4000)
    seen, assured = (seeds_to_settle(terms, 0.03, 0.025, assurance) for assurance in (None, 0.8))
    assert seen < assured
    # A smaller effect takes more, and one below what the texts leave cannot be had.
    assert seeds_to_settle(terms, 0.02, 0.025) >= seen
    assert seeds_to_settle(terms, texts_alone(terms, 0.95) / 2, 0.025) is None
