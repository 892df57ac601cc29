"""Groups of arms and their chance to be best, against hand computation."""

import itertools

import numpy as np
import pytest

from analysis import inference
from analysis.arm_pairs import OPTIONS
from analysis.products.groups import has_many
from analysis.rank_arms import best_shares, grouped, rank
from common.arms import Arm


def test_a_group_has_its_leader_and_all_that_nothing_separates_from_it():
    # Means 9, 8, 6, 5, 1; apart are pairs 3 or more apart: 9 leads 8; 6 leads 5; 1 is alone.
    means = {"a": 9, "b": 8, "c": 6, "d": 5, "e": 1}
    found = grouped(list(means), lambda first, second: abs(means[first] - means[second]) >= 3)
    assert found == {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3}
    # Separation need not follow the means: the noisy c is with a although b is not.
    apart = {("a", "b"), ("b", "c")}
    assert grouped(["a", "b", "c"], lambda *pair: pair in apart) == {"a": 1, "c": 1, "b": 2}
    assert grouped(["a", "b"], lambda *pair: False) == {"a": 1, "b": 1}


def test_the_chance_to_be_best_is_counted_and_ties_are_shared():
    # Resamples: a; a and b; c; b. So a has (1 + 1/2) / 4, b (1/2 + 1) / 4, c 1 / 4.
    values = np.array([[0.9, 0.8, 0.1, 0.2], [0.8, 0.8, 0.2, 0.5], [0.1, 0.7, 0.3, 0.4]])
    assert best_shares(values).tolist() == pytest.approx([0.375, 0.375, 0.25])
    # Sums of floats that ought to be equal are.
    assert best_shares(np.array([[0.1 + 0.2], [0.3]])).tolist() == [0.5, 0.5]


def arms_of(shares, n_seeds=4, n=400):
    generator = np.random.default_rng(0)
    hard = generator.uniform(size=n)
    return {
        Arm(name, "huggingface", "checkpoint", "random"): [
            {"correct": (0.7 * hard + 0.3 * generator.uniform(size=n) < share).astype(np.float32)}
            for _ in range(n_seeds)
        ]
        for name, share in shares.items()
    }


def test_the_rows_are_of_simultaneous_intervals():
    arms = arms_of({"low": 0.3, "high": 0.8, "near": 0.795, "mid": 0.55, "lower": 0.29})
    rows = rank(arms, OPTIONS | {"bootstrap": 500})
    assert [(row["arm"], row["group"]) for row in rows][2:3] == [("mid", 2)]
    assert {row["arm"] for row in rows if row["group"] == 1} == {"high", "near"}
    assert {row["arm"] for row in rows if row["group"] == 3} == {"low", "lower"}
    # Five arms are ten pairs: 1 - 0.05 / 10.
    assert {row["level"] for row in rows} == {0.995}
    correct = {arm.arm: np.stack([one["correct"] for one in its]) for arm, its in arms.items()}
    leader = rows[0]["arm"]
    for row in rows[1:]:
        low, high = inference.difference_interval(correct[leader], correct[row["arm"]], 0.995)
        assert (row["leader"], row["low"], row["high"]) == (leader, pytest.approx(low), pytest.approx(high))
        assert row["difference"] == pytest.approx(correct[leader].mean() - correct[row["arm"]].mean(), abs=1e-6)
        assert (row["group"] == 1) == (low <= 0 <= high)
    assert sum(row["best_share"] for row in rows) == pytest.approx(1)
    assert sum(row["best_share"] for row in rows if row["group"] == 1) > 0.99 and rows[0]["low"] is None


def test_arms_with_one_seed_are_separated_from_none():
    rows = rank(arms_of(dict(zip("abcde", (0.1, 0.3, 0.5, 0.7, 0.9), strict=True)), n_seeds=1), OPTIONS)
    assert {row["group"] for row in rows} == {1} and {row["low"] for row in rows} == {None}


def test_equal_arms_are_separated_in_one_study_of_twenty_at_most():
    """Six equal arms of three seeds: the intervals hold together."""
    apart = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        hard = generator.uniform(size=300)
        arms = {
            Arm(str(k), "", "", ""): [
                {"correct": (0.7 * hard + 0.3 * generator.uniform(size=300) < 0.5 + bound).astype(np.float32)}
                for bound in 0.02 * generator.standard_normal(3)
            ]
            for k in range(6)
        }
        correct = {arm: np.stack([one["correct"] for one in its]) for arm, its in arms.items()}
        level = 1 - 0.05 / 15
        apart += any(
            not low <= 0 <= high
            for pair in itertools.combinations(correct.values(), 2)
            for low, high in [inference.difference_interval(*pair, level)]
        )
    # 5 % of 60 are 3; two standard errors, √(60 · 0.05 · 0.95) = 1.7.
    assert apart <= 3 + 2 * 1.7


def test_they_are_of_five_arms_on():
    assert [has_many({"finetuning": {"arms": dict.fromkeys("abcdef"[:n])}}) for n in (4, 5)] == [False, True]
    # Their intervals are of accuracy: another leading measure has none.
    five = {"finetuning": {"arms": dict.fromkeys("abcde")}}
    assert [has_many(five | {"measure": name}) for name in ("accuracy", "macro_f1")] == [True, False]
