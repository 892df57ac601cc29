"""The first screen: which arms may lead it, and the table of pairs, which says nothing but differences."""

import pandas
import pytest

from report.inputs import Table
from report.sections.answer.facts import leading, matrix


def arms(*names):
    return pandas.DataFrame({"arm": names, "mean": [str(0.9 - 0.1 * place) for place in range(len(names))]})


def grid(**best):
    return {"arms": Table([{"arm": name, "best": flag} for name, flag in best.items()], "recipes.tsv")}


@pytest.mark.parametrize(
    ("grids", "leads"),
    [
        (None, ["high", "mid", "low"]),
        # The highest test mean of a start was not validation's choice.
        (grid(high="false", mid="true"), ["mid", "low"]),
        (grid(high="true", mid="false", low="false"), ["high"]),
    ],
)
def test_an_arm_that_validation_left_out_leads_nothing(grids, leads):
    assert leading(arms("high", "mid", "low"), grids)["arm"].tolist() == leads


def test_the_matrix_has_every_pair_once_above_its_diagonal():
    facts = {"framework": "any", "model": "checkpoint", "init": "pretrained"}
    pairs = [
        {f"{key}_{side}": value for side, name in zip("ab", two, strict=True) for key, value in facts.items()}
        | {"arm_a": two[0], "arm_b": two[1]}
        for two in (("a", "b"), ("a", "c"), ("b", "c"))
    ]
    across, rows = matrix(pairs)
    assert [arm["arm"] for arm in across] == ["b", "c"]
    assert [(arm["arm"], [pair and (pair["arm_a"], pair["arm_b"]) for pair in cells]) for arm, cells in rows] == [
        ("a", [("a", "b"), ("a", "c")]),
        ("b", [None, ("b", "c")]),
    ]
