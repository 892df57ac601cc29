"""Starts are compared by their own recipes, and corrected for those pairs alone."""

import pytest

from analysis import inference
from common.files import read_tsv
from support.recipe_study import finetuning, make_recipes, parts


def test_starts_are_compared_by_the_recipes_that_validation_chose(tmp_path):
    files = make_recipes(tmp_path, parts())
    chosen = {row["arm"] for row in read_tsv(files["recipes"]) if row["best"] == "true"}
    rows, pairs = read_tsv(files["recipe_starts"]), read_tsv(files["pairs"])
    # "all" has one recipe, and is a start as the others.
    assert [{row["arm_a"], row["arm_b"]} < chosen | {"all"} for row in rows] == [True] * 3 and len(pairs) == 10
    of = {(row["arm_a"], row["arm_b"]): row for row in pairs}
    for row in rows:
        same = of[row["arm_a"], row["arm_b"]]
        assert (row["difference"], row["low"], row["welch_p"]) == (same["difference"], same["low"], same["welch_p"])
    corrected = inference.holm([float(row["welch_p"]) for row in rows])
    assert [float(row["welch_p_holm"]) for row in rows] == pytest.approx(corrected)
    assert all("after Holm for 3 pairs" in row["verdict"] for row in rows)


def test_runs_that_did_not_learn_are_named_with_their_start(tmp_path):
    """In the verdict of every pair of theirs, and of no other."""
    files = make_recipes(tmp_path, parts())
    failed = [row["arm"] for row in read_tsv(files["learned"]) if row["learned"] == "false"]
    rows = read_tsv(files["recipe_starts"])
    own = {row[f"arm_{side}"] for row in rows for side in "ab"} & set(failed)
    assert own and len({row["arm_a"] for row in rows} | {row["arm_b"] for row in rows}) > len(own)
    for row in rows:
        told = [failed.count(row[f"arm_{side}"]) for side in "ab" if row[f"arm_{side}"] in failed]
        assert ("did not learn" in row["verdict"]) == bool(told), row["verdict"]
        assert all(str(count) in row["verdict"].partition("did not learn")[0][-60:] for count in told)


def test_where_all_starts_share_their_recipes_their_own_table_says_it(tmp_path):
    assert "recipe_starts" not in make_recipes(tmp_path, finetuning())
