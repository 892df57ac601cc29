"""Sections that say what was done: never a test that was not run, nor a measure that chose nothing."""

import contextlib
import io
import random
import re

import pytest

pytest.importorskip("jinja2")


from common.files import read_json, read_tsv, write_json, write_tsv
from report.formats import FORMATS
from report.inputs import Study
from report.page import Page
from report.sections.checkpoint.facts import facts as checkpoint
from report.sections.overfitting.facts import stopped
from support.report_study import TEMPLATES
from support.result_sets import check_page, make_errors, make_page, make_rest, settings_of, simulated, write_tables

FAIRSEQ, HUGGINGFACE = ("fairseq", "pretrained"), ("huggingface", "pretrained")


def study_of(folder, arms, seeds, chances=(0.8, 0.66, 0.7)):
    """Return (inputs, settings) of a small study with the page's common sections."""
    labels, runs = simulated(random.Random(3), 60, arms, seeds, chances[: len(arms)])
    with contextlib.redirect_stdout(io.StringIO()):
        return write_tables(folder, labels, runs), settings_of(runs)


def section(html, name):
    """Return the words of a section."""
    text = re.search(rf'<section id="{name}".*?</section>', html, re.DOTALL)[0]
    return " ".join(re.sub(r"<[^>]+>", "", text).replace("&nbsp;", " ").split())


@pytest.mark.parametrize(
    ("arms", "seeds", "said", "unsaid"),
    [
        (
            [FAIRSEQ, HUGGINGFACE],
            [1, 2, 3],
            ["Intervals of arms and differences", "Welch’s t-test", "of runs, exact where all", "Holm, 1979:"],
            ["is that of one run"],
        ),
        (
            [FAIRSEQ, HUGGINGFACE],
            [1],
            ["Each arm’s accuracy is that of one run", "tested over reviews alone", "Holm, 1979:"],
            ["Welch", "Satterthwaite", "means over seeds", "Intervals", "permutation of runs", "seeds needed"],
        ),
        (
            [FAIRSEQ],
            [1, 2],
            ["Accuracies are means over seeds. Intervals are at 95 %", "Satterthwaite, 1946:"],
            ["Welch", "Holm", "Differences between arms", "permutation"],
        ),
    ],
)  # fmt: skip
def test_methods_name_what_was_done_alone(tmp_path, arms, seeds, said, unsaid):
    files, settings = study_of(tmp_path, arms, seeds)
    html = make_page(tmp_path, files, settings)
    # The part before the list of every figure's method, which is the file's.
    text = section(html, "methods").partition("Every figure’s method")[0]
    assert all(words in text for words in said) and not any(words in text for words in unsaid)
    check_page(tmp_path, files, settings)


def test_methods_name_every_size_and_each_arm_with_settings_of_its_own(tmp_path):
    arms = [(*FAIRSEQ, "all"), (*FAIRSEQ, "few"), (*FAIRSEQ, "early")]
    files, settings = study_of(tmp_path, arms, [1, 2])
    rows = [row | {"n_train": "100"} if row["arm"] == "few" else row for row in read_tsv(files["runs"])]
    write_tsv(files["runs"], rows, tuple(rows[0]))
    settings["finetuning"]["arms"]["all"] |= {"n_train": None, "at_update": None}
    settings["finetuning"]["arms"]["few"]["n_train"] = 100
    settings["finetuning"]["arms"]["early"]["at_update"] = 500
    text = section(make_page(tmp_path, files, settings), "methods")
    assert "2 seeds each on 100 and 1 800 reviews" in text
    assert "With other settings: few; early (see the settings)." in text


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        ([FAIRSEQ, HUGGINGFACE], "weight decay 0.1 in fairseq and none in Hugging Face), linear warm-up"),
        ([HUGGINGFACE], "peak learning rate 1e-05, no weight decay), linear warm-up"),
        ([FAIRSEQ], "weight decay 0.1), linear warm-up"),
    ],
)
def test_methods_name_the_weight_decay_of_each_frameworks_own_defaults(tmp_path, arms, said):
    # By `finetuning.protocol.framework_settings`, published: Hugging Face's example has none.
    files, settings = study_of(tmp_path, arms, [1, 2])
    settings["finetuning"]["protocol"] = "published"
    settings["finetuning"]["training"] |= {"epochs": 2, "batch_size": 8, "weight_decay": 0.1}
    assert said in section(make_page(tmp_path, files, settings), "methods")
    check_page(tmp_path, files, settings)


