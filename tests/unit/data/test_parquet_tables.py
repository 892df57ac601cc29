"""Parquet: the same answers as CSV, types that text files lack, and memory."""

import csv
import decimal
import io
import subprocess
import sys
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet
import pytest

from checkpoint.opinions import read_column
from common.errors import StudyError
from data.parquet_rows import BATCH
from data.reviews import SPLITS
from data.text_tables import read_examples, read_rows
from qa.build_qa_pairs import read_pairs
from study.configuration import load_study
from support import studies
from support.reviews import split_source
from tools import new_study

LABELS = ["1", "2", "3"]
WORDS = ["Où, là ?", 'Dit "non"', "ligne\nligne", "👩‍👩‍👧", "\u202bسيء\u202c", "a\tb", "nul\0nul", "{x}"]


def write(path, columns, **options):
    """Write columns (lists or Arrow arrays) as Parquet; return its path."""
    table = (
        pyarrow.table(columns) if isinstance(columns, dict) else pyarrow.Table.from_arrays(*zip(*columns, strict=True))
    )
    pyarrow.parquet.write_table(table, path, **options)
    return str(path)


def rows_of(split, n):
    return [(f"{split} {k}: {WORDS[k % len(WORDS)]}", k % 3 + 1) for k in range(n)]


def built(folder, files):
    """Build the splits of these files, by their splits; return what was written."""
    table = {"text": "text", "label": "label", "language": None, "licence": None, "splits": list(files)}
    paths = list(files.values())
    split_source(folder, "table", paths, paths, classes=LABELS, table=table)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".json"}


@pytest.mark.parametrize("valid", [False, True])
def test_the_splits_are_those_of_the_same_table_as_csv(tmp_path, valid):
    sizes = {"train": 40, "test": 9} | ({"valid": 12} if valid else {})
    of_csv, of_parquet = {}, {}
    for split, n in sizes.items():
        frame = pandas.DataFrame(rows_of(split, n), columns=["text", "label"])
        # Neither form loses what the other has; a NUL is refused in a text file.
        frame["text"] = frame["text"].str.replace("\0", "")
        of_csv[split] = str(tmp_path / f"{split}.csv")
        frame.to_csv(of_csv[split], index=False)
        of_parquet[split] = str(tmp_path / f"{split}.parquet")
        frame.astype({"label": "category"}).to_parquet(of_parquet[split], row_group_size=7)
    made = built(tmp_path / "csv", of_csv)
    assert built(tmp_path / "parquet", of_parquet) == made
    assert len(made) == 2 * len(SPLITS) + 2 and all(made[f"{split}.review"] for split in SPLITS)


