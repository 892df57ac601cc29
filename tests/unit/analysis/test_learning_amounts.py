"""How much the arms of a learning curve learnt from, where only the runs and the pretraining know it."""

import pandas

from analysis.tabulate_learning_curves import with_amounts

RUNS = pandas.DataFrame({"arm": ["whole", "few", "late", "random"], "n_train": ["1800", "100", "1800", "1800"]})


def point(curve, arm, amount):
    return {"curve": curve, "start": "Hugging Face", "arm": arm, "amount": amount}


def test_all_reviews_are_counted_by_the_runs_and_all_updates_by_the_pretraining():
    points = [point("labelled reviews", "whole", None), point("labelled reviews", "few", 100)]
    points += [point("pretraining updates", arm, n) for arm, n in (("whole", None), ("random", 0), ("late", 600))]
    found = [(one["curve"], one["arm"], one["amount"]) for one in with_amounts(points, RUNS, 800)]
    assert found == [
        ("labelled reviews", "few", 100), ("labelled reviews", "whole", 1800),
        ("pretraining updates", "random", 0), ("pretraining updates", "late", 600),
        ("pretraining updates", "whole", 800),
    ]  # fmt: skip


def test_the_last_update_asked_for_by_its_number_is_the_same_place():
    points = [point("pretraining updates", arm, n) for arm, n in (("whole", None), ("random", 0), ("late", 800))]
    assert [one["arm"] for one in with_amounts(points, RUNS, 800)] == ["random", "whole"]
