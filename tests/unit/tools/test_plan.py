"""`make plan`: from a pilot or an assumed spread, nothing invented, and a plan beside what came of it."""

import os
import re

import pytest

from common.errors import StudyError
from support import studies
from tools import plan

STUDY = os.path.join(studies.ROOT, "studies", "best-recipes.yaml")
PILOT, GIVEN = (os.path.join(studies.ROOT, "published", name) for name in ("recipes", "best-recipes"))
DOCS = os.path.join(studies.ROOT, "docs", "method", "plans.md")


def planned(tmp_path, capsys, *arguments, study=STUDY):
    plan.main([study, "--page", str(tmp_path / "plan.html"), *arguments])
    return capsys.readouterr().out


def test_the_plan_from_recipes_beside_what_five_seeds_gave_is_that_of_the_docs(tmp_path, capsys):
    found = planned(tmp_path, capsys, "--from", PILOT, "--against", GIVEN)
    rows = [line for line in found.splitlines() if line.startswith("|")]
    with open(DOCS, encoding="utf-8") as page:
        text = page.read()
    assert len(rows) == 8 and "\n".join(rows) in text
    numbers = [
        [float(one) for one in re.findall(r"[\d.]+", cell)]
        for row in rows[2:]
        for cell in ["".join(row.split("|")[4:6])]
    ]
    # As the page says: all wider than the spread seen promised, five of six within the bound, the sixth 0.05 beyond.
    assert all(given > seen for seen, _, given in numbers)
    misses = [given - bound for _, bound, given in numbers if given > bound]
    assert len(misses) == 1 and misses[0] == pytest.approx(0.05, abs=0.005)


def test_an_arm_is_represented_by_its_like(tmp_path, capsys):
    found = planned(tmp_path, capsys, "--from", PILOT)
    assert "fairseq-pretrained by pretrained-lr3e-5-epochs5, fairseq-random by random-lr1e-4-epochs5" in found
    # 225 updates an epoch, five epochs, four arms: hours of the pilot's runs, by their updates.
    assert re.search(r"\n +5 +[\d.]+ h +[\d.]+ GB", found)
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "<svg" in page and not re.search(r'(src|href)="', page)


def test_without_a_pilot_the_spread_is_assumed_and_hours_are_not_invented(tmp_path, capsys):
    study = studies.write_study(tmp_path / "study.yaml", {"finetuning": {"seeds": {"looks": [3, 5]}}})
    found = planned(tmp_path, capsys, "--sd", "2", "--texts", "500", "--difference", "3", study=study)
    assert "assumed: SD 2 points, accuracy 80 %, independent errors" in found and "looks after 3, 5" in found
    assert "not known: name finished runs" in found
    # Two arms of 0.8 · 0.2 each: 500 texts leave √(0.32 / 500) = 2.53 points a standard error. Three questions and two
    # looks share 5 %: 1 - 0.05 / 12 of the normal is 2.638.
    assert "these texts leave ± 6.67 points" in found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "nowhere"], "nowhere/runs.tsv is missing: name the results of a finished study"),
        (["--sd", "0"], "--sd above 0"),
        (["--power", "1"], "--power is from 0.5 to below 1"),
        ([], "the number of test texts is not known yet; give it"),
    ],
)
def test_what_cannot_be_planned_is_refused(tmp_path, capsys, arguments, said):
    with pytest.raises(StudyError, match=re.escape(said)):
        planned(tmp_path, capsys, *arguments)
