"""Questions of a study file: refused where they ask nothing, and noted with what there was when they were asked."""

import json

import pytest

from common.errors import StudyError
from study import questions
from study.grids import expand_grids
from support.settings import changed, message

A, B, C = "fairseq-pretrained", "fairseq-random", "huggingface-pretrained"
ASKED = {"ask": "Does pretraining help?", "compare": [A, B]}


def there(*runs):
    """The finished runs that any measure scores, as `register` asks for them."""
    return lambda measure: set(runs)


def refused(*asked):
    return message({"questions": list(asked)})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"compare": [A, "fairseq-randon"]}, "fairseq-randon is no arm and no simple model of the study. Did you mean"),
        ({"compare": [A, "zzz"]}, f"The arms are {A}, {B}, {C}, majority, tfidf_words, tfidf_characters"),
        ({"compare": [A, A]}, "both sides are the same; name two"),
        ({"compare": [[A, B], [A, B]]}, "both sides are the same; name two"),
        ({"compare": [[A, A], [A, B]]}, "a pair names one arm twice; name two"),
        ({"compare": [A, [A, B]]}, "give two arms, or two pairs of arms"),
        ({"compare": [A]}, "questions, entry 1, compare"),
        ({"compare": [[A, B, C], [A, B]]}, "questions, entry 1, compare"),
        ({"compare": [A, 3]}, "questions, entry 1, compare"),
        ({"equal_within": 0}, "equal_within is 0"),
        ({"measure": "macro_f2"}, "Did you mean macro_f1?"),
        (
            {"compare": ["rank16", "base"]},
            "rank16 is not compared by accuracy; let measure be one that scores it, such as",
        ),
        ({"measure": "chrf"}, f"{A} is not compared by chrf; let measure be one that scores it, such as accuracy"),
        ({"measure": "chrf", "compare": ["rank16", "bass"]}, "Did you mean base?"),
        ({"margin": 1}, "margin"),
        ({"ask": ""}, "ask is ''"),
        ({"ask": "Two\nlines?"}, "one line of 3 to 200 characters"),
    ],
)
def test_what_asks_nothing_is_refused(changes, said):
    assert said in refused(ASKED | changes)


@pytest.mark.parametrize(
    ("compare", "said"),
    [
        (["best of zzz", B], "zzz is no arm, no arm of a grid and no simple model"),
        (["best of fairseq-pretrainet, " + B, C], f"Did you mean {A}?"),
        ([f"best of {A}", B], f"best of {A} has 1 to choose from; name two or more"),
        ([f"best of {A}, tfidf_words", B], "arms and simple models are chosen apart"),
        ([f"best of {A}, {B}", B], f"may choose {B}, which the question names on its own, too"),
        ([f"best of {A}, {B}", f"best of {B}, {C}"], f"may choose {B}"),
        (["best of ", B], "is no arm"),
    ],
)
def test_a_choice_that_is_none_is_refused(compare, said):
    assert said in refused(ASKED | {"compare": compare})


def test_a_choice_among_arms_of_question_answering_is_refused():
    asked = {"ask": "Is it?", "compare": ["best of rank4, rank16", "base"], "measure": "chrf"}
    assert "validation chooses among arms of fine-tuning only" in refused(asked)


def config_of(arms, asked, baselines=("majority", "tfidf_words", "tfidf_characters"), grids=()):
    plain = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}
    finetuning = {"arms": {name: plain | facts for name, facts in arms.items()}, "baselines": list(baselines)}
    finetuning |= {"training": {"lr": 1e-5, "epochs": 5}, "grids": list(grids)}
    if grids:
        expand_grids(finetuning)
    return {"questions": asked, "finetuning": finetuning}


def test_a_study_without_questions_asks_by_the_rule():
    found = questions.asked_by(config_of({"one": {}, "two": {}, "three": {}}, None))
    operand = "best of tfidf_words, tfidf_characters"
    assert [one["compare"] for one in found] == [["two", "one"], ["three", "one"], ["one", operand]]
    assert found[2]["among"] == {operand: ["tfidf_words", "tfidf_characters"]} and "among" not in found[0]
    # The simple model learns from the first arm's texts; one of them is no choice, and none no question.
    found = questions.asked_by(config_of({"few": {"n_train": 9}}, None))
    assert found[0]["compare"] == ["few", "best of tfidf_words-n9, tfidf_characters-n9"]
    assert (
        questions.asked_by(config_of({"one": {}}, None, ["majority", "tfidf_words"]))[0]["compare"][1] == "tfidf_words"
    )
    assert questions.asked_by(config_of({"one": {}}, None, ["majority"])) == []
    # A list without a question asks nothing.
    assert questions.asked_by(config_of({"one": {}, "two": {}}, [])) == []


