"""`make simulate` of looks: page and record agree, studies drawn again agree, and the record holds what is claimed."""

import math

import pytest

from analysis import contrasts
from analysis.arm_pairs import OPTIONS
from analysis.judging import answer
from common.files import read_tsv
from study.questions import digest
from tools import simulate, simulated_looks

RECORD = read_tsv(f"{simulate.FOLDER}/looks-simulated.tsv")
WRONG = [row for row in RECORD if row["kind"] == "wrong"]
SEEDS = [row for row in RECORD if row["kind"] == "seeds"]


def test_the_page_is_that_of_the_record():
    with open(f"{simulate.FOLDER}/looks-simulated.md", encoding="utf-8") as page:
        assert page.read() == simulated_looks.page_of(RECORD)


def test_the_record_has_ten_patterns_of_looks_and_three_kinds_of_spread():
    rows = {(row["spread"], row["looks"]) for row in WRONG}
    assert len(rows) == len(WRONG) == 30 and {int(row["studies"]) >= 1000 for row in RECORD} == {True}


@pytest.mark.parametrize("claim", ["difference", "equal", "beyond"])
def test_no_claim_errs_in_more_than_one_study_in_twenty(claim):
    """The largest of 30 shares has two standard errors of room."""
    for row in WRONG:
        studies = int(row["studies"])
        assert int(row[f"{claim}_wrong"]) <= 0.05 * studies - 2 * math.sqrt(0.05 * 0.95 * studies), row


def test_a_true_difference_takes_fewer_seeds_than_a_fixed_design_of_the_same_power():
    for row in SEEDS:
        assert float(row["looks_seeds"]) < int(row["same_power_seeds"]), row
        assert int(row["looks_found"]) >= int(row["fixed_found"]), row


def test_the_record_is_what_studies_drawn_again_say():
    spread = simulated_looks.SPREADS[0]
    again = simulated_looks.summed([row for block in (0, 1) for row in simulated_looks.wrong_claims(spread, 75, block)])
    assert len(again) == 10 and {row["studies"] for row in again} == {150}
    for row in again:
        (recorded,) = [one for one in WRONG if (one["spread"], one["looks"]) == (spread.name, row["looks"])]
        for name in ("difference_wrong", "equal_wrong", "beyond_wrong"):
            # The first studies are the same ones.
            assert row[name] <= int(recorded[name])


def test_a_study_is_judged_as_the_page_does():
    """The simulation's short way, for one question, is what `analysis.judging.answer` says."""
    question = {"ask": "Equal?", "compare": ["a", "b"], "equal_within": 100 * simulated_looks.MARGIN}
    registered = {digest(question): {"asked": "", "runs": []}}
    looks, said = (2, 3, 5), []
    for arms in simulated_looks.studies_of(simulated_looks.SPREADS[0], 0.02, 5, 30):
        short = simulated_looks.looked(simulated_looks.claims(arms, looks, simulated_looks.MARGIN), looks)
        scored = {name: (list(arm.mean(axis=1)), arm, False) for name, arm in zip("ab", arms, strict=True)}
        plan = {"seeds": [1, 2, 3, 4, 5], "looks": list(looks)}
        (row,), history = answer([question], registered, {"accuracy": scored}, {}, OPTIONS, plan=plan)
        assert (row["answer"], row["n_seeds"]) == short and len(history) == row["look"]
        said.append(short[0])
        terms = [contrasts.Term(1, arms[0][: short[1]]), contrasts.Term(-1, arms[1][: short[1]])]
        # Three looks: each has a level of 1 - 0.04 / 3.
        low, high = contrasts.interval(terms, row["score_difference"], 1 - 0.04 / 3)
        assert (row["score_difference_low"], row["score_difference_high"]) == pytest.approx((low, high))
    assert len(set(said)) > 1
