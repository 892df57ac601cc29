"""Looks: what the settings may say, which arms train on, and more seeds than a question was registered with."""

import json

import pytest

from common.errors import StudyError
from common.files import write_tsv
from study import questions, seed_plans
from support.settings import changed, message
from tools import published_runs

A, B, C = "fairseq-pretrained", "fairseq-random", "huggingface-pretrained"
FIRST = {"ask": "First?", "compare": [A, B]}
SECOND = {"ask": "Second?", "compare": [A, C]}


def refused(seeds, **changes):
    return message({"finetuning.seeds": seeds, **changes})


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ({"looks": [3]}, "finetuning.seeds.looks"),
        ({"looks": [3, 3]}, "the numbers of seeds must rise, such as [3, 5, 10]"),
        ({"looks": [5, 3]}, "the numbers of seeds must rise"),
        ({"looks": [1, 3]}, "finetuning.seeds.looks"),
        ({"looks": [2, 3.5]}, "finetuning.seeds.looks"),
        ({"looks": 3}, "finetuning.seeds.looks is 3"),
        ({"look": [3, 5]}, "Did you mean finetuning.seeds.looks?"),
        ({}, "finetuning.seeds has no key; give a list of seeds, {looks: [3, 5, 10]}"),
        ({"looks": [3, 5], "confirm": [6, 7]}, "finetuning.seeds has looks, confirm; give a list of seeds"),
        ({"confirm": [6, 7]}, "finetuning.seeds has confirm; give"),
        ({"seen": [1, 2], "confirm": [2, 3]}, "seed 2 is in seen and in confirm; the seeds that confirm are fresh"),
    ],
)
def test_faults_are_refused(seeds, said):
    assert said in refused(seeds)


def test_looks_need_a_question_about_arms_that_they_train():
    assert "looks and confirmation are about questions" in refused({"looks": [2, 3]}, questions=[])
    loss = {"ask": "Loss?", "compare": ["rank16", "base"], "measure": "answer_loss"}
    assert "answer_loss is of runs that finetuning.seeds does not train" in refused({"looks": [2, 3]}, questions=[loss])


def test_given_predictions_are_missed_by_seed_not_by_key():
    arm = {"framework": "predictions", "model": "none", "init": "none", "predictions": "nowhere/{seed}.tsv"}
    arms = {"given": arm, "other": changed({})["finetuning"]["arms"][C]}
    one = {"ask": "Which one is better?", "compare": ["given", "other"]}
    for seeds in ({"looks": [2, 3]}, {"seen": [1, 2], "confirm": [3, 4]}):
        said = refused(seeds, **{"finetuning.arms": arms, "questions": [one]})
        assert "there is no file nowhere/1.tsv" in said and "nowhere/3.tsv" in said and "looks.tsv" not in said


def test_they_are_written_out():
    finetuning = {"seeds": {"looks": [2, 4]}}
    seed_plans.write_out(finetuning)
    assert finetuning == {"seeds": [1, 2, 3, 4], "looks": [2, 4]} == seed_plans.plan_of(finetuning)
    finetuning = {"seeds": {"seen": [1, 2], "confirm": [8, 9]}}
    seed_plans.write_out(finetuning)
    assert finetuning == {"seeds": [1, 2, 8, 9], "confirm": [8, 9]} == seed_plans.plan_of(finetuning)
    finetuning = {"seeds": [1, 2], "other": 3}
    seed_plans.write_out(finetuning)
    assert finetuning == {"seeds": [1, 2], "other": 3} and seed_plans.plan_of(finetuning) == {"seeds": [1, 2]}


def config():
    settings = changed({"questions": [FIRST, SECOND], "finetuning.seeds": {"looks": [2, 3, 5]}})
    seed_plans.write_out(settings["finetuning"])
    return settings


def table(tmp_path, look, **answers):
    rows = [
        {"question_sha256": questions.digest(one), "answer": answers[name]}
        for name, one in (("first", FIRST), ("second", SECOND))
        if name in answers
    ]
    write_tsv(tmp_path / f"look{look}.tsv", rows, ["question_sha256", "answer"])


def seeds(tmp_path, look=None):
    found = seed_plans.trained_seeds(config(), lambda number: tmp_path / f"look{number}.tsv", look)
    return [found[arm][-1] for arm in (A, B, C)]


def test_only_arms_of_open_questions_train_on(tmp_path):
    assert seeds(tmp_path, 1) == seeds(tmp_path, "1") == [2, 2, 2]
    table(tmp_path, 1, first="difference", second="open")
    assert seeds(tmp_path, 2) == [3, 2, 3]
    table(tmp_path, 2, second="open")
    assert seeds(tmp_path) == seeds(tmp_path, 3) == [5, 2, 5]
    # All are decided: no further look is asked for.
    table(tmp_path, 2, second="equal")
    assert seeds(tmp_path) == [3, 2, 3]
    table(tmp_path, 1, first="difference", second="beyond")
    (tmp_path / "look2.tsv").unlink()
    assert seeds(tmp_path) == [2, 2, 2]


def test_progress_is_told_from_the_tables(tmp_path):
    (tmp_path / "looks").mkdir()
    finetuning = config()["finetuning"]
    assert seed_plans.progress(tmp_path, finetuning) == (0, 3, None)
    table(tmp_path / "looks", 1, first="difference", second="open")
    assert seed_plans.progress(tmp_path, finetuning) == (1, 3, 1)


# Registered seeds


def entry(folder, plan, *runs):
    """Start a study; return its question's entry."""
    questions.register(folder, [FIRST], lambda measure: set(runs), lambda measure: plan)
    return questions.read_register(folder / questions.REGISTER)[questions.digest(FIRST)]


