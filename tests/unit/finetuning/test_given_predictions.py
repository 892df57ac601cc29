"""Predictions that others made: every fault is one message with file and row, and nothing wrong passes."""

import csv
import json

import pytest

from common.errors import StudyError
from finetuning.given_predictions import read_given

CLASSES = ["negative", "positive"]
TEXTS = ["bad", "good", 'a "quoted" one']
BOTH = "probability_negative\tprobability_positive"


def read(tmp_path, content, name="p.tsv", texts=TEXTS, seed=None):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_given(path, texts, CLASSES, seed)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.tsv", "id\tprediction\n2\tpositive\n0\tnegative\n1\tpositive\n"),
        ("p.csv", 'text,prediction\nbad,negative\n" good ",positive\n"a ""quoted"" one",positive\n'),
        ("p.jsonl", "".join(json.dumps({"id": k, "prediction": c}) + "\n" for k, c in enumerate(
            ["negative", "positive", "positive"]))),
    ],
)  # fmt: skip
def test_rows_come_in_any_order_by_id_or_by_text(tmp_path, name, content):
    limit = csv.field_size_limit()
    assert read(tmp_path, content, name) == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    assert csv.field_size_limit() == limit  # of the whole process: other tables are read with their own


def test_probabilities_are_kept_and_a_tie_goes_to_the_prediction(tmp_path):
    rows = [("negative", 0.75, 0.25), ("positive", 0.5, 0.5), ("positive", 0.0, 1.0)]
    lines = [f"id\tprediction\t{BOTH}", *(f"{k}\t{c}\t{a}\t{b}" for k, (c, a, b) in enumerate(rows))]
    found = read(tmp_path, "\n".join(lines) + "\n")
    assert found[0] == [0.75, 0.25] and found[2] == [0.0, 1.0]
    assert found[1][1] > found[1][0] == 0.5 and abs(sum(found[1]) - 1) < 1e-8
    # Without a prediction the most probable class is meant.
    assert read(tmp_path, f"id\t{BOTH}\n0\t1\t0\n1\t0.1\t0.9\n2\t0\t1\n")[1] == [0.1, 0.9]


def test_a_text_that_occurs_twice_needs_one_row(tmp_path):
    found = read(tmp_path, "text\tprediction\nbad\tnegative\ngood\tpositive\n", texts=["bad", "good", "bad"])
    assert found == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


def test_pairs_are_matched_by_both_texts(tmp_path):
    content = "text\tsecond\tprediction\na\tb\tnegative\na\tc\tpositive\n"
    assert read(tmp_path, content, texts=["a\tc", "a\tb"]) == [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    "content",
    [
        "seed\tid\tprediction\n" + "".join(
            f"{seed}\t{k}\t{CLASSES[(k + seed) % 2]}\n" for seed in (1, 2) for k in range(3)),
        "id\t1\tseed2\n" + "".join(f"{k}\t{CLASSES[(k + 1) % 2]}\t{CLASSES[k % 2]}\n" for k in range(3)),
    ],
    ids=["long", "wide"],
)  # fmt: skip
def test_a_table_of_runs_is_read_run_by_run(tmp_path, content):
    assert [row.index(1.0) for row in read(tmp_path, content, seed=1)] == [1, 0, 1]
    assert [row.index(1.0) for row in read(tmp_path, content, seed=2)] == [0, 1, 0]
    with pytest.raises(StudyError, match=r"p\.tsv has no run of seed 3: its columns are"):
        read(tmp_path, content, seed=3)


GOOD = "0\tnegative\n1\tpositive\n"
FAULTS = {
    "empty": ("", r"p\.tsv has predictions for 0 of 3 texts; the first without one has id 0: 'bad'"),
    "half": (f"id\tprediction\n{GOOD}", "predictions for 2 of 3 texts; the first without one has id 2"),
    "twice": (f"id\tprediction\n{GOOD}1\tpositive\n", "p.tsv, row 3: id 1 has a second prediction"),
    "too many": (f"id\tprediction\n{GOOD}2\tpositive\n3\tpositive\n", "row 4: the id '3' is no place of a text"),
    "negative id": ("id\tprediction\n-1\tpositive\n", "the id '-1' is no place"),
    "long id": (f"id\tprediction\n{'0' * 15}999\tpositive\n", "is no place of a text"),
    "unknown label": (f"id\tprediction\n{GOOD}2\tneutral\n", "row 3: the prediction 'neutral' is none of the classes"),
    "other text": ("text\tprediction\nnew\tpositive\n", "row 1: 'new' is no text of the split"),
    "id of another": ("id\ttext\tprediction\n0\tgood\tpositive\n", "the text with id 0 is 'bad', not 'good'"),
    "no place": ("prediction\npositive\n", "has neither id nor text"),
    "no answer": ("id\n0\n", "has neither prediction nor probability_negative"),
    "extra column": ("id\tprediction\tlabel\n0\tnegative\tnegative\n", "the column label is none of id, text"),
    "a class lacks": ("id\tprobability_positive\n0\t0.5\n", "row 1 lacks probability_negative"),
    "nan": (f"id\t{BOTH}\n0\tnan\t1\n", "row 1: nan, 1 are not probabilities that sum to 1"),
    "infinite": (f"id\t{BOTH}\n0\tinf\t1\n", "are not probabilities"),
    "words": (f"id\t{BOTH}\n0\tlow\t1\n", "are not probabilities"),
    "sum": (f"id\t{BOTH}\n0\t0.5\t0.6\n", "row 1: 0.5, 0.6 are not probabilities that sum to 1"),
    "another is likelier": (f"id\tprediction\t{BOTH}\n0\tnegative\t0.2\t0.8\n", "and positive is more probable"),
    "cells": ("id\tprediction\n0\n", "row 1 has fewer cells than the header"),
    "more cells": ("id\tprediction\n0\tnegative\tx\n", "row 1 has more cells"),
    "header twice": ("id\tid\tprediction\n", "the header has 'id' twice"),
    "not UTF-8": (b"id\tprediction\n0\t\xff\n", "is not UTF-8 text"),
    "NUL": ("id\tprediction\n0\t\0\n", "p.tsv"),
    "open quote": ('id\tprediction\n0\t"negative\n', "write it with a csv library"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_message_with_file_and_row(tmp_path, fault):
    content, said = FAULTS[fault]
    with pytest.raises(StudyError) as error:
        read(tmp_path, content)
    assert said.replace("\\", "") in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "p.tsv"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[0]", "row 1 is no JSON object"),
        ("id 0", "row 1 is not JSON: 'id 0'"),
        ("", "row 1 is not JSON"),
        ("[" * 100_000, "row 1 is not JSON"),
        ('{"id": true, "prediction": "negative"}', "the id 'True' is no place"),
        ('{"id": 0, "prediction": ["negative"]}', "is none of the classes"),
        ('{"id": 0, "probability_negative": NaN, "probability_positive": 1}', "are not probabilities"),
        ('{"id": 0, "probability_negative": 1' + "0" * 400 + ', "probability_positive": 1}', "are not probabilities"),
    ],
)
def test_faults_of_json(tmp_path, line, said):
    with pytest.raises(StudyError) as error:
        read(tmp_path, line + "\n", "p.jsonl")
    assert said in str(error.value)


