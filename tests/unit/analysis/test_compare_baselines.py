"""Arms against models without seeds: paired by text, never by whether two intervals overlap."""

import numpy as np
import pytest
from scipy import stats

from analysis.arm_pairs import OPTIONS
from analysis.compare_baselines import against, by_model
from analysis.inference import exact_interval, fixed_contrast
from common.arms import Arm


def draw(generator, n_items, ability, n_seeds, spread, shift):
    """Answers of an arm and of a model without seeds to texts of different difficulty."""
    easy = generator.normal(0, 1.5, n_items)
    seeds = generator.normal(0, spread, n_seeds)
    arm = generator.random((n_seeds, n_items)) < stats.norm.cdf(ability + easy + seeds[:, None])
    model = generator.random(n_items) < stats.norm.cdf(ability + shift + easy)
    return arm.astype(float), model.astype(float)


def test_the_interval_by_hand():
    # 2 seeds, 4 texts; means over seeds 1, .5, .5, 1; the model answers the first alone: d = 0, .5, .5, 1.
    correct, fixed = np.array([[1, 1, 0, 1], [1, 0, 1, 1.0]]), np.array([1, 0, 0, 0.0])
    found = fixed_contrast(correct, fixed)
    assert found["difference"] == 0.5
    # MS_seed = 0 (both seeds have 3 of 4), MS_error: residuals are ± .5 on two texts of two seeds: 4 · .25 / 3 = 1/3.
    # (0 - 1/3) / 8 + Var(d) / 4 = -1/24 + (1/6) / 4 = 0: no less than MS_error / 8 = 1/24, with 3 degrees of freedom.
    half = stats.t.ppf(0.975, 3) * (1 / 24) ** 0.5
    assert (found["low"], found["high"]) == pytest.approx((0.5 - half, 0.5 + half))
    assert found["p"] == pytest.approx(2 * stats.t.sf(0.5 / (1 / 24) ** 0.5, 3))


def test_without_any_variation_n_texts_speak_for_themselves():
    found = fixed_contrast(np.ones((3, 50)), np.ones(50))
    assert found["difference"] == 0 and found["p"] is None
    assert found["high"] == pytest.approx(exact_interval(0, 50)[1]) and found["low"] == -found["high"]
    assert fixed_contrast(np.ones((1, 5)), np.ones(5)) is None


def test_p_and_interval_say_the_same():
    generator = np.random.default_rng(3)
    for _ in range(200):
        found = fixed_contrast(*draw(generator, 60, 0.3, 3, 0.2, generator.normal(0, 0.5)))
        assert (found["p"] <= 0.05) == (not found["low"] <= 0 <= found["high"])


@pytest.mark.parametrize(("n_seeds", "spread"), [(3, 0.0), (3, 0.15), (5, 0.05)])
def test_the_interval_covers_new_seeds_and_new_texts(n_seeds, spread):
    """The target is the difference over all seeds and texts, of arms and models whose answers depend on the text."""
    generator, shift, ability = np.random.default_rng(11), 0.25, 0.8
    easy = generator.normal(0, 1.5, 400_000)
    seeds = generator.normal(0, spread, easy.size)
    truth = float((stats.norm.cdf(ability + easy + seeds) - stats.norm.cdf(ability + shift + easy)).mean())
    held = 0
    for _ in range(400):
        found = fixed_contrast(*draw(generator, 300, ability, n_seeds, spread, shift))
        held += found["low"] <= truth <= found["high"]
    # 95 % of 400 is 380, its standard deviation 4.4.
    assert held >= 366


def test_intervals_that_overlap_do_not_hide_a_difference():
    """Both sides answer the same texts: their difference is known far better than either."""
    generator = np.random.default_rng(5)
    easy = generator.random(2000)
    correct = np.stack([easy < 0.81 + step for step in (-0.004, 0, 0.004)]).astype(float)
    model = (easy < 0.835).astype(float)
    found = fixed_contrast(correct, model)
    low, high = exact_interval(int(model.sum()), 2000)
    assert found["high"] < 0 and low < correct.mean() + 0.0175 and high > correct.mean()


def run(correct):
    return {"seed": "1", "correct": np.asarray(correct, dtype=np.float32)}


def test_the_family_is_the_arms_of_one_model_and_subsets_meet_their_own():
    generator = np.random.default_rng(7)
    arm = lambda name: Arm(name, "huggingface", "checkpoint", "pretrained")  # noqa: E731
    drawn = {name: draw(generator, 200, 0.5, 3, 0.1, 0.4) for name in ("whole", "other", "few")}
    arms = {arm(name): [run(row) for row in correct] for name, (correct, _) in drawn.items()}
    for its, n_train in zip(arms.values(), (100, 100, 10), strict=True):
        its[0]["n_train"] = n_train
    models = {
        name: {
            "record": {"model": features, "features": "words", "n_train": n_train, "n_valid": 20},
            "selected": {"C": 1.0, "valid_accuracy": 0.5},
            "right": drawn["whole"][1],
        }
        for name, features, n_train in (
            ("majority", "majority", 100),
            ("tfidf_words", "tfidf_words", 100),
            ("tfidf_words-n10", "tfidf_words", 10),
        )
    }
    rows = against(arms, models, OPTIONS)
    assert [(row["arm"], row["baseline"]) for row in rows] == [
        ("whole", "tfidf_words"),
        ("other", "tfidf_words"),
        ("few", "tfidf_words-n10"),
    ]
    smaller, larger = sorted(rows[:2], key=lambda row: row["p"])
    assert smaller["p_holm"] == pytest.approx(min(1, 2 * smaller["p"]))
    assert rows[2]["p_holm"] == pytest.approx(rows[2]["p"])
    (first, *_) = by_model(models)
    assert (
        first["n_correct_test"] == drawn["whole"][1].sum() and first["test_accuracy"] == first["n_correct_test"] / 200
    )
