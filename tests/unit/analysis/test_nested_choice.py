"""The best of several arms: each seed's chosen by the other seeds, and why."""

import numpy as np
import pytest

from analysis.nested_choice import best_of, choose, in_words
from common.errors import StudyError
from tools.simulated import settings, simulate


def test_each_seed_is_chosen_by_the_others():
    valid = {"a": [0.9, 0.5, 0.5], "b": [0.6, 0.6, 0.6]}
    # Seed 1: a .5, b .6; seeds 2 and 3: a .7, b .6. By all seeds together: a .633, b .6.
    assert choose(valid) == ["b", "a", "a"]
    assert choose({"a": [0.5], "b": [0.6]}) == ["b"]


def test_of_equals_the_first_is_chosen_whatever_the_order_of_sums():
    values = [0.1, 0.2, 0.3]
    assert choose({"a": values, "b": values[::-1], "c": [0.2] * 3})[1] == "a"


def test_scores_and_texts_are_those_of_the_chosen_runs():
    arms = {name: ([place, place + 1.0], np.full((2, 3), place), False) for place, name in enumerate("ab")}
    (scores, items, fixed), chosen = best_of(["a", "b"], arms, {"a": [0.9, 0.1], "b": [0.5, 0.5]})
    assert chosen == ["b", "a"] and scores == [1, 1.0] and not fixed
    assert items.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert in_words("best of a, b", chosen) == "best of a, b: b (1 of 2 seeds), a (1 of 2 seeds)"
    assert in_words("best of a, b", ["b"]) == "best of a, b: b"


def test_arms_that_cannot_be_chosen_among_are_named():
    with pytest.raises(StudyError, match="different numbers of seeds"):
        choose({"a": [0.5], "b": [0.5, 0.6]})
    with pytest.raises(StudyError, match="b, which a question chooses among, has no run"):
        best_of(["a", "b"], {"a": ([1.0], np.ones((1, 2)), False)}, {"a": [0.5]})


def test_the_interval_covers_and_a_choice_by_all_seeds_would_score_too_high():
    """Four arms alike: a lucky seed on validation is lucky on test, so only a choice without it is fair."""
    (setting,) = (one for one in settings() if one.kind == "choice" and one.seeds[0] == 3)
    (row,) = simulate([setting], 100)
    # 95 % of 100 with a standard error of 2.2; at most 6 % may be wrong.
    assert row["asked_covered"] >= 88 and row["asked_wrong"] <= 12
    generator = np.random.default_rng(4)
    gains = {"all": 0.0, "others": 0.0}
    for _ in range(500):
        true = generator.normal(0, 0.01, (4, 3))
        valid = {str(arm): (values + generator.normal(0, 0.01, 3)).tolist() for arm, values in enumerate(true)}
        best = max(range(4), key=lambda arm, valid=valid: sum(valid[str(arm)]))
        gains["all"] += true[best].mean() / 500
        gains["others"] += np.mean([true[int(name)][seed] for seed, name in enumerate(choose(valid))]) / 500
    # The standard error of both is about 0.0003.
    assert gains["all"] > 0.003 and abs(gains["others"]) < 0.0015