def test_frameworks_are_not_said_to_be_set_alike_where_arms_have_another_protocol(tmp_path):
    files, settings = study_of(tmp_path, [FAIRSEQ, HUGGINGFACE], [1, 2])
    files |= make_rest(tmp_path, random.Random(1))
    assert "This study sets them alike." in section(make_page(tmp_path, files, settings), "frameworks")
    settings["finetuning"]["arms"]["huggingface-pretrained"]["protocol"] = "published"
    text = section(make_page(tmp_path, files, settings), "frameworks")
    assert "sets them alike" not in text
    assert "Some arms set them alike, the others leave each framework its own (see the settings)." in text
    for arm in settings["finetuning"]["arms"].values():
        arm["protocol"] = "published"
    assert "This study leaves each framework its own." in section(make_page(tmp_path, files, settings), "frameworks")


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        (["checkpoint pretrained", "checkpoint random"], "The pretrained arms start from the published checkpoint,"),
        (["checkpoint pretrained", "mine pretrained"], "arm 1 starts from the published checkpoint,"),
        (["checkpoint pretrained", "checkpoint pretrained", "mine pretrained"], "arm 1 and arm 2 start from the"),
        (["checkpoint random", "mine pretrained"], "arm 1 has the size and the tokenizer of the published checkpoint,"),
    ],
)
def test_the_checkpoint_is_said_to_start_its_own_arms_alone(tmp_path, arms, said):
    rows = [dict(zip(("model", "init"), arm.split(), strict=True)) for arm in arms]
    rows = [{"arm": f"arm {n}", "framework": "huggingface", "seed": 1} | row for n, row in enumerate(rows, start=1)]
    write_tsv(tmp_path / "runs.tsv", rows, tuple(rows[0]))
    settings = {"checkpoint": {"source": "fetch", "architecture": {"heads": 8}}}
    page = Page(TEMPLATES, synthetic=False)
    page.section("checkpoint", checkpoint(Study({"runs": [str(tmp_path / "runs.tsv")]}, str(tmp_path), settings)))
    assert said in section(page.render("x"), "checkpoint")


def test_arms_that_start_from_weights_on_the_way_are_named(tmp_path):
    rows = [{"arm": arm, "framework": "huggingface", "seed": 1, "model": "checkpoint"} for arm in ("late", "early")]
    write_tsv(tmp_path / "runs.tsv", [row | {"init": "pretrained"} for row in rows], (*rows[0], "init"))
    settings = {"checkpoint": {"source": "folder"}, "finetuning": {"arms": {"late": {}, "early": {"at_update": 100}}}}
    page = Page(TEMPLATES, synthetic=False)
    page.section("checkpoint", checkpoint(Study({"runs": [str(tmp_path / "runs.tsv")]}, str(tmp_path), settings)))
    assert "early starts from weights kept on its way." in section(page.render("x"), "checkpoint")


def test_one_run_disagrees_with_none(tmp_path):
    files, settings = study_of(tmp_path, [FAIRSEQ], [1])
    files |= make_errors(tmp_path, files)
    text = section(make_page(tmp_path, files, settings), "errors")
    assert "the run gets" in text and "disagree" not in text.partition("Confusion of each arm")[0]
    assert "Reviews that the run gets wrong" in text and "most runs" not in text
    check_page(tmp_path, files, settings)


def test_reviews_that_few_runs_get_wrong_are_not_said_to_fail_in_most(tmp_path):
    # Each of three runs has an error of its own: none fails in most runs.
    labels = [n % 2 for n in range(20)]
    answers = {seed: ([1 - y if n == seed else y for n, y in enumerate(labels)], 18) for seed in (1, 2, 3)}
    with contextlib.redirect_stdout(io.StringIO()):
        files = write_tables(tmp_path, labels, {FAIRSEQ: answers})
    files |= make_errors(tmp_path, files)
    text = section(make_page(tmp_path, files, settings_of({FAIRSEQ: answers})), "errors")
    assert "wrong in 1 of 3 runs" in text and "wrong in 2 of 3 runs" not in text
    assert "Reviews that the most runs get wrong" in text and "that most runs get wrong" not in text


def test_one_arm_has_no_table_of_differences(tmp_path):
    files, settings = study_of(tmp_path, [FAIRSEQ], [1, 2])
    text = section(make_page(tmp_path, files, settings), "statistics")
    assert "Mean test accuracy by arm" in text and "Every test of every pair" not in text
    check_page(tmp_path, files, settings)


