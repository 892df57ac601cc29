"""Which arms lie on one learning curve, and where."""

from finetuning.learning_curves import learning_points
from support.learning_study import HF, finetuning
from support.settings import defaults


def points(**arms):
    found = learning_points(defaults()["finetuning"] | {"arms": arms})
    return [tuple(point[key] for key in ("curve", "start", "arm", "amount")) for point in found]


def test_both_curves_of_a_study():
    found = learning_points(finetuning())
    places = {(point["curve"], point["start"]): [] for point in found}
    for point in found:
        places[point["curve"], point["start"]].append(point["amount"])
    assert places == {
        ("labelled reviews", "Hugging Face, pretrained"): [None, 100, 300],
        ("labelled reviews", "Hugging Face, random"): [None, 100, 300],
        # The whole checkpoint, random weights, then those kept on the way.
        ("pretraining updates", "Hugging Face"): [None, 0, 500, 1000],
    }


def test_random_weights_and_the_whole_checkpoint_are_the_ends_of_a_curve():
    found = points(a=HF | {"init": "pretrained"}, b=HF | {"init": "pretrained", "at_update": 500})
    assert [(arm, amount) for *_, arm, amount in found] == [("a", None), ("b", 500)]
    found = points(a=HF | {"init": "random"}, b=HF | {"init": "pretrained", "at_update": 500})
    assert [(arm, amount) for *_, arm, amount in found] == [("a", 0), ("b", 500)]


def test_without_such_arms_there_is_no_curve():
    assert points(a=HF | {"init": "pretrained"}, b=HF | {"init": "random"}) == []
    assert points(a=HF | {"init": "random", "n_train": 100}) == []


def test_arms_of_another_recipe_or_model_are_on_a_curve_of_their_own():
    of = {"init": "random", "training": {"lr": 0.1}}
    found = points(a=HF | {"init": "random"}, b=HF | {"init": "random", "n_train": 9},
                   c=HF | of | {"n_train": 9}, d=HF | of | {"n_train": 20},
                   e=HF | {"init": "random", "n_train": 9, "freeze": "encoder"})  # fmt: skip
    assert [(start, arm) for _, start, arm, _ in found] == [
        ("Hugging Face, random, learning rate 0.0003, 10 epochs", "a"),
        ("Hugging Face, random, learning rate 0.0003, 10 epochs", "b"),
        ("Hugging Face, random, learning rate 0.1, 10 epochs", "c"),
        ("Hugging Face, random, learning rate 0.1, 10 epochs", "d"),
    ]
