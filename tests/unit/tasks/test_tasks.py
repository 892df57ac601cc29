"""Numbers and sets of labels in tables: read, refused, drawn, counted."""

import json
import types

import numpy as np
import pytest
import torch

import tasks
from common.errors import StudyError
from data.build_splits import split_table
from data.reviews import parse_labels
from data.text_tables import read_table
from finetuning.runs import general_protocol
from frameworks.linear.models import choose, fit
from frameworks.linear.other_labels import answers as given
from frameworks.linear.other_labels import in_words
from measures import names, tasks_of

LABELS = ["joy", "fear", "rage"]
TABLE = {"text": "text", "label": "label"}


def table(folder, task, cells, test=None, labels=(), ending="csv"):
    """The splits of tables with these labels."""
    paths = []
    for split, its in (("train", cells), ("test", test or cells)):
        path = folder / f"{split}.{ending}"
        if ending == "csv":
            lines = ["text,label", *(f"{split} {k},{cell}" for k, cell in enumerate(its))]
        else:
            lines = [json.dumps({"text": f"{split} {k}", "label": cell}) for k, cell in enumerate(its)]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        paths.append(str(path))
    return read_table(paths, ["train", "test"], TABLE, list(labels), task)


def values(rows):
    return [value for _, value in rows]


def test_numbers_are_read(tmp_path):
    assert values(table(tmp_path, "regression", ["1", "2.50", "-3e1"])["train"]) == [1.0, 2.5, -30.0]
    assert values(table(tmp_path, "regression", [1, 2.5], ending="jsonl")["train"]) == [1.0, 2.5]


@pytest.mark.parametrize("cell", ["many", "nan", "inf", '"3,5"', "1_0", "1e999"])
def test_what_is_no_number_is_refused_with_file_and_row(tmp_path, cell):
    with pytest.raises(StudyError, match=r"train\.csv: row 2 \(line 3\) has the label '.*', no finite number"):
        table(tmp_path, "regression", ["1", cell])


def test_an_empty_cell_is_no_number_and_an_empty_set(tmp_path):
    with pytest.raises(StudyError, match=r"row 2 \(line 3\) has no label"):
        table(tmp_path, "regression", ["1", ""])
    cells = ["joy|fear", "", "rage | joy", "joy|joy"]
    assert values(table(tmp_path, "multilabel", cells, labels=LABELS)["train"]) == ["110", "000", "101", "100"]
    cells = [["joy", "fear"], [], ["rage"]]
    rows = table(tmp_path, "multilabel", cells, labels=LABELS, ending="jsonl")
    assert values(rows["train"]) == ["110", "000", "001"]


def test_an_unknown_label_and_one_that_no_text_has_are_refused(tmp_path):
    with pytest.raises(StudyError, match=r"row 2 \(line 3\) has the label 'Fear', which is not in data.labels"):
        table(tmp_path, "multilabel", ["joy", "joy|Fear"], labels=LABELS)
    with pytest.raises(StudyError, match=r"data.table.test: no row .* has the label 'rage'"):
        table(tmp_path, "multilabel", ["joy|fear|rage"], ["joy|fear"], labels=LABELS)


def test_lines_of_other_kinds_are_refused():
    assert parse_labels(b"110\n000\n", "x.label", LABELS, "multilabel") == ["110", "000"]
    for content, task in ((b"110\n01\n", "multilabel"), (b"110\n012\n", "multilabel"), (b"1\nx\n", "regression")):
        with pytest.raises(StudyError, match=r"x.label, line 2: label"):
            parse_labels(content, "x.label", LABELS, task)


def test_draws_keep_the_numbers_shares():
    numbers = np.random.default_rng(1).normal(size=400).tolist()
    rows = [(f"text {k}", number) for k, number in enumerate(numbers)]
    splits = split_table({"train": rows, "test": rows}, None, 100, None, 1, [], "regression")
    assert [len(splits[split]) for split in ("train", "valid", "test")] == [300, 100, 400]
    # Ten bins of 40 texts give 10 each to valid, so its quartile is at most a bin away.
    for share in (0.25, 0.5, 0.75):
        low, high = np.quantile(numbers, [share - 0.1, share + 0.1])
        assert low <= np.quantile(values(splits["valid"]), share) <= high


def test_draws_keep_the_sets_shares():
    cells = ["110"] * 40 + ["000"] * 40 + ["001"] * 8 + ["011"] * 2
    rows = [(f"text {k}", cell) for k, cell in enumerate(cells)]
    splits = split_table({"train": rows, "test": rows}, None, 45, None, 1, LABELS, "multilabel")
    # Half of each large set, and half of the ten texts of both rare ones: their rarest label is the third.
    valid = values(splits["valid"])
    assert valid.count("110") == valid.count("000") == 20 and valid.count("001") + valid.count("011") == 5


def test_equal_numbers_share_a_bin():
    strata, n = tasks.load("regression").strata([1.0, 1.0, 1.0, 2.0], 0)
    assert n == 2 and strata[0] == strata[1] == strata[2] == 0


def test_the_simple_models_of_numbers():
    train = ([f"bon livre {'bon ' * (k % 4)}" for k in range(40)], [float(k % 4) for k in range(40)])
    # The mean of 0, 1, 2, 3.
    constant = fit(train, "mean", None, "regression")
    assert given(constant, ["x"], "regression")[0].tolist() == [1.5]
    assert in_words(constant, [], "regression") == "always the mean of train, 1.5"
    penalty, right, value, model = choose(train, train, "tfidf_words", "rmse", 0, "regression")
    assert right is None and penalty == 100.0 and value < 0.5
    assert given(model, train[0], "regression")[0] == pytest.approx(train[1], abs=0.6)


def test_the_simple_models_of_sets():
    train = ([f"{'joie' if k % 2 else 'calme'} {'peur' if k % 3 else 'calme'}" for k in range(60)], [])
    train = (train[0], [f"{int('joie' in text)}{int('peur' in text)}0" for text in train[0]])
    assert in_words(fit(train, "commonest", None, "multilabel"), LABELS, "multilabel") in (
        "always the commonest set: joy, fear", "always the commonest set: fear",
    )  # fmt: skip
    _, right, value, model = choose(train, train, "tfidf_words", "micro_f1", 3, "multilabel")
    assert right == 60 and value == 1
    # A label that no text has in train is never given.
    assert given(model, train[0], "multilabel")[0][:, 2].sum() == 0


def test_every_measure_is_for_known_kinds():
    assert {task for name in names() for task in tasks_of(name)} == set(tasks.names())
    assert all(
        tasks.load(task).MEASURE in [name for name in names() if task in tasks_of(name)] for task in tasks.names()
    )


@pytest.mark.parametrize(
    ("problem", "unit"),
    [
        (None, "nats, mean over examples"),
        ("single_label_classification", "nats, mean over examples"),
        ("multi_label_classification", "nats, mean over examples and labels"),
        ("regression", "squared distance from the label, mean over examples"),
    ],
)
def test_the_protocol_has_the_unit_of_the_loss_that_is_minimized(problem, unit):
    model = torch.nn.Linear(2, 2)
    model.config = types.SimpleNamespace(problem_type=problem)
    assert general_protocol(torch.optim.AdamW(model.parameters()), model, [0.1, 0.0])["loss_unit"] == unit
