"""How alpha is shared among looks and questions: Holm's where nothing has a margin, and never more than its share."""

import itertools

import numpy as np
import pytest

from analysis import inference
from analysis.arm_pairs import OPTIONS
from analysis.judging import answer
from analysis.spending import corrected
from common.errors import StudyError
from study.questions import digest


def test_without_margins_it_is_holms_correction():
    generator = np.random.default_rng(3)
    for size in (1, 2, 5):
        ps = generator.uniform(size=size).tolist()
        assert corrected([(p, False) for p in ps]) == pytest.approx(inference.holm(ps))


def test_a_margin_counts_at_every_step():
    # 0.01 · 3; then 2 margins and one other: 0.02 · 3, since the first has a margin; then 0.03 · 2, at least 0.06.
    assert corrected([(0.01, True), (0.02, False), (0.03, True)]) == pytest.approx([0.03, 0.06, 0.06])
    # One without a test, and one with a margin that an earlier look decided: 0.01 · 4, then 0.02 · 3.
    assert corrected([(0.01, False), (None, False), (0.02, True)], 1) == pytest.approx([0.04, None, 0.06])


def test_it_errs_in_its_share_of_studies_at_most():
    """Two questions at the edge of their margins, one difference: exact p values, independent.

    With Holm's own steps a claim of equality that is true frees alpha for the other question; here it does not.
    """
    generator, wrong, n = np.random.default_rng(4), 0, 20_000
    for z in generator.standard_normal((n, 3)):
        # The contrasts are the margin itself: "beyond" is false. `sf` of a large margin is one-sided.
        from scipy.stats import norm

        beyond = [norm.sf(one) for one in z[:2]]
        claims = [(p if one > 0 else norm.sf(-one), True) for p, one in zip(beyond, z[:2], strict=True)]
        found = corrected([*claims, (2 * norm.sf(abs(z[2])), False)])
        wrong += any(found[place] <= 0.05 and (place == 2 or z[place] > 0) for place in range(3))
    # Three standard errors of 5 %: 3 · √(0.05 · 0.95 / 20,000) = 0.0046.
    assert wrong / n <= 0.05 + 0.0046


N = 400


def study(gaps, n_seeds=4, spread=0.0, seed=0):
    """Return the result of `scored` for arms that are right in 70 % of the texts and by `gaps` more."""
    generator = np.random.default_rng(seed)
    hard, arms = generator.standard_normal(N), {}
    for name, gap in gaps.items():
        bound = 0.5 + gap + spread * generator.standard_normal((n_seeds, 1))
        items = (0.8 * hard + 0.6 * generator.standard_normal((n_seeds, N)) < bound).astype(float)
        arms[name] = items.mean(axis=1).tolist(), items, False
    return {"accuracy": arms}


def asked(*pairs, **facts):
    return [{"ask": f"{a} and {b}?", "compare": [a, b], **facts} for a, b in pairs]


def looked(questions, scores, looks, last=None, runs=()):
    registered = {digest(one): {"asked": "", "runs": list(runs)} for one in questions}
    plan = {"seeds": list(range(1, looks[-1] + 1)), "looks": looks}
    return answer(questions, registered, scores, {}, OPTIONS, plan=plan, last=last)


def test_a_decided_question_keeps_its_row_and_an_open_one_goes_on():
    scores = study({"a": 1.0, "b": 0.0, "c": 0.05})
    questions = asked(("a", "b"), ("b", "c"))
    rows, history = looked(questions, scores, [2, 3, 4])
    assert [(row["answer"], row["look"], row["n_seeds"]) for row in rows] == [("difference", 1, 2), ("open", 3, 4)]
    assert [(row["look"], row["ask"]) for row in history] == [
        *((1, "a and b?"), (1, "b and c?"), (2, "b and c?"), (3, "b and c?")),
    ]
    # Looks share 4 %; a fifth of 5 % is kept.
    assert {round(row["alpha"], 12) for row in rows} == {round(0.04 / 3, 12)}
    assert {round(1 - row["level"], 12) for row in rows} == {round(0.04 / 3, 12)}
    # The decided row is of its look's seeds: later ones of the same arms change nothing.
    first, _ = looked(
        questions,
        {"accuracy": {k: (s[:2], i[:2], f) for k, (s, i, f) in scores["accuracy"].items()}},
        [2, 3, 4],
        last=1,
    )
    assert first[0] == rows[0]
    assert rows[0]["n_seeds_each"] == "2 2" and rows[1]["n_seeds_each"] == "4 4"