def test_the_best_of_a_grids_arm_is_one_of_its_cells():
    grids = [{"arms": ["a", "a-b"], "lr": [1e-3, 2.5e-4], "epochs": [10, 5]}]
    config = config_of(
        {"a": {}, "a-b": {}, "a-other": {}}, [ASKED | {"compare": ["best of a", "best of a-b"]}], grids=grids
    )
    (found,) = questions.asked_by(config)
    # Fewest epochs and lowest rate first; the arms of another name with the same beginning are none.
    names = ["lr2.5e-4-epochs5", "lr1e-3-epochs5", "lr2.5e-4-epochs10", "lr1e-3-epochs10"]
    assert found["among"] == {f"best of {arm}": [f"{arm}-{name}" for name in names] for arm in ("a", "a-b")}
    # Other candidates make another question of it.
    assert questions.digest(found) != questions.digest(found | {"among": {}})


def test_a_sentence_is_asked_once():
    assert "entry 2: ask is that of entry 1, too; ask it once" in refused(ASKED, ASKED | {"equal_within": 1})


def test_the_signs_of_a_contrast():
    assert questions.sides(ASKED) == [(1, A), (-1, B)]
    assert questions.sides({"compare": [[A, B], [C, A]]}) == [(1, A), (-1, B), (-1, C), (1, A)]


def test_a_question_is_noted_once_and_never_taken_out(tmp_path):
    folder = tmp_path / "results"
    path = folder / questions.REGISTER
    questions.register(folder, [], there())
    assert not path.exists()
    questions.register(folder, [ASKED], there())
    first = path.read_bytes()
    (entry,) = questions.read_register(path).values()
    assert entry["runs"] == [] and entry["asked"]
    # Later starts, with runs at hand, and keys in another order.
    questions.register(folder, [dict(reversed(ASKED.items()))], there(f"{A}/seed1"))
    assert path.read_bytes() == first
    changed = ASKED | {"equal_within": 1.5}
    questions.register(folder, [changed], there(f"{A}/seed2", f"{A}/seed1"))
    known = questions.read_register(path)
    assert list(known) == [questions.digest(ASKED), questions.digest(changed)]
    assert known[questions.digest(changed)]["runs"] == [f"{A}/seed1", f"{A}/seed2"]


@pytest.mark.parametrize("other", [{"ask": "Another?"}, {"compare": [B, A]}, {"measure": "mcc"}, {"equal_within": 1}])
def test_another_question_has_another_digest(other):
    assert questions.digest(ASKED | other) != questions.digest(ASKED)


def test_a_lost_register_is_told(tmp_path):
    questions.register(tmp_path, [ASKED], there())
    (tmp_path / questions.REGISTER).unlink()
    (tmp_path / "questions.tsv").touch()
    with pytest.raises(
        StudyError, match=r"questions\.json is missing, .* put it back, or remove .*questions\.tsv, too"
    ):
        questions.register(tmp_path, [ASKED], there(f"{A}/seed1"))
    (tmp_path / "questions.tsv").unlink()
    questions.register(tmp_path, [ASKED], there(f"{A}/seed1"))
    assert [entry["runs"] for entry in questions.read_register(tmp_path / questions.REGISTER).values()] == [
        [f"{A}/seed1"]
    ]


@pytest.mark.parametrize("edit", ["text", "key", "no list", "no time"])
def test_a_register_that_was_edited_is_refused(tmp_path, edit):
    questions.register(tmp_path, [ASKED], there())
    path = tmp_path / questions.REGISTER
    known = json.loads(path.read_text())
    (key,) = known
    if edit == "text":
        known[key]["compare"] = [B, A]
    elif edit == "key":
        known = {"0" * 64: known[key]}
    elif edit == "no list":
        known = [known]
    else:
        del known[key]["asked"]
    path.write_text(json.dumps(known))
    with pytest.raises(StudyError, match="is not the register of questions that this study wrote: put the file back"):
        questions.register(tmp_path, [ASKED], there())


def test_a_question_without_a_measure_is_asked_by_the_leading_one():
    config = changed({"questions": [ASKED, ASKED | {"ask": "And by loss?", "measure": "loss"}]})
    assert questions.asked_by(config) == config["questions"]
    led = questions.asked_by(config | {"measure": "macro_f1"})
    assert [one["measure"] for one in led] == ["macro_f1", "loss"]
    assert questions.digest(led[0]) != questions.digest(ASKED)