def test_probabilities_are_of_all_texts_or_of_none(tmp_path):
    rows = [{"id": 0, "prediction": "negative"}, {"id": 1, "probability_negative": 1, "probability_positive": 0}]
    with pytest.raises(StudyError, match="row 2: some texts have probabilities and some have none"):
        read(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "p.jsonl")


LABELS = ["joy", "fear"]
# Kind: a file, the scores that it gives two texts.
KINDS = {
    "regression": [
        ("p.tsv", "id\tprediction\n1\t-2e1\n0\t3.5\n", [[3.5], [-20.0]]),
        ("p.jsonl", '{"id": 0, "prediction": 3}\n{"id": 1, "prediction": "0.5"}\n', [[3.0], [0.5]]),
    ],
    "multilabel": [
        ("p.tsv", "id\tprediction\n0\tfear|joy\n1\t\n", [[1.0, 1.0], [0.0, 0.0]]),
        ("p.jsonl", '{"id": 0, "prediction": ["fear"]}\n{"id": 1, "prediction": []}\n', [[0.0, 1.0], [0.0, 0.0]]),
        ("p.csv", "id,prediction,probability_joy,probability_fear\n0,joy,0.5,0.4\n1,,0,0.1\n", [[0.5, 0.4], [0, 0.1]]),
    ],
}
KIND_FAULTS = {
    "regression": {
        "id\tprediction\n0\tnan\n": "row 1: the prediction 'nan' is no finite number, such as 3.5",
        "id\tprediction\n0\t1,5\n": "the prediction '1,5' is no finite number",
        "id\tprediction\n0\t1e999\n": "the prediction '1e999' is no finite number",
        "id\n0\n": "row 1 has neither prediction nor another number; give it",
        "id\tprediction\tprobability_1\n0\t1\t1\n": "the column probability_1 is none of id, text, second, prediction",
        "id\tprediction\n0\t1\n": "has predictions for 1 of 2 texts",
    },
    "multilabel": {
        "id\tprediction\n0\tjoy|rage\n": "the prediction 'joy|rage' is no set of the labels joy, fear",
        "id\tprobability_joy\tprobability_fear\n0\t1.5\t0\n": "row 1: 1.5, 0 are not probabilities from 0 to 1",
        "id\tprobability_joy\n0\t1\n": "row 1 lacks probability_fear",
        "id\tprediction\tprobability_joy\tprobability_fear\n0\tjoy\t0.4\t0\n": "is not the set of labels",
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_sets_of_labels_are_read(tmp_path, kind):
    labels = LABELS if kind == "multilabel" else []
    for name, content, wanted in KINDS[kind]:
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert read_given(tmp_path / name, ["a", "b"], labels, task=kind) == wanted


@pytest.mark.parametrize(
    ("kind", "content"), [(kind, content) for kind in KIND_FAULTS for content in KIND_FAULTS[kind]]
)
def test_faults_of_numbers_and_sets(tmp_path, kind, content):
    (tmp_path / "p.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(StudyError) as error:
        read_given(tmp_path / "p.tsv", ["a", "b"], LABELS if kind == "multilabel" else [], task=kind)
    assert KIND_FAULTS[kind][content] in str(error.value) and "\n" not in str(error.value)


def test_a_folder_and_another_format_are_refused(tmp_path):
    (tmp_path / "p.tsv").mkdir()
    with pytest.raises(StudyError, match="cannot be read"):
        read_given(tmp_path / "p.tsv", TEXTS, CLASSES)
    with pytest.raises(StudyError, match="has none of the extensions"):
        read_given(tmp_path / "p.pkl", TEXTS, CLASSES)