COLUMNS = {
    "integers": (pyarrow.array([1, 2]), ["1", "2"]),
    "small integers": (pyarrow.array([1, 2], pyarrow.uint8()), ["1", "2"]),
    "whole numbers as floats": (pyarrow.array([1.0, 2.0]), ["1", "2"]),
    "floats of 32 bits": (pyarrow.array([0.1, 3.7], pyarrow.float32()), ["0.1", "3.7"]),
    "decimals": (pyarrow.array([decimal.Decimal("1.00"), decimal.Decimal("2.50")]), ["1", "2.50"]),
    "truth values": (pyarrow.array([True, False]), ["true", "false"]),
    "texts": (pyarrow.array([" good ", "1.0"]), ["good", "1"]),
    "long texts": (pyarrow.array(["a", "b"], pyarrow.large_string()), ["a", "b"]),
    "categories": (pyarrow.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
    "numbers as categories": (pyarrow.array([1, 2]).dictionary_encode(), ["1", "2"]),
}


@pytest.mark.parametrize("column, names", COLUMNS.values(), ids=COLUMNS)
def test_labels_of_every_type_are_compared_as_text(tmp_path, column, names):
    # A row group a row, and blanks round the name of a column, as in CSV.
    path = write(tmp_path / "A.PARQUET", {"text": ["one", "two"], " label ": column}, row_group_size=1)
    found = read_examples(path, "text", "label")
    assert [example.label for example in found] == names
    assert [example.place for example in found] == [f"{path}: row 1", f"{path}: row 2"]


def test_names_with_dots_and_pairs(tmp_path):
    nested = pyarrow.array([{"b": "of another"}] * 2)
    path = write(tmp_path / "a.parquet", [(["one", "two"], "a.b"), (["x", "y"], "{c}"), ([1, 2], "n"), (nested, "a")])
    assert [row.text for row in read_examples(path, "a.b", "n", "{c}")] == ["one\tx", "two\ty"]


def of(*columns):
    """Return a function that gives the bytes of a file of these columns."""
    return lambda folder: Path(write(folder / "whole", columns, write_page_checksum=True)).read_bytes()


WHOLE = of((["a"] * 99, "text"), ([1] * 99, "label"))


HALVES = pyarrow.StringArray.from_buffers(2, *pyarrow.array([b"fine", b"\xff\xfe"]).buffers()[1:])
FAULTS = {
    "missing column": (
        of((["a"], "review"), ([1], "label")),
        "has no column 'text'; its columns are 'review', 'label'",
    ),
    "column twice": (
        of((["a"], "text"), (["b"], "text")),
        "has the column 'text' twice; its columns are 'text', 'text'",
    ),
    "null text": (of((["a", None], "text"), ([1, 1], "label")), ": row 2 has no text (column 'text'); fill it in or"),
    "null label": (of((["a", "b"], "text"), ([1, None], "label")), ": row 2 has no label (column 'label'); fill it in"),
    "nothing but nulls": (of((["a"], "text"), ([None], "label")), ": row 1 has no label (column 'label'); fill it in"),
    "a label that is no number": (of((["a"], "text"), ([float("nan")], "label")), ": row 1 has no label"),
    "empty text": (of((["a", " \n"], "text"), ([1, 1], "label")), ": row 2 has no text"),
    "numbers for texts": (
        of(([5], "text"), ([1], "label")),
        ": row 1: its text (column 'text') is 5; name another col",
    ),
    "lists": (
        of(([["a"]], "text"), ([1], "label")),
        "the column 'text' holds list<element: string>, neither texts nor",
    ),
    "structures": (of((["a"], "text"), ([{"x": 1}], "label")), "the column 'label' holds struct<x: int64>, neither"),
    "bytes": (
        of(([b"a"], "text"), ([1], "label")),
        "the column 'text' holds binary, neither texts nor numbers; name an",
    ),
    "dates": (of((["a"], "text"), (pyarrow.array([1], pyarrow.date32()), "label")), "holds date32[day], neither"),
    "not UTF-8": (of((HALVES, "text"), ([1, 1], "label")), "text after row 0 is not UTF-8; write the file anew"),
    "no rows": (of(([], "text"), ([], "label")), "holds no rows"),
    "cut short": (lambda folder: WHOLE(folder)[:-100], "is no whole Parquet file (Parquet magic bytes not found in fo"),
    "footer alone": (lambda folder: b"PAR1" + WHOLE(folder)[-300:], "is no whole Parquet file ("),
    "a page spoilt": (
        lambda folder: WHOLE(folder).replace(b"a", b"b", 1),
        "is no whole Parquet file (could not verify",
    ),
    "empty file": (
        lambda folder: b"",
        "is no whole Parquet file (Parquet file size is 0 bytes); cut short, or of anoth",
    ),
    "CSV": (lambda folder: b"text,label\na,1\n" * 9, "is no whole Parquet file (Parquet magic bytes not found"),
}


@pytest.mark.parametrize("content, message", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_in_one_line(tmp_path, content, message):
    path = tmp_path / "a.parquet"
    path.write_bytes(content(tmp_path))
    with pytest.raises(StudyError) as caught:
        read_examples(str(path), "text", "label")
    assert str(caught.value).startswith(f"{path}") and message in str(caught.value) and "\n" not in str(caught.value)


def test_files_that_are_none_and_columns_by_number(tmp_path):
    with pytest.raises(StudyError, match="a.parquet is missing"):
        read_examples(str(tmp_path / "a.parquet"), "text", "label")
    # As Spark writes a table.
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(StudyError, match=r"folder.parquet cannot be read \(Is a directory\)"):
        read_examples(str(tmp_path / "folder.parquet"), "text", "label")
    with pytest.raises(StudyError, match="the columns of Parquet have names; give the name of each"):
        read_examples(write(tmp_path / "b.parquet", {"text": ["a"]}), 1, 2)


def test_pairs_and_corpora_read_it_as_well(tmp_path):
    pairs = [{"question": f"Où {k} ?", "answer": f"Ici, {k}."} for k in range(4)]
    table = io.StringIO()
    writer = csv.DictWriter(table, ["Frage", "Antwort"])
    writer.writeheader()
    writer.writerows({"Frage": pair["question"], "Antwort": pair["answer"]} for pair in pairs)
    (tmp_path / "a.csv").write_text(table.getvalue(), encoding="utf-8")
    columns = {"Frage": [pair["question"] for pair in pairs], "Antwort": [pair["answer"] for pair in pairs]}
    path = write(tmp_path / "a.parquet", columns, row_group_size=2)
    assert read_pairs(path, "Frage", "Antwort") == read_pairs(str(tmp_path / "a.csv"), "Frage", "Antwort") == pairs
    columns["Antwort"] = ["x", None, "y", "z"]
    with pytest.raises(StudyError, match=r"b.parquet: row 2 \('Où 1 \?'\) has no Antwort"):
        read_pairs(write(tmp_path / "b.parquet", columns), "Frage", "Antwort")
    columns["Antwort"] = [1, 2, 3, 4]
    with pytest.raises(StudyError, match="c.parquet: row 1: its Antwort is 1; write it as text"):
        read_pairs(write(tmp_path / "c.parquet", columns), "Frage", "Antwort")
    # Rows without a text are passed over, as in JSON Lines.
    assert list(read_column(str(tmp_path / "b.parquet"), "Antwort")) == ["x", "y", "z"]


def test_make_new_writes_the_same_study(tmp_path):
    files = {}
    for split, n in (("train", 30), ("test", 9)):
        frame = pandas.DataFrame(rows_of(split, n), columns=["text", "label"]).replace("\0", "", regex=True)
        frame.to_csv(tmp_path / f"{split}.csv", index=False)
        frame.to_parquet(tmp_path / f"{split}.parquet")
        files[split] = str(tmp_path / f"{split}.parquet")
    path, found = new_study.main("mine", files, "text", "label", folder=str(tmp_path / "studies"))
    config, _ = load_study(studies.ROOT, path)
    assert config["data"]["labels"] == LABELS and config["data"]["table"]["train"] == files["train"]
    by_csv = {split: file.replace(".parquet", ".csv") for split, file in files.items()}
    _, other = new_study.main("other", by_csv, "text", "label", folder=str(tmp_path / "studies"))
    assert found == other.replace(".csv", ".parquet")


def test_memory_follows_the_named_columns_and_batches(tmp_path):
    n = 8 * BATCH
    columns = {"text": [f"{k:0500}" for k in range(n)], "other": [f"{k:02000}" for k in range(n)]}
    # One row group: a batch is less than it.
    path = write(tmp_path / "a.parquet", columns, compression="none", use_dictionary=False)
    pool, usual = pyarrow.proxy_memory_pool(pyarrow.default_memory_pool()), pyarrow.default_memory_pool()
    pyarrow.set_memory_pool(pool)
    try:
        assert sum(1 for _ in read_rows(path, ["text"])) == n
    finally:
        pyarrow.set_memory_pool(usual)
    # `other` has 66 MB, `text` 16 MB, of which a batch is an eighth.
    assert 0 < pool.max_memory() < 8e6 < Path(path).stat().st_size / 10


LAZY = """
import sys
sys.path.insert(0, {scripts!r})
import data.build_splits, qa.build_qa_pairs, checkpoint.filter_corpus_tables
from data.text_tables import read_examples
print(len(list(read_examples({csv!r}, "text", "label"))), "pyarrow" in sys.modules, "pandas" in sys.modules)
print(len(list(read_examples({parquet!r}, "text", "label"))), "pyarrow" in sys.modules)
"""


def test_only_who_reads_parquet_loads_its_library(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\na,1\n", encoding="utf-8")
    path = write(tmp_path / "a.parquet", {"text": ["a", "b"], "label": [1, 2]})
    scripts = str(Path(studies.ROOT, "scripts"))
    code = LAZY.format(scripts=scripts, csv=str(tmp_path / "a.csv"), parquet=path)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    # pandas loads it wherever it is installed; no rule that reads tables loads pandas.
    assert done.stdout == "1 False False\n2 True\n", done.stderr


def test_what_is_said_names_every_form():
    for page in ("README.md", "docs/getting-started/your-own-study.md", "docs/guides/models.md", "config.yaml"):
        assert "Parquet" in Path(studies.ROOT, page).read_text(encoding="utf-8"), page
