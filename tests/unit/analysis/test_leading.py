"""Statistics of a study that another measure than accuracy leads: values, directions and tests are that measure's."""

import numpy as np
import pandas
import pytest
from sklearn.metrics import f1_score

import measures
from analysis import arm_pairs, choose_recipes, compare_measures, compute_statistics, scored, tabulate_test_accuracy
from analysis.arm_pairs import OPTIONS
from analysis.judging import with_best
from analysis.measured import read_answered
from common.errors import StudyError
from common.files import read_tsv, write_tsv
from support.scored_runs import scored as score_by
from support.scored_runs import write_runs


def led_by(folder, measure, **options):
    """Write runs.tsv of two arms that a measure leads, the second the more skilful; return its frame, paths, keys."""
    frame, paths, keys = write_runs(folder, **options)
    loaded, answered = measures.load(measure), read_answered(dict(zip(keys, paths, strict=True)))
    values = [repr(answered[key].score(loaded)[0]) for key in keys]
    frame = frame.assign(measure=measure, valid_score=values, test_score=values, synthetic="false")
    write_tsv(folder / "runs.tsv", frame.to_dict("records"), list(frame))
    return frame, paths, keys


@pytest.mark.parametrize("measure", ["macro_f1", "mcc", "loss", "balanced_accuracy"])
def test_pairs_are_those_of_the_measure_and_exact_tests_are_left_out(tmp_path, measure):
    frame, paths, keys = led_by(tmp_path, measure, n_classes=3)
    arms = scored.read_runs(frame, paths, keys)
    learned, described, pairs, mcnemar = compute_statistics.compute(arms, 0.4, OPTIONS)
    (row,), lead = pairs.to_dict("records"), measures.Lead({"measure": measure})
    (wanted,) = compare_measures.compare_all({measure: score_by(frame, paths, keys, measure)}, OPTIONS)
    for name, other in (("difference", ""), ("low", "_low"), ("high", "_high")):
        assert row[name] == pytest.approx(wanted[f"score_difference{other}"], abs=1e-12)
    assert row["welch_p"] == wanted["welch_p"] and row["seeds_p"] == wanted["seeds_p"]
    assert row["items_p"] is None and row["bootstrap_low"] is None and mcnemar.empty
    # The first arm is the less skilful one, whatever the direction.
    assert lead.worth(row["difference"]) < 0 and row["probability_better_seeds"] < 0.5
    for arm in described.to_dict("records"):
        values = [float(value) for value in frame[frame["arm"] == arm["arm"]]["test_score"]]
        assert arm["mean"] == pytest.approx(np.mean(values), abs=1e-12) and arm["low"] < arm["mean"] < arm["high"]
        best = float(arm["best_of_k"].rpartition("=")[2])
        assert best == (max(values) if lead.higher else min(values))
    # A run has learnt by its right answers, whatever measure leads.
    assert set(learned["valid_accuracy"]) == {0.5}


def test_a_value_that_is_not_that_of_the_predictions_is_refused(tmp_path):
    frame, paths, keys = led_by(tmp_path, "macro_f1")
    with pytest.raises(StudyError, match=r"its macro-F1 is .*, runs.tsv says 0.123: build runs.tsv again"):
        scored.read_runs(frame.assign(test_score="0.123"), paths, keys)


def test_equal_arms_have_no_interval_of_no_width(tmp_path):
    """Pseudo-values of answers that never vary differ by rounding alone, which is no certainty."""
    labels = np.array([0, 1] * 15)
    items = measures.load("macro_f1").items(labels, np.zeros(30, dtype=int), np.tile([1.0, 0.0], (30, 1)))
    other = items + 1e-16 * np.arange(30)
    lead, score = measures.Lead({"measure": "macro_f1"}), 1 / 3
    runs = [{"lead": lead, "test_score": score, "items": one} for one in (items, items)]
    others = [run | {"items": other} for run in runs]
    assert scored.contrasted((runs, others), 0.95) == (0.0, (None, None))


def test_accuracy_as_it_was(tmp_path):
    frame, paths, keys = write_runs(tmp_path)
    first, second = scored.read_runs(frame, paths, keys).values()
    assert "items" not in first[0] and scored.lead_of(first).exact
    names = arm_pairs.pair_names(*scored.read_runs(frame, paths, keys))
    values = arm_pairs.bootstrap(scored.read_runs(frame, paths, keys), OPTIONS)
    row = arm_pairs.compare(names, first, second, np.subtract(*values.values()), OPTIONS)
    assert 0 < row["items_p"] <= 1 and row["bootstrap_low"] < row["difference"] < row["bootstrap_high"]
    assert len(arm_pairs.compare_runs(names, first, second)) == 3


def test_the_table_for_readers_says_the_measure_and_its_unit(tmp_path):
    for measure, said in (("macro_f1", "Test macro-F1 in percent."), ("loss", "Test loss in nats.")):
        frame, paths, _ = led_by(tmp_path, measure)
        made = [tmp_path / f"table.{ending}" for ending in ("tsv", "md", "tex")]
        tabulate_test_accuracy.main(tmp_path / "runs.tsv", *made)
        rows, text = read_tsv(made[0]), made[1].read_text(encoding="utf-8")
        assert said in text
        value = float(rows[0]["mean"])
        assert (f"{100 * value:.2f} ±" if measure == "macro_f1" else f"{value:.3f} ±") in text
    frame, paths, _ = led_by(tmp_path, "macro_f1", n_classes=3)
    for row, path in zip(frame.to_dict("records"), paths, strict=True):
        rows = read_tsv(path)
        labels, answers = ([int(one[name]) for one in rows] for name in ("label", "prediction"))
        assert float(row["test_score"]) == f1_score(labels, answers, average="macro", zero_division=0)


@pytest.mark.parametrize(("measure", "wanted"), [("macro_f1", "b"), ("loss", "a")])
def test_a_recipe_is_chosen_in_the_measures_direction(measure, wanted):
    lead = measures.Lead({"measure": measure})
    facts = {"valid_accuracy": 0.5, "test_accuracy": 0.5, "n_valid": 10, "test_score": 0.5, "lead": lead}
    arms = {name: [facts | {"seed": "1", "valid_score": value}] for name, value in (("a", 0.4), ("b", 0.6))}
    recipe = {"pair": "p", "start": "s", "init": "random", "epochs": 1}
    recipes = {"a": recipe | {"lr": 1e-3}, "b": recipe | {"lr": 1e-2}}
    assert choose_recipes.choose(arms, recipes) == {"s": wanted}
    (row, _) = choose_recipes.by_run(arms, recipes)
    assert (row["measure"], row["valid_score"]) == (measure, 0.4)


def test_the_best_of_several_is_that_of_the_greater_worth():
    question = {"compare": ["best of a, b", "c"], "among": {"best of a, b": ["a", "b"]}}
    arms = {name: ([score], np.array([[score, score]]), True) for name, score in (("a", 0.1), ("b", 0.9), ("c", 0.5))}
    lead = measures.Lead({"measure": "loss"})
    valid = {name: [lead.worth(value)] for name, value in (("a", 0.2), ("b", 0.8))}
    found, _, words = with_best(question, arms, valid, {})
    assert found["best of a, b"][0] == [0.1] and words == "best of a, b: a"


def test_runs_of_before_are_led_by_accuracy():
    assert measures.Lead(pandas.Series({"arm": "a"})).test == "test_accuracy"
