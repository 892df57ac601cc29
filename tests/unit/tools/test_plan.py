"""`make plan`: from a pilot or an assumed spread, nothing invented, and a plan beside what came of it."""

import os
import re

import numpy as np
import pandas
import pytest
import yaml
from sklearn.metrics import f1_score, log_loss, matthews_corrcoef

from common.errors import StudyError
from common.files import read_tsv
from support import studies
from tools import plan, seed_spreads

STUDY = os.path.join(studies.ROOT, "studies", "best-recipes.yaml")
PILOT, GIVEN = (os.path.join(studies.ROOT, "published", name) for name in ("recipes", "best-recipes"))
DOCS = os.path.join(studies.ROOT, "docs", "method", "plans.md")


def planned(tmp_path, capsys, *arguments, study=STUDY):
    plan.main([study, "--no-benchmark", "--page", str(tmp_path / "plan.html"), *arguments])
    return capsys.readouterr().out


def asked(tmp_path, **question):
    """A study of the pilot's arms that asks one question."""
    arms = {
        f"{init}-lr1e-5-epochs5": {"framework": "huggingface", "model": "checkpoint", "init": init, "training": {}}
        for init in ("pretrained", "random")
    }
    one = {"ask": "Does the start matter?", "compare": list(arms), **question}
    settings = {"study": "asked", "questions": [one], "finetuning": {"arms": arms}}
    return studies.write_study(tmp_path / "study.yaml", settings, base={})


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
    # The pilot trained no arm in fairseq, so that the hours are of two arms, and the plan says so.
    assert re.search(r"\n +5 +[\d.]+ h +[\d.]+ GB", found) and "without those of unknown time" in found
    assert "huggingface-random: 0.10 h a run; 3 finished runs of random-lr1e-4-epochs5 in" in found
    assert "fairseq-pretrained, fairseq-random: not known a run; no finished runs, no benchmark" in found
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    # Where it stands for both sides, nothing is known of the texts' part: no figure of 0 is given for it.
    for said in (found, page):
        assert "ne arm of the pilot stands for both sides, so what 2,000 test texts leave is not known" in said
        assert "± 0.00" not in said
    assert "<svg" in page and not re.search(r'(src|href)="', page)


def test_without_a_pilot_the_spread_is_assumed_and_hours_are_not_invented(tmp_path, capsys):
    study = studies.write_study(tmp_path / "study.yaml", {"finetuning": {"seeds": {"looks": [3, 5]}}})
    found = planned(tmp_path, capsys, "--sd", "2", "--texts", "500", "--difference", "3", study=study)
    assert "assumed: SD 2 points, accuracy 80 %, independent errors" in found and "looks after 3, 5" in found
    assert "not known a run; no finished runs, no benchmark" in found
    # Two arms of 0.8 · 0.2 each: 500 texts leave √(0.32 / 500) = 2.53 points a standard error. Three questions and two
    # looks share 4 %: 1 - 0.04 / 12 of the normal is 2.713.
    assert "500 test texts leave ± 6.86 points however many seeds there are" in found


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


@pytest.mark.parametrize(
    ("measure", "unit"),
    [("macro_f1", "macro-F1, points"), ("mcc", "Matthews' correlation, units"), ("loss", "loss, nats")],
)
def test_other_measures_are_planned_from_a_pilots_texts(tmp_path, capsys, measure, unit):
    found = planned(tmp_path, capsys, "--from", PILOT, study=asked(tmp_path, measure=measure))
    assert f"Does the start matter? ({unit})" in found and "not planned" not in found
    (line,) = [line for line in found.splitlines() if line.startswith("  spread ")]
    (sd,) = re.findall(r"SD over seeds ([\d.]+), [\d.]+$", line)
    # By hand, from the pilot's runs.
    arm = os.path.join(studies.published("recipes"), "predictions", "pretrained-lr1e-5-epochs5")
    tables = [pandas.read_csv(os.path.join(arm, f"seed{seed}.tsv"), sep="\t") for seed in (1, 2, 3)]
    of_sklearn = {
        "macro_f1": lambda one: 100 * f1_score(one["label"], one["prediction"], average="macro"),
        "mcc": lambda one: matthews_corrcoef(one["label"], one["prediction"]),
        "loss": lambda one: log_loss(one["label"], one["probability"]),
    }[measure]
    seen = np.std([of_sklearn(one) for one in tables], ddof=1)
    # The plan takes the seeds' part apart from that of seeds by texts, at least 0 each, and adds them again.
    assert float(sd) >= 0.99 * seen and float(sd) < seen + (1.5 if measure == "macro_f1" else 0.02)


def test_a_pilot_of_one_checkpoint_knows_no_spread_of_pretrainings(tmp_path, capsys):
    note = "whose seeds share one checkpoint: the spread of pretrainings is not in this plan"
    study = asked(tmp_path)
    assert note not in planned(tmp_path, capsys, "--from", PILOT, study=study)
    own = {
        "checkpoint": {"pretraining": {"seeds": [1, 2]}},
        "finetuning": {"seeds": [1, 2], "vary": ["initialisation", "order", "checkpoint"]},
    }
    with open(study, encoding="utf-8") as handle:
        settings = yaml.safe_load(handle)
    study = studies.write_study(tmp_path / "own.yaml", studies.merged(settings, own), base={})
    assert note in planned(tmp_path, capsys, "--from", PILOT, study=study)


