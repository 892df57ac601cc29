"""Tables as users have them: each goes through `make new` and `build_splits`, or one message says what to correct."""

import codecs
import gzip
import json
from pathlib import Path

import pytest

from common.errors import StudyError
from common.files import read_lines
from data.reviews import SPLITS
from study.addresses import table_files
from study.configuration import load_study
from support import studies
from support.reviews import split_source
from tools import new_study

LABELS = ["bad", "good"]
TRAIN, TEST = 12, 6


def rows(n=TRAIN, labels=LABELS, first=0, text="text {} of some words"):
    return [(text.format(k), labels[k % len(labels)]) for k in range(first, first + n)]


def table(content, header="text,label", sign=",", end="\n"):
    return "".join(f"{line}{end}" for line in [header.replace(",", sign), *(sign.join(row) for row in content)])


def both(text="text {} of some words", labels=LABELS, name="csv", form=table, n=(TRAIN, TEST), **options):
    """Return the files of a study: what `form` makes of train's rows and of test's."""
    parts = {"train": rows(n[0], labels, 0, text), "test": rows(n[1], labels, 5000, text)}
    return {f"{split}.{name}": form(content, **options) for split, content in parts.items()}


def lines(content):
    return "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in content)


def pairs(content, hypotheses=TRAIN):
    """Rows of two texts; of only so many the second is there."""
    return table(
        [(text, "so" if k < hypotheses else "", label) for k, (text, label) in enumerate(content)], "text,second,label"
    )


def train(content, name="csv"):
    """A sound study but for train."""
    return {f"train.{name}": content, "test.csv": both()["test.csv"]}


def more(row):
    return train(table(rows()) + row)


def built(files, labels=LABELS, **columns):
    """Build the splits of a study written by hand; return its manifest."""
    names = {"text": "text", "label": "label"} | columns | {"language": None, "licence": None}
    splits = [name.partition(".")[0] for name in files]
    return split_source(
        Path("data"), "table", list(files), list(files), classes=labels, table=names | {"splits": splits}
    )


def made(files, text="text", label="label", second=None):
    """Go a user's way: `make new`, then the splits of its study; return the manifest and the classes."""
    path, _ = new_study.main("mine", {name.partition(".")[0]: name for name in files}, text, label, second)
    config, _ = load_study(studies.ROOT, path)
    data = config["data"]
    assert [file for _, file in table_files(data["table"])] == list(files)
    keys = {key: data["table"][key] for key in ("text", "label", "second") if data["table"][key] is not None}
    return built(files, data["labels"], **keys), data["labels"]


def write(folder, files):
    for name, content in files.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


# Accepted: files, columns, classes that are found.
SOUND = {
    "plain": (both(), {}, LABELS),
    "byte order mark": ({name: codecs.BOM_UTF8 + text.encode() for name, text in both().items()}, {}, LABELS),
    "line ends of Windows": (both(end="\r\n"), {}, LABELS),
    "line ends of old Macs": (both(end="\r"), {}, LABELS),
    "semicolons": (both(sign=";"), {}, LABELS),
    "quoted line ends": (both('"one\ntwo {}\r\nthree"'), {}, LABELS),
    "line separators of Unicode": (both("one\u2028two {}\x85three"), {}, LABELS),
    "emoji": (both("👩‍👩‍👧 {}"), {}, LABELS),
    "right to left": (both("\u202bسيء جدا {}\u202c"), {}, LABELS),
    "another column twice": (both(header="text,label,x,x", labels=["bad,1,2", "good,3,4"]), {}, LABELS),
    "labels as floats": (both(labels=["1.0", "2.0"]), {}, ["1", "2"]),
    "floats in train, whole numbers in test": (
        both(labels=["1.0", "2.0"]) | {"test.csv": table(rows(TEST, ["1", "2"], 5000))},
        {},
        ["1", "2"],
    ),
    "blanks round labels": (both(labels=[" bad", "good\u00a0\t"]), {}, LABELS),
    "a line end in a label": (both(labels=['"very\nbad"', "good"]), {}, ["good", "very bad"]),
    "composed and decomposed labels": (
        both(labels=["é", "o"]) | {"test.csv": table(rows(TEST, ["e\u0301", "o"], 5000))},
        {},
        ["o", "é"],
    ),
    "labels that YAML would change": (both(labels=["yes", "null", "1e3"]), {}, ["1e3", "null", "yes"]),
    "labels with braces": (both(labels=["{x}", "{{"]), {}, ["{x}", "{{"]),
    "truth values": (both(labels=[False, True], name="jsonl", form=lines), {}, ["false", "true"]),
    "NUL in JSON": (both("a\0b {}", name="jsonl", form=lines), {}, LABELS),
    "200 classes": (
        both(labels=[f"c{k:03}" for k in range(200)], n=(400, 200)),
        {},
        [f"c{k:03}" for k in range(200)],
    ),
    "a rare class": (
        {"train.csv": table([*rows(100, ["bad"]), ("x", "good"), ("y", "good")]), "test.csv": both()["test.csv"]},
        {},
        LABELS,
    ),
    "a text of a million characters": (more("a" * 10**6 + ",bad\n"), {}, LABELS),
    "pairs": (both(form=pairs), {"second": "second"}, LABELS),
    "columns with braces": (both(header="{a},{b} %s $x"), {"text": "{a}", "label": "{b} %s $x"}, LABELS),
}


