"""Arms compared by measures: accuracy as a measure says what the study's statistics say, and faults are told."""

import numpy as np
import pytest

import measures
from analysis import compare_measures, inference
from analysis.arm_pairs import OPTIONS
from analysis.measured import read_answered
from analysis.scored import compared, read_runs
from common.errors import StudyError
from common.files import read_tsv
from finetuning.prediction_files import columns_of, write_rows
from study.tables import columns_of as declared
from support.scored_runs import scored, write_runs


def test_accuracy_as_a_measure_is_what_the_statistics_say(tmp_path):
    frame, paths, keys = write_runs(tmp_path)
    first, second = read_runs(frame, paths, keys).values()
    wanted = compared(first, second, OPTIONS)
    arms = scored(frame, paths, keys, "accuracy")
    (row,) = compare_measures.compare_all({"accuracy": arms}, OPTIONS)
    for name, other in (("difference", "score_difference"), ("low", "score_difference_low"), ("seeds_p", "seeds_p")):
        assert row[other] == pytest.approx(wanted[name], abs=1e-12)
    assert row["welch_p"] == pytest.approx(wanted["welch_p"]) and row["better"] == "second"
    described = compare_measures.describe_arm(*next(iter(arms.items())), OPTIONS["level"])
    correct = np.stack([run["correct"] for run in first])
    assert described["score_low"] == pytest.approx(inference.mean_interval(correct)[0], abs=1e-12)


def test_an_interval_keeps_the_bounds_of_its_measure(tmp_path, monkeypatch):
    frame, paths, keys = write_runs(tmp_path, seeds=2)
    ((arm, runs), _) = scored(frame, paths, keys, "accuracy").items()
    runs = [
        runs[k] | {"score": score, "items": np.full_like(runs[k]["items"], score)} for k, score in enumerate((1.0, 0.8))
    ]
    free, kept = (compare_measures.describe_arm(arm, runs, 0.95, bounds) for bounds in (None, (0.0, 1.0)))
    assert free["score_high"] > 1 == kept["score_high"] and kept["score_low"] == max(0, free["score_low"])
    # The table has them: no accuracy here is as low as these bounds.
    monkeypatch.setattr(measures, "bounds", lambda measure: (0.0, 0.1))
    made = [str(tmp_path / f"{name}.tsv") for name in ("scored", "arms", "pairs")]
    compare_measures.main(str(tmp_path / "runs.tsv"), paths, *made, keys, ["accuracy"])
    assert {row["score_high"] for row in read_tsv(made[1])} == {"0.1"}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_tables_have_every_run_arm_and_pair_by_every_measure(tmp_path, n_classes):
    _, paths, keys = write_runs(tmp_path, n_classes)
    made = [str(tmp_path / f"{name}.tsv") for name in ("scored", "arms", "pairs")]
    compare_measures.main(str(tmp_path / "runs.tsv"), paths, *made, keys, ["mcc", "loss"])
    scored, arms, pairs = map(read_tsv, made)
    assert (len(scored), len(arms), len(pairs)) == (12, 4, 2)
    assert list(pairs[0]) == declared("measured_pairs")
    by_name = {row["measure"]: row for row in pairs}
    # The more skilful arm has the higher correlation and the lower loss.
    assert {row["better"] for row in pairs} == {"second"}
    assert float(by_name["mcc"]["score_difference"]) < 0 < float(by_name["loss"]["score_difference"])
    # Both measures' tests are corrected together.
    corrected = inference.holm([float(row["welch_p"]) for row in pairs])
    assert [float(row["welch_p_holm"]) for row in pairs] == pytest.approx(corrected)


def test_one_seed_gives_no_interval(tmp_path):
    frame, paths, keys = write_runs(tmp_path, seeds=1)
    arms = scored(frame, paths, keys, "mcc")
    (row,) = compare_measures.compare_all({"mcc": arms}, OPTIONS)
    assert (row["score_difference_low"], row["welch_p"]) == (None, None)


def test_arms_that_never_err_have_no_interval(tmp_path):
    frame, paths, keys = write_runs(tmp_path, skill=(99.0, 99.0))
    arms = scored(frame, paths, keys, "macro_f1")
    (row,) = compare_measures.compare_all({"macro_f1": arms}, OPTIONS)
    assert (row["score_difference"], row["score_difference_low"], row["better"]) == (0, None, None)


def test_two_classes_have_both_probabilities(tmp_path):
    write_rows(tmp_path / "p.tsv", [0, 1], [1, 1], np.array([[0.25, 0.75], [0.1, 0.9]]))
    assert columns_of(2)[-1] == "probability"
    _, labels, answers, probabilities = read_answered({"run": tmp_path / "p.tsv"})["run"]
    assert (labels.tolist(), answers.tolist()) == ([0, 1], [1, 1])
    assert probabilities == pytest.approx(np.array([[0.25, 0.75], [0.1, 0.9]]))


def test_other_texts_are_refused(tmp_path):
    frame, paths, keys = write_runs(tmp_path)
    write_rows(paths[-1], [0, 1], [0, 1], np.array([[0.9, 0.1], [0.1, 0.9]]))
    with pytest.raises(StudyError, match="are not of the same test texts"):
        scored(frame, paths, keys, "accuracy")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_measure_that_gives_no_number_is_refused(tmp_path, monkeypatch, value):
    frame, paths, keys = write_runs(tmp_path)
    monkeypatch.setattr(measures.load("mcc"), "value", lambda *_: value)
    with pytest.raises(
        StudyError, match=r"seed1\.tsv: the measure mcc gives .* not all of them numbers; mend .*mcc\.py"
    ):
        scored(frame, paths, keys, "mcc")
