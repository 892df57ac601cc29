"""Constraints on the settings of other kinds of labels."""

import pytest

from common.errors import StudyError
from study.configuration import check_study, with_defaults
from support.studies import ROOT

ARM = {"framework": "huggingface", "model": "checkpoint", "init": "pretrained"}


def study(task, data=None, finetuning=None, **more):
    """Settings of a table of texts with these labels, over the defaults."""
    table = {"train": "train.csv", "test": "test.csv"}
    config = {
        "study": "kinds",
        "data": {"source": "table", "task": task, "table": table} | (data or {}),
        "finetuning": {"arms": {"one": ARM, "two": ARM | {"freeze": "encoder"}}} | (finetuning or {}),
        **more,
    }
    return with_defaults(config, ROOT)


def test_defaults_are_those_of_the_kind():
    for task, measure, constant in (
        ("classification", "accuracy", "majority"),
        ("regression", "pearson", "mean"),
        ("multilabel", "macro_f1", "commonest"),
    ):
        config = study(task)
        check_study(config, ROOT)
        assert config["finetuning"]["select_by"] == config["measure"] == measure
        assert config["finetuning"]["baselines"][0] == constant
    assert study("regression", measure="rmse")["measure"] == "rmse"


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"task": "regression", "measure": "accuracy"}, "measure is accuracy, which is not for data.task regression"),
        ({"task": "classification", "measure": "pearson"}, "measure is pearson, which is not for data.task classif"),
        ({"task": "multilabel", "finetuning": {"select_by": "mcc"}}, "choose macro_f1, micro_f1, subset_accuracy"),
        ({"task": "multilabel", "finetuning": {"baselines": ["majority"]}}, "majority is not for data.task multilabel"),
        (
            {"task": "regression", "finetuning": {"arms": {"a": ARM | {"framework": "fairseq"}}}},
            "set framework to command or huggingface or predictions",
        ),
        ({"task": "regression", "finetuning": {"arms": {"a": ARM | {"framework": "run_glue"}}}}, "does not learn"),
        ({"task": "regression", "finetuning": {"evaluation": {"test_curves": True}}}, "set it to false for regression"),
        ({"task": "multilabel", "data": {"labels": ["a|b", "c"]}}, "'a|b' holds '|'"),
        ({"task": "regression", "data": {"source": "embedded"}}, "set source to table"),
        ({"task": "regresion"}, "Did you mean regression"),
    ],
)
def test_what_does_not_fit_is_refused(settings, wanted):
    with pytest.raises(StudyError) as caught:
        check_study(study(**settings), ROOT)
    assert wanted in str(caught.value).replace("\n", " ")


def test_names_for_readers_are_of_the_studys_labels_and_differ():
    labels = {"labels": ["0", "1"]}
    check_study(study("classification", labels | {"label_names": {"0": "negative", "1": "positive"}}), ROOT)
    for names, said in (
        ({"2": "neutral"}, "data.label_names has 2, which is none of data.labels"),
        ({0: "negative"}, r"data.label_names has 0, which is none of data.labels; write one of them \(in quotation"),
        ({"0": "1"}, "two labels are shown as 1; give each another name"),
        ({"0": "a", "1": "a"}, "two labels are shown as a"),
        ({"0": " a"}, "text on one line, without blanks at its ends"),
    ):
        with pytest.raises(StudyError, match=said):
            check_study(study("classification", labels | {"label_names": names}), ROOT)