@pytest.mark.parametrize("files, columns, labels", SOUND.values(), ids=SOUND)
def test_it_works(tmp_path, monkeypatch, files, columns, labels):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, files)
    manifest, found = made(files, **columns)
    assert found == labels
    written = {split: manifest["splits"][split]["n_by_class"] for split in SPLITS}
    assert all(min(counts) > 0 for counts in written.values())
    assert sum(written["train"]) + sum(written["valid"]) == manifest["source_reviews"]["train"]
    for split in SPLITS:
        assert len(read_lines(f"data/{split}.review")) == len(read_lines(f"data/{split}.label")) == sum(written[split])


COPY = "test.csv has the same content as train.csv (data.table.train); name each file once"
# Refused: files, columns, the message of `make new`, and that of a study written by hand if it differs.
REFUSED = {
    "UTF-16": (train(table(rows()).encode("utf-16")), {}, "train.csv: this is UTF-16 text; convert it: iconv"),
    "Latin-1": (train(table(rows(text="é {}")).encode("latin-1")), {}, "train.csv, line 2: character 1 (byte 0xe9"),
    "NUL": (more("a\0b,bad\n"), {}, "train.csv, line 14: a NUL character"),
    "a cell too many": (more("a,b,bad\n"), {}, "train.csv: row 13 (line 14) has 3 cells and the header 2; put quot"),
    "a cell too few": (
        more("a\n"),
        {},
        "row 13 (line 14) has 1 cells and the header 2; put quotation marks around a tex",
    ),
    "quotation mark": (
        more('"a" b,bad\n'),
        {},
        "train.csv, line 14: ',' expected after '\"'; is a quotation mark left",
    ),
    "label column twice": (train("text,label,label\na,b,c\n"), {}, "train.csv has the column 'label' twice"),
    "empty file": (train(""), {}, "train.csv holds no rows; is it the right file?"),
    "blank lines": (train("\n\r\n\n"), {}, "train.csv holds no rows"),
    "header only": (train("text,label\n"), {}, "train.csv holds no rows"),
    "empty test": (both() | {"test.csv": "text,label\n"}, {}, "test.csv holds no rows"),
    "empty text": (more(",bad\n"), {}, "train.csv: row 13 (line 14) has no text (column 'text'); fill it in or delete"),
    "invisible text": (more("\u200b\ufeff,bad\n"), {}, "train.csv: row 13 (line 14) has no text (column 'text')"),
    "empty label": (
        more("a, \n"),
        {},
        "train.csv: row 13 (line 14) has no label (column 'label'); fill it in or delete",
    ),
    "invisible label": (more("a,\u200b\n"), {}, "train.csv: row 13 (line 14) has no label"),
    "a longer text": (more("b" * (10**6 + 1) + ",bad\n"), {}, "train.csv: row 13 (line 14): a review of 1000001 char"),
    "no second column": (
        both(),
        {"second": "other"},
        "train.csv has no column 'other'; its columns are 'text', 'label'",
    ),
    "an empty second text": (
        both(form=lambda content: pairs(content, 4)),
        {"second": "second"},
        "train.csv: row 5 (line 6) has no text (column 'second'); fill it in or delete the row",
    ),
    "a header in one cell": (both(sign="^"), {}, "train.csv has no column 'text'; its columns are 'text^label'"),
    "a header without end": (train("z" * 10**6 + ",b\n"), {}, f"its columns are '{'z' * 39}, 'b'"),
    "a thousand columns": (
        train(",".join(f"c{k}" for k in range(1000))),
        {},
        "'c19' and 980 more",
    ),
    "a number past the columns": (both(), {"text": 1, "label": 7}, "train.csv has no column 7; its columns are 1, 2"),
    "a test label that train lacks": (
        both() | {"test.csv": table(rows(TEST, ["bad", "fair"], 5000))},
        {},
        "test.csv: row 2 (line 3) has the label 'fair', which no row of train.csv has; correct it, or add such rows",
        "test.csv: row 2 (line 3) has the label 'fair', which is not in data.labels (bad, good); correct the row, or",
    ),
    "another case": (
        both() | {"test.csv": table(rows(TEST, ["bad", "Good"], 5000))},
        {},
        "test.csv: row 2 (line 3) has the label 'Good', which no row of train.csv has",
        "test.csv: row 2 (line 3) has the label 'Good', which is not in data.labels",
    ),
    "a train label that test lacks": (
        both() | {"test.csv": table(rows(TEST, ["bad"], 5000))},
        {},
        "train.csv: row 2 (line 3) has the label 'good', which no row of test.csv has; correct it, or add such rows",
        "data.table.test: no row of test.csv has the label 'good', which data.labels names; add such rows, or take it",
    ),
    "one class": (
        both(labels=["bad"]),
        {},
        "the column of labels has 1 different values, and a study 2 to 200 classes; is it the right column?",
        "data.table.train: no row of train.csv has the label 'good'",
    ),
    "1,000 classes": (
        both(labels=[f"c{k}" for k in range(1000)], n=(2000, 1000)),
        {},
        "the column of labels has 1000 different values, and a study 2 to 200 classes; is it the right column?",
        "train.csv: row 1 (line 2) has the label 'c0', which is not in data.labels (bad, good); correct the row, or "
        "let data.labels name the labels of the file (c0, c1, c2, c3, c4, c5, c6, c7 and 992 more)",
    ),
    "a label of 101 characters": (
        both(labels=["x" * 101, "good"]),
        {},
        "train.csv: row 1 (line 2) has a label of 101 characters, and a class's name at most 100; is it the right col",
        f"train.csv: row 1 (line 2) has the label '{'x' * 40}', which is not in data.labels",
    ),
    "a class of one row": (
        both(labels=["bad", "bad", "bad", "bad", "bad", "good"], n=(6, 6)),
        {},
        "data.table.train has one row of the label 'good', and train and valid need one each; add rows, or give a file",
    ),
    "one file for train and test": (dict.fromkeys(("train.csv", "test.csv"), table(rows())), {}, COPY),
    "a folder": (train(None), {}, "train.csv cannot be read (Is a directory): a readable file is needed there"),
    "gzip": (
        train(b"", "csv.gz"),
        {},
        "train.csv.gz: a table's name ends in .csv, .tsv, .jsonl, .ndjson, .parquet, .txt; ",
    ),
    "gzip under another name": (
        train(gzip.compress(b"text")),
        {},
        "train.csv: this is packed with gzip; unpack it: gun",
    ),
    "a workbook": (
        train(b"PK\x03\x04" + bytes(99)),
        {},
        "train.csv: this is a zip archive or a workbook; unpack it, o",
    ),
    "Parquet under another name": (
        train(b"PAR1" + bytes(99)),
        {},
        "train.csv: this is Parquet; let its name end in .p",
    ),
    "CSV as JSON Lines": (
        train(table(rows()), "jsonl"),
        {},
        "train.jsonl: row 1 (line 1) is not valid JSON (Expecting",
    ),
    "a JSON array": (
        train('[{"text": "a"},\n{}]', "jsonl"),
        {},
        "row 1 (line 1) is not valid JSON (Expecting value: li",
    ),
    "a broken row": (
        train(lines(rows()) + '{"text": \n', "jsonl"),
        {},
        "train.jsonl: row 13 (line 13) is not valid JSON",
    ),
    "a nested text": (
        train(lines([*rows(), ({"en": "a"}, "bad")]), "jsonl"),
        {},
        "train.jsonl: row 13 (line 13): its text (column 'text') is {'en': 'a'}; write it as text",
    ),
    "a nested label": (
        train(lines([("a", ["x"])]), "jsonl"),
        {},
        "row 1 (line 1): its label (column 'label') is ['x'];",
    ),
    "a label that is no number": (train(lines([("a", float("nan"))]), "jsonl"), {}, "row 1 (line 1) has no label"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_it_is_refused_in_one_message(tmp_path, monkeypatch, case):
    files, columns, *messages = case
    monkeypatch.chdir(tmp_path)
    write(tmp_path, files)
    names = {key: str(name) for key, name in columns.items()}
    for step, message in ((lambda: made(files, **names), messages[0]), (lambda: built(files, **columns), messages[-1])):
        with pytest.raises(StudyError) as caught:
            step()
        told = str(caught.value)
        assert message in told and len(told) < 500 and "\n" not in told
    assert sorted(path.name for path in tmp_path.rglob("*") if path.name != "studies") == sorted(files)


def test_two_names_of_one_class(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, both())
    with pytest.raises(StudyError, match=r"data.labels: '1' and '1.0' are compared as one label; take one out"):
        built(both(), ["1", "1.0"])


def test_a_file_that_nobody_can_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, both())
    (tmp_path / "train.csv").unlink()
    with pytest.raises(StudyError, match="train.csv is missing"):
        made(both())
    # Whoever runs the tests may be root, who reads everything: a link to itself serves.
    (tmp_path / "train.csv").symlink_to("train.csv")
    with pytest.raises(StudyError, match=r"train.csv cannot be read \(Too many levels"):
        made(both())
    assert not (tmp_path / "data").exists() and not list((tmp_path / "studies").glob("*"))
