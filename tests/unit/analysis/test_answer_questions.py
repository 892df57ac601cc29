"""Questions answered from predictions: by one criterion, over all of them, beside what was noted at their asking."""

import numpy as np
import pytest

from analysis import answer_questions, inference
from analysis.arm_pairs import OPTIONS
from common.errors import StudyError
from common.files import read_tsv, write_tsv
from finetuning.prediction_files import write_rows
from study import questions
from study.tables import columns_of

N = 500


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Predictions of arms of three seeds whose skill is known, of an arm of one seed, and of a simple model."""
    folder, generator = tmp_path_factory.mktemp("study"), np.random.default_rng(0)
    labels, hard, rows, paths, keys = generator.integers(2, size=N), generator.normal(size=N), [], [], []

    def write(path, bound):
        right = 0.8 * hard + 0.6 * generator.normal(size=N) < bound
        answers = np.where(right, labels, 1 - labels)
        path.parent.mkdir(exist_ok=True, parents=True)
        write_rows(path, labels, answers.tolist(), np.eye(2)[answers] * 0.8 + 0.1)
        return float(right.mean())

    for arm, bound, seeds in (("good", 1.5, 3), ("alike", 1.5, 3), ("poor", 0.2, 3), ("single", 0.5, 1)):
        for seed in range(1, seeds + 1):
            path = folder / arm / f"seed{seed}.tsv"
            accuracy = write(path, bound)
            facts = {"framework": "huggingface", "model": "checkpoint", "init": "random", "seed": str(seed)}
            # Validation prefers `poor` for its second seed alone.
            valid = 0.9 if (arm, seed) in (("poor", 2), ("alike", 1)) else 0.6
            rows.append({"arm": arm, **facts, "valid_accuracy": repr(valid), "test_accuracy": repr(accuracy)})
            paths.append(str(path))
            keys.append((arm, str(seed)))
    write(folder / "simple.tsv", 0.2)
    write_tsv(folder / "runs.tsv", rows, list(rows[0]))
    # One run of poor is said to have failed.
    judged = [row | {"learned": (row["arm"], row["seed"]) != ("poor", "1")} for row in rows]
    write_tsv(folder / "learned.tsv", judged, ["arm", "seed", "learned"])
    return folder, paths, keys


def answered(made, tmp_path, *asked, runs=()):
    folder, paths, keys = made
    questions.register(tmp_path, asked, lambda measure: runs)
    table = tmp_path / "questions.tsv"
    given = (str(folder / "runs.tsv"), paths, [str(folder / "simple.tsv")], str(folder / "learned.tsv"), str(table))
    answer_questions.main(*given, keys, ["simple"], asked, str(tmp_path / questions.REGISTER))
    return read_tsv(table)


def ask(first, second, sentence="Is it so?", **facts):
    return {"ask": sentence, "compare": [first, second], **facts}


def test_each_answer(made, tmp_path):
    rows = answered(
        made,
        tmp_path,
        ask("good", "poor", "A difference?"),
        ask("good", "alike", "Equal within much?", equal_within=10),
        ask("good", "poor", "Equal, which they are not?", equal_within=1),
        ask("good", "alike", "A difference that is not there?"),
        ask("single", "poor", "One seed?"),
        ask("good", "simple", "Better than a simple model?", measure="mcc"),
        ask(["good", "poor"], ["alike", "simple"], "An interaction?"),
    )
    # The last four are of studies whose seeds do more than answer at once.
    assert list(rows[0]) == columns_of("questions")[:-4]
    assert [row["answer"] for row in rows] == [
        *("difference", "equal", "beyond", "open", "one_seed", "difference", "open"),
    ]
    assert [row["tested"] for row in rows[:5]] == ["difference", "equal", "beyond", "difference", "nothing"]
    # The family is of the questions that have a test.
    assert {row["n_family"] for row in rows} == {"6"}
    corrected = inference.holm([float(row["p"]) if row["p"] else None for row in rows])
    for row, p in zip(rows, corrected, strict=True):
        assert row["p_holm"] == ("" if p is None else repr(p))
        assert (row["answer"] in ("difference", "equal", "beyond")) == (p is not None and p <= 0.05)
    assert rows[5]["n_seeds_each"] == "3 -" and rows[6]["contrast"] == "good - poor - alike + simple"


def test_the_best_of_several_is_chosen_for_each_seed_by_the_other_seeds(made, tmp_path):
    operand = "best of alike, poor"
    asked = ask(operand, "simple", "Better?", among={operand: ["alike", "poor"]})
    plain = [ask("alike", "simple", "Alike?"), ask("poor", "simple", "Poor?")]
    best, alike, poor = answered(made, tmp_path, asked, *plain)
    # Seed 1 sees alike .6 .6 and poor .9 .6; seed 2 alike .9 .6 and poor .6 .6; seed 3 alike .9 .6 and poor .6 .9.
    assert best["validation_chose"] == f"{operand}: poor (1 of 3 seeds), alike (2 of 3 seeds)"
    assert best["contrast"] == "best_of(alike,poor) - simple" and alike["validation_chose"] == ""
    folder, _, _ = made
    scores = {(row["arm"], row["seed"]): float(row["test_accuracy"]) for row in read_tsv(folder / "runs.tsv")}
    simple = read_tsv(folder / "simple.tsv")
    level = sum(row["label"] == row["prediction"] for row in simple) / N
    expected = (scores["poor", "1"] + scores["alike", "2"] + scores["alike", "3"]) / 3 - level
    assert float(best["score_difference"]) == pytest.approx(expected)
    # The first seed's run is the one that failed.
    assert (best["n_failed"], best["n_runs"]) == ("1", "3")
    assert float(poor["score_difference"]) < expected < float(alike["score_difference"])


def test_failed_runs_are_told_with_what_the_others_say(made, tmp_path):
    rows = answered(made, tmp_path, ask("good", "poor", "A?"), ask("good", "alike", "B?"), ask("good", "simple", "C?"))
    assert [(row["n_failed"], row["n_runs"]) for row in rows] == [("1", "6"), ("0", "6"), ("0", "3")]
    folder, paths, keys = made
    scores = {key: float(row["test_accuracy"]) for key, row in zip(keys, read_tsv(folder / "runs.tsv"), strict=True)}
    good = np.mean([scores["good", str(seed)] for seed in (1, 2, 3)])
    wanted = good - np.mean([scores["poor", "2"], scores["poor", "3"]])
    assert float(rows[0]["learned_difference"]) == pytest.approx(wanted)
    assert rows[1]["learned_difference"] == ""
    # None of three: 1 - 0.025^(1/3).
    assert float(rows[1]["failure_high"]) == pytest.approx(1 - 0.025 ** (1 / 3))


def test_it_says_what_would_settle_an_open_question(made, tmp_path):
    rows = answered(made, tmp_path, ask("good", "alike", "A?"), ask("good", "alike", "B?", equal_within=0.01))
    for row in rows:
        assert row["answer"] == "open" and float(row["texts_half_width"]) >= 0
        # By the upper bound of the spread it takes more, or more than are named.
        assert int(row["seeds_planned"] or 1000) <= int(row["seeds_assured"] or 1000)


def test_a_question_asked_later_is_told_so(made, tmp_path):
    answered(made, tmp_path, ask("good", "poor"))
    later = ask("good", "alike", "Then this?")
    rows = answered(made, tmp_path, ask("good", "poor"), later, runs=["good/seed1", "good/seed2"])
    assert [row["n_runs_then"] for row in rows] == ["0", "2"]
    # It costs the earlier one nothing, and pays for both itself.
    assert [row["n_family"] for row in rows] == ["1", "2"] and rows[0]["p_holm"] == rows[0]["p"]
    assert rows[1]["p_holm"] == repr(inference.holm([float(row["p"]) for row in rows])[1])
    assert all(row["asked"] for row in rows)
    assert [row["question_sha256"] for row in rows] == [questions.digest(one) for one in (ask("good", "poor"), later)]


def test_a_question_that_nobody_noted_is_refused(made, tmp_path):
    folder, paths, keys = made
    questions.register(tmp_path, [ask("good", "poor")], lambda measure: [])
    given = (str(folder / "runs.tsv"), paths, [], str(folder / "learned.tsv"), str(tmp_path / "t.tsv"), keys, [])
    with pytest.raises(StudyError, match=r"'Another\?' is not registered; start the study again"):
        answer_questions.main(*given, [ask("good", "poor", "Another?")], str(tmp_path / questions.REGISTER))


def test_a_simple_model_of_other_texts_is_refused(made, tmp_path):
    folder, paths, keys = made
    write_rows(tmp_path / "other.tsv", [0, 1], [0, 1], np.eye(2))
    given = (str(folder / "runs.tsv"), paths, [str(tmp_path / "other.tsv")], str(folder / "learned.tsv"))
    with pytest.raises(StudyError, match="are not of the same test texts"):
        answer_questions.main(*given, str(tmp_path / "t.tsv"), keys, ["simple"], [], str(tmp_path / questions.REGISTER))


def test_the_direction_does_not_depend_on_the_order(made, tmp_path):
    rows = answered(made, tmp_path, ask("good", "poor", "One way?"), ask("poor", "good", "The other?"))
    assert float(rows[0]["score_difference"]) == -float(rows[1]["score_difference"])
    assert rows[0]["p"] == rows[1]["p"] and OPTIONS["alpha"] == 0.05
