"""Tables of anyone's texts: what is read, and what a user reads where it cannot be."""

import codecs
import json

import pytest

from common.errors import StudyError
from common.files import read_json, read_lines
from data.build_splits import split_table
from data.reviews import SPLITS
from data.text_tables import label_name, read_examples, read_rows, read_table
from support.reviews import split_source

LABELS = ["bad", "fair", "good"]
TABLE = {"text": "text", "label": "label", "language": "en", "licence": "CC0"}


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def numbers(path):
    return [(example.text, example.label) for example in read_examples(path, "text", "label")]


# --- reading


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.csv", 'label,text\n1,"One, two"\n2,Three\n'),
        ("a.csv", '\ufefflabel,text\r\n1,"One, two"\r\n\r\n2,Three\r\n'),
        ("a.csv", "label;text\n1;One, two\n2;Three\n"),
        ("a.txt", "text\tother\tlabel\r\nOne, two\tx\t1\r\nThree\t\t2\r\n"),
        ("A.TSV", "text\tlabel\tother\nOne, two\t1\tx\nThree\t2\t\n"),
        ("a.csv", 'label,text\n 1.0 ,"One,\n  two"\n2.0,Three\n'),
        ("a.jsonl", '{"text": "One, two", "label": 1}\n\n{"label": 2.0, "text": "Three"}'),
        ("a.ndjson", '{"text": "One,\\ntwo", "label": "1"}\n{"label": "2", "text": " Three "}\n'),
        ("a.jsonl", codecs.BOM_UTF8 + b'{"text": "One, two", "label": 1}\n{"label": 2, "text": "Three"}'),
    ],
)
def test_every_form_gives_the_same_texts(tmp_path, name, content):
    assert numbers(write(tmp_path / name, content)) == [("One, two", "1"), ("Three", "2")]


@pytest.mark.parametrize("sign", ",;")
def test_without_a_header_columns_are_numbers(tmp_path, sign):
    path = write(tmp_path / "a.csv", f'7{sign}"So, so; and so"{sign}good\n8{sign}No{sign}bad\n')
    assert [(row.text, row.label) for row in read_examples(path, 2, 3)] == [("So, so; and so", "good"), ("No", "bad")]


def test_a_place_counts_rows_and_lines(tmp_path):
    path = write(tmp_path / "a.csv", 'text,label\n"a\nb\nc",x\n\nd,y\n')
    assert [place for place, _ in read_rows(path, ["text"])] == ["row 1 (line 2)", "row 2 (line 6)"]


def test_a_long_text_is_no_fault(tmp_path):
    # Longer than the limit of Python's csv module.
    ((text, _),) = numbers(write(tmp_path / "a.csv", f"text,label\n{'long ' * 40_000},x\n"))
    assert len(text) == 5 * 40_000 - 1


def test_labels_are_compared_as_text():
    cases = {" good ": "good", "1.0": "1", "1": "1", "-1.00": "-1", "01": "01", "1.5": "1.5", "1.": "1."}
    assert {text: label_name(text) for text in cases} == cases
    assert [label_name(value) for value in (1, 1.0, 0.5, True)] == ["1", "1", "0.5", "true"]


