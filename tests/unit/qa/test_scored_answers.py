"""Answers scored question by question, and arms compared by them."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from common.errors import StudyError
from common.files import read_tsv, write_json
from qa import compare_answers, score_answers
from qa.measures import answer_loss, chrf, rouge_l

REFERENCES = ["le colis part demain", "la facture est payée", "oui", "vous pouvez suivre votre commande", "non merci"]
NAMES = ["answer_loss", "chrf", "rouge_l"]


def run(folder, arm, seed, costs, answers, before="le colis", ids=range(5)):
    """Write a run's evaluation and answers; `costs` are nats of each pair after tuning, of two tokens each."""
    pairs = [{"id": i, "before": [6.0, 2], "after": [cost, 2]} for i, cost in zip(ids, costs, strict=True)]
    write_json(folder / f"{arm}{seed}.json", {"arm": arm, "seed": seed, "pairs": pairs})
    rows = [
        {"arm": arm, "seed": seed, "id": i, "reference": reference, "before": before, "after": answer}
        for i, reference, answer in zip(ids, REFERENCES, answers, strict=True)
    ]
    (folder / f"{arm}{seed}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder / f"{arm}{seed}.json", folder / f"{arm}{seed}.jsonl"


def scored(folder, *runs):
    tables = folder / "scores.tsv", folder / "items.tsv"
    answers = folder / "generations.jsonl"
    answers.write_text("".join(one.read_text(encoding="utf-8") for _, one in runs), encoding="utf-8")
    score_answers.main([one for one, _ in runs], answers, *tables, NAMES)
    compare_answers.main(*tables, folder / "pairs.tsv", NAMES)
    return (read_tsv(folder / f"{name}.tsv") for name in ("scores", "items", "pairs"))


def test_a_loss_is_a_ratio_of_sums_and_its_values_are_pseudo_values():
    rows = [{"nats": 3.0, "n_tokens": 1}, {"nats": 4.0, "n_tokens": 4}, {"nats": 5.0, "n_tokens": 5}]
    assert answer_loss.value(rows) == 1.2
    # Without the first 9 nats over 9 tokens, and so on: 3 · 1.2 - 2 · 1.
    assert answer_loss.items(rows) == pytest.approx([1.6, 3.6 - 2 * 8 / 6, 3.6 - 2 * 7 / 5])


def test_values_of_single_answers():
    rows = [{"answer": a, "reference": b} for a, b in (("le colis part", REFERENCES[0]), ("non", "oui"))]
    assert rouge_l.items(rows) == pytest.approx([6 / 7, 0]) and rouge_l.value(rows) == pytest.approx(3 / 7)
    assert chrf.items(rows)[0] == pytest.approx(2 * chrf.value(rows) - chrf.value(rows[1:]))


def test_each_arm_against_the_base_and_against_each_other(tmp_path):
    good = [run(tmp_path, "good", seed, [2.0 + seed / 10, 1.5, 2.0, 2.4, 1.0], REFERENCES) for seed in (1, 2)]
    poor = [run(tmp_path, "poor", seed, [6.0 + seed / 10, 5.5, 6.4, 6.0, 6.2], ["x"] * 5) for seed in (1, 2)]
    scores, items, pairs = scored(tmp_path, *good, *poor)
    losses = {(row["arm"], row["seed"]): float(row["score"]) for row in scores if row["measure"] == "answer_loss"}
    assert losses["base", "0"] == 3 and losses["good", "1"] == pytest.approx((2.1 + 1.5 + 2.0 + 2.4 + 1.0) / 10)
    found = {(row["measure"], row["arm_a"], row["arm_b"]): row for row in pairs}
    assert len(found) == 3 * 3
    better = found["answer_loss", "good", "base"]
    assert float(better["score_difference_high"]) < 0 and float(better["p_holm"]) < 0.05
    assert float(found["answer_loss", "poor", "base"]["p"]) > 0.2
    assert float(found["chrf", "good", "base"]["score_a"]) == 100
    assert better["n_seeds_b"] == "" and better["n_questions"] == "5"
    # With equal lengths a pseudo-value is a pair's own loss, so a run against the base is a paired t-test.
    values = {
        row["id"]: float(row["item_score"])
        for row in items
        if row["measure"] == "answer_loss" and row["arm"] == "good" and row["seed"] == "1"
    }
    assert list(values.values()) == pytest.approx([1.05, 0.75, 1.0, 1.2, 0.5])


def test_one_seed_says_nothing_of_others(tmp_path):
    _, _, pairs = scored(tmp_path, run(tmp_path, "only", 1, [1.0, 2.0, 1.0, 2.0, 1.5], REFERENCES))
    assert {row["p"] for row in pairs} == {row["score_difference_low"] for row in pairs} == {""}


def test_arms_with_bases_of_their_own(tmp_path):
    """A base in four bits answers otherwise; each arm is compared with its own."""
    whole = [run(tmp_path, "whole", seed, [1.0, 2.0, 1.5, 1.0, 1.0 + seed], REFERENCES) for seed in (1, 2)]
    coarse = [run(tmp_path, "coarse", seed, [1.0, 2.0, 1.5, 1.0, 1.0], REFERENCES, "autre") for seed in (1, 2)]
    _, _, pairs = scored(tmp_path, *whole, *coarse)
    assert {(row["arm_a"], row["arm_b"]) for row in pairs} == {
        ("whole", "base of whole"),
        ("coarse", "base of coarse"),
        ("whole", "coarse"),
    }


def test_evaluations_without_costs_of_single_pairs_have_the_other_measures(tmp_path):
    """Those of earlier runs; nothing is made up for them."""
    evaluation, answers = run(tmp_path, "old", 1, [1.0] * 5, REFERENCES)
    write_json(evaluation, {"arm": "old", "seed": 1})
    scores, _, pairs = scored(tmp_path, (evaluation, answers))
    assert {row["measure"] for row in scores} == {row["measure"] for row in pairs} == {"chrf", "rouge_l"}


def test_runs_that_were_asked_other_questions_are_refused(tmp_path):
    runs = [run(tmp_path, "a", 1, [1.0] * 5, REFERENCES), run(tmp_path, "b", 1, [1.0] * 5, REFERENCES, ids=range(1, 6))]
    with pytest.raises(StudyError, match="has other questions of the run in .*b1.json: evaluate the run again"):
        scored(tmp_path, *runs)


def test_an_interval_covers_in_studies_whose_truth_is_known(tmp_path):
    """Seeds and questions vary: of 200 simulated comparisons without a difference few claim one."""
    generator, wrong = np.random.default_rng(1), 0
    for _ in range(200):
        questions = generator.normal(2, 0.5, 16)
        arms = {}
        for name in ("a", "b"):
            runs = questions + generator.normal(0, 0.1, (3, 1)) + generator.normal(0, 0.2, (3, 16))
            arms[name] = list(runs.mean(axis=1)), runs, False
        row = compare_answers.compared(arms, "a", "b", {"level": 0.95})
        wrong += row["p"] <= 0.05
        assert (row["p"] <= 0.05) == (not row["score_difference_low"] <= 0 <= row["score_difference_high"])
    assert wrong <= stats.binom.ppf(0.999, 200, 0.05) and math.isfinite(row["p"])
