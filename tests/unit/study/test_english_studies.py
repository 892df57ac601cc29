"""The studies of public English data: their settings are whole, and every file that they fetch is pinned."""

import os

import pytest

from common.errors import StudyError
from data.build_splits import split_table
from data.text_tables import read_table
from study.addresses import table_files
from study.configuration import load_study
from study.hub import hub_urls
from support.settings import ROOT

FOLDER = os.path.join(ROOT, "studies", "english")
QUICK = os.path.join(FOLDER, "quick.yaml")
RATES = os.path.join(FOLDER, "rates.yaml")
NAMES = sorted(name for name in os.listdir(FOLDER) if name not in ("quick.yaml", "rates.yaml"))
ARMS = {"whole", "lora", "head-only", "random", "probe"}


@pytest.mark.parametrize("name", NAMES)
def test_every_fetched_file_is_pinned(name):
    config, pins = load_study(ROOT, os.path.join(FOLDER, name))
    assert f"{config['study']}.yaml" == name
    wanted = [file for _, file in table_files(config["data"]["table"])]
    for model in config["finetuning"]["models"].values():
        wanted += hub_urls(model["hub"])
    assert len(wanted) >= 6 and not set(wanted) - pins.keys()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "trec-rare.yaml"])
def test_the_arms_and_questions_are_alike(name):
    config, _ = load_study(ROOT, os.path.join(FOLDER, name))
    regression = config["data"]["task"] == "regression"
    assert config["finetuning"]["arms"].keys() == ARMS - ({"probe"} if regression else set())
    assert config["finetuning"]["seeds"] == [1, 2, 3, 4, 5]
    assert [question["compare"] for question in config["questions"]] == [
        ["whole", "random"],
        ["lora", "whole"],
        ["whole", "best of baselines"],
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_short_form_has_two_seeds_and_fewer_texts(name):
    config, _ = load_study(ROOT, os.path.join(FOLDER, name), QUICK, study="short")
    assert config["finetuning"]["seeds"] == [1, 2]
    assert [config["data"][f"n_{split}"] for split in ("train", "valid", "test")] == [600, 200, 400]
    whole, _ = load_study(ROOT, os.path.join(FOLDER, name))
    assert list(config["finetuning"]["arms"]) == [
        arm for arm in whole["finetuning"]["arms"] if arm not in ("head-only", "probe")
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "trec-rare.yaml"])
def test_rates_are_tried_with_a_seed_that_the_study_does_not_use(name):
    whole, _ = load_study(ROOT, os.path.join(FOLDER, name))
    tried, _ = load_study(ROOT, os.path.join(FOLDER, name), RATES, study="rates")
    assert not set(tried["finetuning"]["seeds"]) & set(whole["finetuning"]["seeds"])
    arms = tried["finetuning"]["arms"].values()
    forms = [(arm["init"], "lora" in arm, arm.get("freeze")) for arm in arms]
    # Each form of an arm has three rates.
    assert sorted(map(forms.count, forms)) == [3] * len(forms) and len(forms) == 12


def test_an_arm_without_settings_is_not_left_out_silently():
    with pytest.raises(StudyError, match="finetuning.arms.lora"):
        load_study(ROOT, os.path.join(FOLDER, "sst2.yaml"), finetuning={"arms": {"lora": None}})


def test_texts_drawn_of_pairs_with_a_header(tmp_path):
    # The form of SICK: tab-separated, `.txt`, five columns, the last with Windows' line ends.
    for split, n in (("train", 40), ("test", 20)):
        rows = [f"{i}\tA {split} {i}\tB {i}\t{1 + i / 10}\tYES\r\n" for i in range(n)]
        header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
        (tmp_path / f"{split}.txt").write_text(header + "".join(rows), newline="")
    columns = {"text": "sentence_A", "second": "sentence_B", "label": "relatedness_score"}
    files = [str(tmp_path / f"{split}.txt") for split in ("train", "test")]
    source = read_table(files, ["train", "test"], columns, [], "regression")
    splits = split_table(source, 20, 10, 10, 1, [], "regression")
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 20, "valid": 10, "test": 10}
    assert source["train"][1][1] == 1.1