LATIN = "text,label\nOù,bad\n".encode("latin-1")
FAULTS = {
    "Latin-1": ("a.csv", LATIN, "is not UTF-8; convert the file: iconv -f LATIN1"),
    "UTF-16": ("a.csv", "text,label\nyes,bad\n".encode("utf-16"), "a.csv: this is UTF-16 text; convert it: iconv"),
    "UTF-16 without a mark": ("a.csv", "text\n".encode("utf-16-le"), "a.csv, line 1: a NUL character"),
    "open quotation mark": (
        "a.csv",
        'text,label\nyes,bad\n"no,good\nwell,bad\n',
        "a.csv, line 3: unexpected end of data; is a quotation mark left open, or one inside a text not doubled?",
    ),
    "quotation mark inside": (
        "a.csv",
        'text,label\n"yes" or no,bad\n',
        "a.csv, line 2: ',' expected after '\"'; is a quotation mark left open, or one inside a text not doubled?",
    ),
    "comma without quotation marks": (
        "a.csv",
        "text,label\nyes,bad\nno, never,good\n",
        "a.csv: row 2 (line 3) has 3 cells and the header 2; put quotation marks around a text that holds ','",
    ),
    "missing column": (
        "a.csv",
        "review,label\nyes,bad\n",
        "a.csv has no column 'text'; its columns are 'review', 'lab",
    ),
    "column twice": ("a.csv", "text,label,text\na,bad,b\n", "a.csv has the column 'text' twice"),
    "missing key": (
        "a.jsonl",
        '{"text": "a", "label": "bad"}\n{"text": "b"}',
        "a.jsonl: row 2 (line 2) has no 'label'",
    ),
    "no JSON": ("a.jsonl", '{"text": "a", "label": "bad"}\n{', "a.jsonl: row 2 (line 2) is not valid JSON"),
    "no object": ("a.jsonl", "[1]", "a.jsonl: row 1 (line 1) is '[1]', not an object"),
    "half a character": (
        "a.jsonl",
        '{"text": "\\ud800", "label": "bad"}',
        "row 1 (line 1): its text holds half a char",
    ),
    "number as a text": (
        "a.jsonl",
        '{"text": 5, "label": "bad"}',
        "row 1 (line 1): its text (column 'text') is 5; name another",
    ),
    "empty text": ("a.csv", "text,label\nyes,bad\n ,good\n", "a.csv: row 2 (line 3) has no text (column 'text'); fill"),
    "invisible text": ("a.csv", "text,label\n\u200b,bad\n", "a.csv: row 1 (line 2) has no text (column 'text')"),
    "null text": ("a.jsonl", '{"text": null, "label": "bad"}', "row 1 (line 1) has no text"),
    "missing label": (
        "a.csv",
        "text,label\nyes,bad\nno,\n",
        "a.csv: row 2 (line 3) has no label (column 'label'); fill",
    ),
    "no rows": ("a.csv", "text,label\n", "a.csv holds no rows"),
    "empty file": ("a.csv", "", "a.csv holds no rows"),
    "another kind": ("a.xlsx", b"PK", "a.xlsx: a table's name ends in .csv, .tsv, .jsonl, .ndjson"),
}


@pytest.mark.parametrize("name, content, message", FAULTS.values(), ids=FAULTS)
def test_a_faulty_table_is_told_in_one_line(tmp_path, name, content, message):
    with pytest.raises(StudyError) as caught:
        numbers(write(tmp_path / name, content))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_column_of_a_file_without_a_header(tmp_path):
    path = write(tmp_path / "a.csv", "yes,bad\n")
    with pytest.raises(StudyError, match="a.csv has no column 3; its columns are 1, 2"):
        read_examples(path, 1, 3)
    with pytest.raises(StudyError, match="the columns of JSON Lines have names"):
        read_examples(write(tmp_path / "a.jsonl", '{"text": "a"}'), 1, 2)


# --- classes


def rows_of(split, n=6):
    return [(f"{split} {k}", LABELS[k % 3]) for k in range(n)]


def as_csv(rows):
    return "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)


def files(folder, **splits):
    """Write each split's rows as a file; return what `read_table` takes."""
    paths = [write(folder / f"{split}.csv", as_csv(rows)) for split, rows in splits.items()]
    return paths, list(splits)


def test_classes_have_the_numbers_of_the_settings(tmp_path):
    content = read_table(*files(tmp_path, train=rows_of("train"), test=rows_of("test", 3)), TABLE, LABELS)
    assert content["test"] == [("test 0", 0), ("test 1", 1), ("test 2", 2)]
    assert list(content) == ["train", "test"] and len(content["train"]) == 6


def test_several_files_are_one_split(tmp_path):
    first, second, test = (tmp_path / name for name in ("1.csv", "2.csv", "3.csv"))
    paths = [write(path, as_csv(rows_of(path.stem, 6))) for path in (first, second, test)]
    content = read_table(paths, ["train", "train", "test"], TABLE, LABELS)
    assert [text for text, _ in content["train"]] == [f"{k} {i}" for k in (1, 2) for i in range(6)]


@pytest.mark.parametrize(
    "splits, message",
    [
        (
            {"train": [*rows_of("train"), ("odd", "neutral")], "test": rows_of("test")},
            "train.csv: row 7 (line 8) has the label 'neutral', which is not in data.labels (bad, fair, good); "
            "correct the row, or let data.labels name the labels of the file (bad, fair, good, neutral)",
        ),
        (
            {"train": rows_of("train"), "test": [("one", "bad"), ("two", "good")]},
            "has the label 'fair', which data.labels names; add such rows, or take it out of data.labels",
        ),
        (
            {"train": rows_of("train", 5), "test": rows_of("test")},
            "data.table.train has one row of the label 'good', and train and valid need one each",
        ),
    ],
)
def test_classes_that_differ_are_told(tmp_path, splits, message):
    with pytest.raises(StudyError) as caught:
        read_table(*files(tmp_path, **splits), TABLE, LABELS)
    assert message in str(caught.value)