RUNS = [f"{A}/seed{seed}" for seed in (1, 2, 3)]
THREE, FIVE, TEN = ({"seeds": list(range(1, n + 1))} for n in (3, 5, 10))


def test_more_seeds_than_were_registered_continue_a_question(tmp_path):
    assert questions.continuations(entry(tmp_path, THREE)) == 0
    assert questions.continuations(entry(tmp_path, THREE, *RUNS)) == 0
    assert questions.continuations(entry(tmp_path, FIVE, *RUNS)) == 1
    assert questions.continuations(entry(tmp_path, TEN, *RUNS)) == 2
    # A start with the same seeds notes nothing more; the first plan keeps its number.
    path = tmp_path / questions.REGISTER
    before = path.read_bytes()
    assert questions.continuations(entry(tmp_path, TEN, *RUNS)) == 2 and path.read_bytes() == before
    assert questions.continuations(entry(tmp_path, THREE, *RUNS)) == 0
    assert questions.continuations(entry(tmp_path, TEN, *RUNS)) == 2
    # A shorter list, without a seed that one dislikes, is another judgement.
    assert questions.continuations(entry(tmp_path, {"seeds": [1, 3]}, *RUNS)) == 3


def test_seeds_that_change_before_a_run_is_finished_cost_nothing(tmp_path):
    entry(tmp_path, THREE)
    assert questions.continuations(entry(tmp_path, FIVE)) == 0
    assert questions.continuations(entry(tmp_path, FIVE, *RUNS)) == 0


def test_fresh_seeds_confirm_at_the_whole_level_once(tmp_path):
    entry(tmp_path, THREE)
    confirmed = {"seeds": [1, 2, 3, 4, 5], "confirm": [4, 5]}
    assert questions.continuations(entry(tmp_path, confirmed, *RUNS)) == 0
    again = {"seeds": list(range(1, 8)), "confirm": [6, 7]}
    assert questions.continuations(entry(tmp_path, again, *RUNS, f"{A}/seed4", f"{A}/seed5")) == 1
    # A start after they are trained.
    assert questions.continuations(entry(tmp_path, again, *RUNS, f"{A}/seed6")) == 1


def test_seeds_that_were_trained_before_confirm_nothing(tmp_path):
    entry(tmp_path, THREE)
    with pytest.raises(StudyError, match="finetuning.seeds.confirm has seed 3, which had been trained"):
        entry(tmp_path, {"seeds": [1, 2, 3, 4], "confirm": [3, 4]}, *RUNS)


def test_a_register_of_before_takes_the_seeds_that_the_results_were_made_with(tmp_path):
    questions.register(tmp_path, [FIRST], lambda measure: set())
    (tmp_path / "settings.json").write_text(json.dumps({"finetuning": {"seeds": [1, 2, 3]}}))
    assert questions.continuations(entry(tmp_path, THREE, *RUNS)) == 0
    (tmp_path / questions.REGISTER).unlink()
    questions.register(tmp_path, [FIRST], lambda measure: set())
    assert questions.continuations(entry(tmp_path, FIVE, *RUNS)) == 1


@pytest.mark.parametrize("edit", ["list", "digest", "sha256 too"])
def test_an_edited_list_of_seeds_is_refused(tmp_path, edit):
    entry(tmp_path, THREE)
    entry(tmp_path, THREE, *RUNS)
    (tmp_path / "settings.json").write_text(json.dumps({"finetuning": {"seeds": [1, 2, 3]}}))
    path = tmp_path / questions.REGISTER
    known = json.loads(path.read_text())
    (one,) = known.values()
    if edit == "digest":
        del one["seeds_sha256"]
    else:
        one["seeds"][0]["plan"]["seeds"] = [1, 2, 3, 4, 5]
    if edit == "sha256 too":
        one["seeds_sha256"] = questions.digest_of(one["seeds"])
    path.write_text(json.dumps(known))
    with pytest.raises(StudyError, match="put the file back"):
        entry(tmp_path, FIVE, *RUNS)
    # Without either the register is one of before, and settings.json has the seeds.
    for key in ("seeds", "seeds_sha256"):
        one.pop(key, None)
    path.write_text(json.dumps(known))
    assert questions.continuations(entry(tmp_path, FIVE, *RUNS)) == 1


def test_all_cells_of_a_grid_train_on_for_the_best_of_them(tmp_path):
    """A choice among arms needs as many seeds of each, whichever of them another question is about."""
    arms = {name: changed({})["finetuning"]["arms"][C] for name in ("slow", "fast", "other")}
    best = {"ask": "Best?", "compare": ["best of slow, fast", "other"]}
    settings = changed({"questions": [best], "finetuning.arms": arms, "finetuning.seeds": {"looks": [2, 3, 5]}})
    seed_plans.write_out(settings["finetuning"])
    (asked,) = questions.asked_by(settings)
    row = {"question_sha256": questions.digest(asked), "answer": "open"}
    for look in (1, 2):
        write_tsv(tmp_path / f"look{look}.tsv", [row], ["question_sha256", "answer"])
    found = seed_plans.trained_seeds(settings, lambda number: tmp_path / f"look{number}.tsv")
    assert {len(some) for some in found.values()} == {5}


def test_a_study_that_stopped_early_is_published_with_the_runs_that_it_needed(tmp_path):
    (tmp_path / "looks").mkdir()
    table(tmp_path / "looks", 1, first="open", second="equal")
    table(tmp_path / "looks", 2, first="equal")
    settings = config() | {"qa": {"enabled": False}}
    runs = [run for run in published_runs.planned(settings, str(tmp_path)) if run.startswith("finetuning/")]
    assert len(runs) == 3 + 3 + 2 and f"finetuning/{A}/seed3" in runs and f"finetuning/{C}/seed3" not in runs
