"""`make simulate`: the page is that of the record, studies drawn again agree with it, errors have their warnings."""

import math

import numpy as np
import pytest

from analysis.failures import WARNINGS
from common.files import read_tsv
from tools import simulate, simulated

RECORD = read_tsv(f"{simulate.FOLDER}/simulations.tsv")
BY_NAME = {setting.name: setting for setting in simulated.settings()}
# Settings in which words once were wrong in 9 to 55 % of studies, or are.
WORST = (
    "2 against 5 seeds, SD 2 and 0.2",
    "5 seeds, SD 0.2",
    "5 seeds, 10 % collapses in one arm",
    "four arms of 5 seeds, SD 0.2, six pairs",
    "3 seeds, a class of 5 %, macro-F1 over seeds",
    "3 seeds, a class of 5 %, macro-F1 over seeds and texts",
)


def numbers(row):
    return {name: int(row[name]) if row[name] else None for name in ("studies", *simulated.COUNTED)}


def test_the_page_is_that_of_the_record():
    with open(f"{simulate.FOLDER}/simulations.md", encoding="utf-8") as page:
        assert page.read() == simulate.page_of(RECORD)
    assert [row["setting"] for row in RECORD] == list(BY_NAME)


@pytest.mark.parametrize("name", WORST)
def test_the_record_is_what_studies_drawn_again_say(name):
    studies = 200
    (again,) = simulated.simulate([BY_NAME[name]], studies)
    recorded = numbers(next(row for row in RECORD if row["setting"] == name))
    compared = 0
    for count in simulated.COUNTED:
        if recorded[count] is None:
            assert again[count] is None
            continue
        # The first studies are the same ones: what is left of the record is where another one can come from.
        assert again[count] <= recorded[count]
        share = recorded[count] / recorded["studies"]
        error = math.sqrt(max(share * (1 - share), 0.01) / studies)
        assert abs(again[count] / studies - share) < 4 * error, count
        compared += 1
    assert compared >= 1


def test_a_smaller_number_draws_the_same_first_studies():
    setting = BY_NAME["3 seeds, SD 1, against a model without seeds"]
    first, *_ = simulated.simulate([setting], 100)
    both, *_ = simulated.simulate([setting], 200)
    second = simulated.block((setting, 1, 100))[1]
    for name in simulated.COUNTED:
        assert both[name] == (None if first[name] is None else first[name] + second[name])


def test_every_error_that_is_too_large_has_its_warning():
    warned = set()
    for row in RECORD:
        setting, counts = BY_NAME[row["setting"]], numbers(row)
        names = simulate.needed(setting, row | counts)
        errors = [counts[name] for name in simulated.COUNTED if name.endswith("wrong") and counts[name] is not None]
        if setting.kind != "family":
            held = [counts[name] for name in ("covered", "asked_covered", "arm_covered") if counts[name] is not None]
            errors += [counts["studies"] - count for count in held]
        if any(simulate.too_many(error, counts["studies"]) for error in errors):
            assert names and set(names) <= set(WARNINGS), row["setting"]
            warned.add(row["setting"])
        else:
            assert not names
    # Collapses, and a start that all seeds share, cannot be mended by an interval over these seeds.
    assert "5 seeds, 10 % collapses in one arm" in warned
    assert "5 seeds, half of the variance common to an arm's seeds" in warned
    assert not warned & {"5 seeds, SD 1", "2 against 5 seeds, SD 2 and 0.2", "5 seeds, SD 0.2"}


def test_a_warning_that_lacks_is_noticed():
    row = dict.fromkeys(simulated.COUNTED) | {"kind": "arms", "studies": 1000, "asked_wrong": 200, "asked_covered": 950}
    assert simulate.needed(BY_NAME["5 seeds, SD 1"], row | {"warnings": "unseen failures"}) == []
    assert simulate.needed(BY_NAME["5 seeds, SD 1"], row | {"warnings": "common start"}) == ["common start"]
    assert simulate.needed(BY_NAME["5 seeds, SD 1"], row | {"asked_wrong": 50, "warnings": "common start"}) == []
    few = row | {"asked_wrong": 50, "asked_covered": 800, "warnings": "common start"}
    assert simulate.needed(BY_NAME["5 seeds, SD 1"], few) == ["common start"]
    assert not simulate.too_many(60, 1000) and simulate.too_many(80, 1000)


def test_runs_have_the_accuracies_that_they_are_drawn_with():
    # Each run is right on 200,000 texts with its own probability: standard error √(0.8 · 0.2 / 200,000) = 0.0009.
    generator = np.random.default_rng(1)
    first, second = simulated.draw_right([np.array([0.8, 0.9]), np.array([0.5, 0.7])], generator, 200_000)
    assert first.mean(axis=1) == pytest.approx([0.8, 0.9], abs=0.005)
    assert second.mean(axis=1) == pytest.approx([simulated.COLLAPSED, 0.7], abs=0.005)
    # Runs of both arms find the same texts hard, and those of one arm more so.
    third = simulated.draw_right([np.array([0.7, 0.7]), np.array([0.7])], generator, 200_000)
    within = np.corrcoef(third[0])[0, 1]
    across = np.corrcoef(third[0][0], third[1][0])[0, 1]
    assert 0.2 < across < within - 0.05


def test_the_expectation_of_an_arm_counts_its_collapses():
    setting = BY_NAME["10 seeds, 10 % collapses in one arm"]
    generator = np.random.default_rng(2)
    drawn = [simulated.draw_accuracies(setting, 0.03, generator)[0] for _ in range(3000)]
    # 0.83 and 0.80: standard error of the first √(0.1 · 0.9) · 0.37 / √30,000 = 0.0006.
    assert np.mean([arms[0] for arms in drawn]) == pytest.approx(0.83, abs=0.003)
    assert np.mean([arms[1] for arms in drawn]) == pytest.approx(0.80, abs=0.003)


def test_the_expected_macro_f1_is_that_of_many_texts():
    # Recalls 0.97 and 0.6 of shares 0.95 and 0.05, without spread: answers 0.9415 and 0.0585 of all texts;
    # F1 = 2 · 0.9215 / (0.95 + 0.9415) = 0.97436 and 2 · 0.03 / (0.05 + 0.0585) = 0.55300.
    setting = simulated.Setting("x", "t", (3,), (0.0,), 0.97, shares=(0.95, 0.05), recall=0.6, recall_sd=0.0)
    assert simulated.expected_macro_f1(setting) == pytest.approx((0.97436 + 0.55300) / 2, abs=1e-5)


def test_a_run_prints_the_page_and_records_its_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(simulate, "FOLDER", str(tmp_path))
    few = simulated.settings()[0]
    monkeypatch.setattr(simulate, "settings", lambda: [few, BY_NAME["3 seeds, five classes, macro-F1 over seeds"]])
    simulate.main(["--only", "verdicts", "--studies", "3", "--processes", "1"])
    page = (tmp_path / "simulations.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out == page and f"| {few.name} |" in page
    recorded = read_tsv(tmp_path / "simulations.tsv")
    assert [row["studies"] for row in recorded] == ["3", "3"] and recorded[1]["asked_wrong"] == ""