# --- splits


def content(**sizes):
    return {split: [(f"{split} {k}", k % 3) for k in range(n)] for split, n in sizes.items()}


def classes_of(rows):
    return [sum(label == k for _, label in rows) for k in range(3)]


def test_a_fifth_of_train_is_drawn_for_valid():
    source = content(train=30, test=9)
    splits = split_table(source, None, None, None, 1, LABELS)
    assert {split: classes_of(rows) for split, rows in splits.items()} == {
        "train": [8, 8, 8],
        "valid": [2, 2, 2],
        "test": [3, 3, 3],
    }
    assert sorted(splits["train"] + splits["valid"]) == sorted(source["train"]) and splits["test"] == source["test"]
    assert split_table(source, None, None, None, 1, LABELS) == splits
    assert split_table(source, None, None, None, 2, LABELS)["valid"] != splits["valid"]
    # The same valid texts go with every number of texts to train on.
    assert split_table(source, 12, 6, None, 1, LABELS)["valid"] == splits["valid"]
    assert classes_of(split_table(source, 12, 9, None, 1, LABELS)["train"]) == [4, 4, 4]


def test_a_valid_of_its_own_stays_apart():
    source = content(train=30, valid=9, test=9)
    assert split_table(source, None, None, None, 1, LABELS) == source
    splits = split_table(source, 12, 6, 3, 1, LABELS)
    assert {split: classes_of(rows) for split, rows in splits.items()} == {
        "train": [4, 4, 4],
        "valid": [2, 2, 2],
        "test": [1, 1, 1],
    }
    assert all(set(splits[split]) < set(source[split]) for split in SPLITS)
    with pytest.raises(StudyError, match=r"data\.n_train \(31\) is more than the source's 30"):
        split_table(source, 31, None, None, 1, LABELS)


def build(folder, paths, splits):
    addresses = [f"mydata/{k}" for k in range(len(paths))]
    split_source(folder, "table", paths, addresses, classes=LABELS, table=TABLE | {"splits": splits})


def test_the_canonical_files(tmp_path):
    train = [*rows_of("train", 15), ("test 0", "bad"), ('"two\nlines"', "fair")]
    paths, splits = files(tmp_path, train=train, test=rows_of("test", 6))
    build(tmp_path / "data", paths, splits)
    manifest = read_json(tmp_path / "data" / "manifest.json")
    assert read_lines(tmp_path / "data" / "test.label") == ["0", "1", "2"] * 2
    assert (manifest["language"], manifest["licence"], manifest["labels"]) == ("en", "CC0", LABELS)
    assert manifest["source_reviews"] == {"train": 17, "test": 6} and not manifest["own_split"]
    # Texts that train and test share are counted here, shown by the audit, and never pretrained on.
    assert manifest["identical_reviews"]["train_test"] + manifest["identical_reviews"]["valid_test"] == 1
    assert "test 0" not in read_lines(tmp_path / "data" / "pretraining.review")
    written = {line for split in ("train", "valid") for line in read_lines(tmp_path / "data" / f"{split}.review")}
    assert "two lines" in written and len(written) == 17


def test_nothing_is_written_where_a_row_is_faulty(tmp_path):
    paths, splits = files(tmp_path, train=[*rows_of("train"), ("odd", "neutral")], test=rows_of("test"))
    with pytest.raises(StudyError, match="neutral"):
        build(tmp_path / "data", paths, splits)
    assert not (tmp_path / "data").exists()


def test_json_of_any_label(tmp_path):
    paths = []
    for split in ("b", "a"):
        rows = [{"text": f"{split} {k}", "label": k % 2} for k in range(6)]
        paths.append(write(tmp_path / f"{split}.jsonl", "\n".join(map(json.dumps, rows))))
    content = read_table(paths, ["train", "test"], TABLE, ["0", "1.0"])
    assert content["test"] == [(f"a {k}", k % 2) for k in range(6)]