def test_columns_with_signs_and_spreads_sort_by_their_numbers(tmp_path):
    # The page prints a true minus sign, which no browser reads as a number.
    assert FORMATS["points"][1]("-0.005")["sort"] == "-0.005"
    write_tsv(tmp_path / "x.tsv", [{"gap": -0.25, "sd": 0.1}], ("gap", "sd"))
    table = Study({"x": [str(tmp_path / "x.tsv")]}, str(tmp_path), {}).table("x")
    page = Page(TEMPLATES, synthetic=False)
    shown = [("Gap", ("gap", "sd"), lambda gap, sd: f"{gap} ± {sd}", kind) for kind in ("number", "")]
    assert [cell["sort"] for cell in page.cells(table, shown, None)[0]] == ["-0.25", None]


def test_no_page_calls_the_accuracy_the_best_where_the_loss_chose(tmp_path):
    files, settings = study_of(tmp_path, [FAIRSEQ, HUGGINGFACE], [1, 2, 3])
    files |= make_rest(tmp_path, random.Random(1))
    settings["finetuning"]["select_by"] = "loss"
    html = make_page(tmp_path, files, settings)
    told = section(html, "learned")
    assert "validation accuracy at the chosen epoch is not above the largest class’s share by more than chance" in told
    words = " ".join(re.sub(r"<[^>]+>", "", html).split())
    assert "best validation accuracy" not in words and "within chance" not in words
    check_page(tmp_path, files, settings)


@pytest.mark.parametrize(
    ("learned", "short", "long"),
    [
        ({"1": "true", "2": "true", "3": "true"}, "none of the 3 runs with a validation result.", "All 3 runs with a"),
        (
            {"1": "false", "2": "true"},
            "1 of 2 runs with a validation result did not learn; they are",
            "1 of 2 runs with a",
        ),
        ({}, "not known, since no run has a validation result.", "No run has a validation result, so"),
    ],
)
def test_runs_without_a_validation_result_are_not_counted_as_judged(tmp_path, learned, short, long):
    files, settings = study_of(tmp_path, [FAIRSEQ, HUGGINGFACE], [1, 2, 3])
    files |= make_rest(tmp_path, random.Random(1))
    rows = read_tsv(files["learned"])
    chosen = [row | {"learned": learned[row["seed"]]} for row in rows[:3] if row["seed"] in learned]
    write_tsv(files["learned"], chosen, tuple(rows[0]))
    html = make_page(tmp_path, files, settings)
    words = " ".join(re.sub(r"<[^>]+>", "", html).split())
    assert f"Failed runs: {short}" in words and long in words
    check_page(tmp_path, files, settings)


def test_the_page_says_what_was_minimized_where_runs_stopped_and_what_was_halved(tmp_path):
    files, settings = study_of(tmp_path, [FAIRSEQ, HUGGINGFACE], [1, 2])
    first, *_, last = files["run_records"]
    write_json(first, read_json(first) | {"stopped": {"epoch": 2, "update": 20}, "settings": {"epochs": 7}})
    halvings = [{"update": 1, "micro_batch": 4}, {"update": 5, "micro_batch": 2}]
    write_json(last, read_json(last) | {"halvings": halvings})
    settings["finetuning"]["training"] |= {"epochs": 7, "batch_size": 8, "weight_decay": 0.1, "patience": 1}
    settings["finetuning"]["training"] |= {"class_weights": [0.5, 2], "label_smoothing": 0.1, "accumulation": 2}
    html = make_page(tmp_path, files, settings)
    check_page(tmp_path, files, settings)
    methods = section(html, "methods")
    assert "The loss weighted the classes by 0.5 and 2, in the order of their names." in methods
    assert "Labels were smoothed by 0.1 [Szegedy et al., 2016]." in methods and "Szegedy et al., 2016: Re" in methods
    assert "Each batch was split into 2 micro-batches, whose gradients add up." in methods
    assert "A run ended after 1 epoch without more correct answers on validation; the schedule still spanned" in methods
    (ended,) = stopped(Study({"run_records": files["run_records"]}, str(tmp_path), settings))
    assert (ended["arm"], ended["seed"], ended["stopped"]["epoch"]) == ("fairseq-pretrained", "1", "2")
    halved = "at most 4 reviews at once from update 1, at most 2 reviews at once from update 5."
    assert (
        f"These runs went on in micro-batches, with the same updates: Hugging Face, pretrained, seed 2: {halved}"
        in (section(html, "cost"))
    )
    # Settings that are not set have no key.
    del settings["finetuning"]["training"]["accumulation"]
    settings["finetuning"]["training"] |= {"class_weights": "balanced", "patience": 2}
    settings["finetuning"]["select_by"] = "loss"
    methods = section(make_page(tmp_path, files, settings), "methods")
    assert "weighted each class by the inverse of its share of the training reviews" in methods
    assert "micro-batches" not in methods
    assert "A run ended after 2 epochs without a new lowest loss on validation" in methods
