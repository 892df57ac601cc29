"""Kinds of untrue words that a page once had: a default told as a fact, one of several taken for all."""

import contextlib
import io
import random
import re

import pytest

pytest.importorskip("jinja2")

from common.files import read_tsv, write_tsv
from report.sections.methods.facts import has_more, used
from support.result_sets import check_page, make_page, make_rest, settings_of, simulated, write_tables

DEFAULTS = {"epochs": 2, "batch_size": 8, "lr": 3e-4, "weight_decay": 0.01, "warmup_ratio": 0.06}
ARMS = [("huggingface", "pretrained", "slow"), ("huggingface", "pretrained", "fast")]


def study_of(folder, arms=ARMS, seeds=(1, 2), n_classes=2, n_test=60):
    labels, runs = simulated(random.Random(3), n_test, arms, list(seeds), [0.8, 0.7, 0.6][: len(arms)], n_classes)
    with contextlib.redirect_stdout(io.StringIO()):
        files, settings = write_tables(folder, labels, runs), settings_of(runs)
    settings["finetuning"]["training"] |= DEFAULTS
    return files, settings


def words_of(html, name):
    found = re.search(f'<section id="{name}".*?</section>', html, re.DOTALL)[0]
    found = re.sub(r"<svg.*?</svg>", "", found, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", "", found).replace("&nbsp;", " ").split())


@pytest.mark.parametrize(
    ("own", "said", "unsaid"),
    [
        ({"slow": 1e-4, "fast": 1e-3}, "peak learning rate 0.0001 or 0.001,", "0.0003"),
        ({"slow": 1e-4}, "peak learning rate 0.0001 or 0.0003,", "0.001"),
        ({}, "peak learning rate 0.0003,", "0.0001"),
    ],
    ids=["every arm has its own", "one arm has its own", "none has"],
)
def test_methods_name_the_settings_that_arms_had_not_the_default(tmp_path, own, said, unsaid):
    files, settings = study_of(tmp_path)
    for name, rate in own.items():
        settings["finetuning"]["arms"][name]["training"] = {"lr": rate}
    text = words_of(make_page(tmp_path, files, settings), "methods")
    assert said in text and unsaid not in text.partition("Every figure")[0]
    # A setting that the text has named is not repeated.
    assert "With other settings" not in text
    check_page(tmp_path, files, settings)


def test_of_many_values_the_least_and_the_greatest_are_named():
    arms = {f"a{n}": {"training": {"lr": n * 1e-5}} for n in (5, 1, 3, 2, 4)}
    found = used({"training": DEFAULTS, "arms": arms}, list(arms))
    assert [float(value) for value in found["lr"]] == [n * 1e-5 for n in (1, 2, 3, 4, 5)]
    assert [str(value) for value in found["epochs"]] == ["2"]
    assert used({"training": {"lr": 1}, "arms": {}}, ["a"]) is None


def test_an_arm_with_other_settings_than_those_named_is_pointed_at():
    assert not has_more({"training": {"lr": 1}}) and not has_more({"n_train": None})
    assert has_more({"training": {"lr": 1, "dropout": 0.2}}) and has_more({"n_train": 100})


def test_arms_with_other_numbers_of_seeds_are_not_said_to_have_the_first_ones(tmp_path):
    files, settings = study_of(tmp_path)
    rows = read_tsv(files["test_accuracy"])
    write_tsv(tmp_path / "fewer.tsv", [rows[0], rows[1] | {"n_seeds": "1", "sd_ddof1": ""}], tuple(rows[0]))
    text = words_of(make_page(tmp_path, files | {"test_accuracy": str(tmp_path / "fewer.tsv")}, settings), "methods")
    assert "with 1 or 2 seeds each" in text


def test_frameworks_had_the_same_settings_only_where_every_arm_has_one_protocol(tmp_path):
    files, settings = study_of(tmp_path, [("fairseq", "pretrained"), ("huggingface", "pretrained")])
    same = "Both frameworks had the same settings"
    assert same in words_of(make_page(tmp_path, files, settings), "methods")
    settings["finetuning"]["arms"]["huggingface-pretrained"]["protocol"] = "published"
    text = words_of(make_page(tmp_path, files, settings), "methods")
    assert same not in text and "Each framework had its own defaults" not in text


def test_the_largest_class_of_test_is_not_told_for_that_of_train(tmp_path):
    """The constant model answers train's largest class, whose share of test is another number than the line's."""
    files, settings = study_of(tmp_path, n_classes=3)
    files |= make_rest(tmp_path, random.Random(1))
    (share,) = {row["majority_share"] for row in read_tsv(files["arms_data"])}
    text = words_of(make_page(tmp_path, files, settings), "answer")
    assert f"the largest class among them has {100 * float(share):.2f} %" in text
    assert "Dotted: the share of the test set’s largest class." in text and "always answering" not in text