def test_the_family_is_of_the_open_questions():
    scores = study({"a": 1.0, "b": 0.0, "c": 0.05})
    _, history = looked(asked(("a", "b"), ("b", "c")), scores, [2, 4])
    # At the second look one is left; of two with a margin both count to the end.
    assert [row["n_family"] for row in history] == [2, 2, 1]
    _, history = looked(asked(("a", "b"), ("b", "c"), equal_within=1), scores, [2, 4])
    assert history[0]["answer"] == "beyond" and [row["n_family"] for row in history] == [2, 2, 2]
    assert history[2]["p_holm"] == pytest.approx(min(1, 2 * history[2]["p"]))


def test_wrong_claims_of_several_questions_over_looks_are_few():
    """Four equal arms, six pairs, three looks of 2, 3 and 4 seeds: no more than 5 % of studies claim anything."""
    questions, wrong, n = asked(*itertools.combinations("abcd", 2)), 0, 150
    for seed in range(n):
        rows, _ = looked(questions, study(dict.fromkeys("abcd", 0.0), spread=0.03, seed=seed), [2, 3, 4])
        wrong += any(row["answer"] != "open" for row in rows)
    # 5 % of 150 are 7.5; the standard error is √(150 · 0.05 · 0.95) = 2.7.
    assert wrong <= 7.5 + 2 * 2.7


def test_no_text_that_a_decided_question_needs_is_asked_of_later_seeds():
    """A look judges arms with unequal numbers of seeds by the first ones of each."""
    scores = study({"a": 1.0, "b": 0.0, "c": 0.05})["accuracy"]
    scores["a"] = (scores["a"][0][:2], scores["a"][1][:2], False)
    rows, _ = looked(asked(("a", "b"), ("b", "c")), {"accuracy": scores}, [2, 3, 4])
    assert [row["n_seeds_each"] for row in rows] == ["2 2", "4 4"]


def test_the_best_of_a_grid_is_judged_by_arms_of_equal_seeds():
    """A cell that another question trains on has more seeds than the others; what the first look said stays."""
    scores = study({"a-1": 0.0, "a-2": 0.02, "b": 0.9})["accuracy"]
    few = {name: (one[0][:2], one[1][:2], False) for name, one in scores.items() if name != "a-1"}
    best = {"ask": "Best?", "compare": ["best of a", "b"], "among": {"best of a": ["a-1", "a-2"]}}
    registered = {digest(best): {"asked": "", "runs": []}}
    valid = {name: one[0] for name, one in (scores | few).items()}
    plan = {"seeds": [1, 2, 3, 4], "looks": [2, 4]}
    rows, _ = answer([best], registered, {"accuracy": scores | few}, {}, OPTIONS, valid, plan)
    assert (rows[0]["answer"], rows[0]["n_seeds_each"]) == ("difference", "2 2")


def test_an_open_question_is_never_judged_by_fewer_seeds_than_its_look_is_of():
    """Where a look's table is edited, an arm does not train on."""
    scores = study({"b": 0.0, "c": 0.05})["accuracy"]
    scores["c"] = (scores["c"][0][:2], scores["c"][1][:2], False)
    with pytest.raises(StudyError, match="look 2 judges 'b and c[?]' by 3 seeds of each arm, and one has 2"):
        looked(asked(("b", "c")), {"accuracy": scores}, [2, 3])