def test_a_measure_whose_texts_are_unknown_is_refused_in_one_sentence(tmp_path, capsys):
    with pytest.raises(StudyError, match="accuracy and SD do not give the texts' part of macro-F1: name a fin"):
        planned(tmp_path, capsys, "--texts", "500", study=asked(tmp_path, measure="macro_f1"))
    with pytest.raises(StudyError, match="RMSE is no measure of the labels of .*: name a pilot of the study's kind"):
        spread = plan.Pilot(PILOT)
        spread.scored("pretrained-lr1e-5-epochs5", "rmse")


def test_what_these_texts_never_show_is_said(tmp_path, capsys):
    found = planned(tmp_path, capsys, "--sd", "0.5", "--texts", "500", "--difference", "10", study=asked(tmp_path))
    # √(2 · 0.16 / 500) = 2.53 points a standard error; 1.96 and 0.84 of these are 7.09.
    assert "none show a difference below 7.09" in found
    rows = {float(row[0]): row[1:] for row in map(str.split, found.splitlines()) if len(row) == 4 and row[1] == row[2]}
    assert rows[5.0][0] == "never" and rows[10.0][0].isdigit()
    # (1.96 + 0.8416)² · 0.32 / 0.05².
    assert rows[5.0][2] == "1,005"
    assert "however many seeds; the last column" in (tmp_path / "plan.html").read_text(encoding="utf-8")


def test_a_difference_has_one_row_and_no_power_is_named_without_one(tmp_path, capsys):
    arguments = ("--sd", "0.5", "--texts", "500")
    named = planned(tmp_path, capsys, *arguments, "--difference", "2", study=asked(tmp_path))
    assert len([line for line in named.splitlines() if line.split()[:1] == ["2.00"]]) == 1
    assert "power at 2.00 by seeds: 2:" in named
    assert "power at" not in planned(tmp_path, capsys, *arguments, study=asked(tmp_path))


def test_a_spread_that_others_measured_is_named_with_its_source(tmp_path, capsys):
    given = ["--spread", "roberta-base/rte", "--texts", "300", "--difference", "10"]
    found = planned(tmp_path, capsys, *given, study=asked(tmp_path))
    assert (
        "SD 2.09 points of roberta-base/rte, 20 seeds, 72.4 % on average (lowest 68.59 %): Choshen et al. 2022" in found
    )
    assert "IBM/model-recycling at commit 1c1d422, accuracy 72.4 %" in found
    with pytest.raises(StudyError, match="--spread roberta/rt is no row of .*roberta-base/rte"):
        planned(tmp_path, capsys, "--spread", "roberta/rt", "--texts", "300", study=asked(tmp_path))


def test_the_spread_of_others_is_that_of_their_runs():
    text = "\tdataset name\taccuracy\tloss\n0\trte\t0.7\t1\n1\trte\t0.73\t1\n2\trte\t0.76\t1\n3\tstsb\t\t1\n"
    # Mean 73, deviations -3, 0, 3: √(18 / 2) = 3.
    row = {"name": "roberta-base/rte", "n_seeds": 3, "accuracy": 73.0, "sd": 3.0, "lowest": 70.0}
    assert seed_spreads.rows_of("roberta-base", text) == [row]
    rows = read_tsv(seed_spreads.TABLE)
    assert len(rows) == 140 and {row["n_seeds"] for row in rows} == {"20"}
    sds = {row["name"]: row["sd"] for row in rows}
    with open(DOCS, encoding="utf-8") as page:
        lines = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page.read(), re.MULTILINE)
    models = ("bert-base-uncased", "roberta-base", "deberta-v3-base")
    assert len(lines) == 7 and all(
        sds[f"{model}/{line[0]}"] == sd for line in lines for model, sd in zip(models, line[1:], strict=True)
    )


@pytest.mark.parametrize(
    ("measure", "columns", "cell"),
    [
        ("rmse", "id\tlabel\tprediction", lambda right: "1.5\t1.25" if right else "1.5\t4.0"),
        ("micro_f1", "id\tlabel\tprediction\tprobability_of_0\tprobability_of_1", None),
    ],
)
def test_numbers_and_sets_of_labels_are_planned_from_a_pilot(tmp_path, measure, columns, cell):
    cell = cell or (lambda right: "10\t10\t0.9\t0.1" if right else "10\t01\t0.2\t0.8")
    generator, arms = np.random.default_rng(1), {"one": 0.9, "two": 0.6}
    rows = ["arm\tseed"]
    for arm, share in arms.items():
        (tmp_path / "predictions" / arm).mkdir(parents=True)
        for seed in (1, 2, 3):
            rows.append(f"{arm}\t{seed}")
            lines = [f"{i}\t{cell(generator.random() < share)}" for i in range(40)]
            (tmp_path / f"predictions/{arm}/seed{seed}.tsv").write_text("\n".join([columns, *lines]) + "\n")
    (tmp_path / "runs.tsv").write_text("\n".join(rows) + "\n")
    question = {"ask": "Which?", "compare": list(arms), "measure": measure}
    found = plan.Pilot(str(tmp_path)).spread(
        question, {"finetuning": {"arms": dict.fromkeys(arms, {}), "baselines": []}}
    )
    # The arm that is right more often has less error, and more F1.
    assert found.n_items == 40 and (found.difference < 0) == (measure == "rmse") and len(found.arms) == 2
