"""Delimiters of CSV files, and files that point to others: read rightly, or refused by name."""

import pytest

from checkpoint.copy_checkpoint import main as copy_checkpoint
from common.errors import StudyError
from data.archives import list_members
from data.pieces import load_model
from data.text_tables import read_examples
from qa.build_qa_pairs import read_pairs
from training.fairseq_checkpoint import read_checkpoint

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 9\n".format("0" * 64)


def write(folder, content, name="a.csv"):
    (folder / name).write_text(content, encoding="utf-8", newline="")
    return str(folder / name)


def rows(path, text="text", label="label", **options):
    return [(one.text, one.label) for one in read_examples(path, text, label, **options)]


@pytest.mark.parametrize("sign", [",", ";", "\t", "|", "^"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_first_line_says_what_is_between_the_cells(tmp_path, sign, end):
    # A tab inside of quotation marks has a guess of its own: see test_quoting.py.
    first = "a b" if sign == "\t" else f"a{sign} b"
    path = write(
        tmp_path, "\ufeff" + end.join([f"sep={sign}", f"text{sign}label", f'"{first}"{sign}pos', f"c{sign}neg", ""])
    )
    assert rows(path) == [(first, "pos"), ("c", "neg")]
    # The place counts the lines of the file.
    assert read_examples(path, "text", "label")[1].place.endswith("row 2 (line 4)")
    assert len(rows(path, 1, 2)) == 3


def test_a_spreadsheet_may_quote_its_first_line(tmp_path):
    assert rows(write(tmp_path, '"sep=;"\ntext;label\na, b;pos\n')) == [("a, b", "pos")]


@pytest.mark.parametrize("sign", ["\t", "|"])
def test_tabs_and_pipes_in_csv(tmp_path, sign):
    path = write(tmp_path, f"id{sign}text{sign}label\n1{sign}one, two; three{sign}pos\n2{sign}four{sign}neg\n")
    assert rows(path) == [("one, two; three", "pos"), ("four", "neg")]
    assert rows(path, 2, 3)[1:] == rows(path)


def test_csv_with_tabs_has_the_marks_of_tsv(tmp_path):
    path = write(tmp_path, 'text\tlabel\n"Well," she said\tpos\n"It was late\tneg\n')
    assert rows(path) == [('"Well," she said', "pos"), ('"It was late', "neg")]


def test_a_blank_before_quotation_marks_of_the_file(tmp_path):
    path = write(tmp_path, '"label", "text"\n"pos", "a, ""b"""\n"neg", "c"\n')
    assert rows(path) == [('a, "b"', "pos"), ("c", "neg")]
    assert rows(write(tmp_path, 'label,text\npos,  "c"\n')) == [("c", "pos")]
    assert rows(path := write(tmp_path, 'label,text\npos, "c"\n'), quoting="none") == [('"c"', "pos")], path


def test_a_blank_before_quotation_marks_of_the_text(tmp_path):
    assert rows(write(tmp_path, 'label,text\npos, "Yes" he said\nneg,no\n')) == [
        ('"Yes" he said', "pos"),
        ("no", "neg"),
    ]


def test_a_speech_over_two_rows_behind_blanks_is_not_glued(tmp_path):
    path = write(tmp_path, 'label,text\npos, "It was late\nneg,no train came"\n')
    with pytest.raises(StudyError, match=r"a.csv: texts in quotation marks run over several lines.*quoting: csv"):
        rows(path)


def test_a_blank_behind_a_quotation_mark_is_named(tmp_path):
    with pytest.raises(StudyError, match=r"a.csv, line 2: .*does a blank follow a cell's last one"):
        rows(write(tmp_path, 'text,label\n"a, b" ,pos\n'))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_a_table_that_is_a_pointer(tmp_path, name):
    with pytest.raises(StudyError, match=rf"{name} is a Git LFS pointer, .*`git lfs pull`"):
        rows(write(tmp_path, POINTER, name))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("model.pt", read_checkpoint),
        ("a.zip", list_members),
        ("sentencepiece.bpe.model", load_model),
        ("pairs.json", lambda path: read_pairs(path, "question", "answer")),
        ("model.pt", lambda path: copy_checkpoint([path, path, path], [])),
    ],
)
def test_other_files_that_are_pointers(tmp_path, name, read):
    with pytest.raises(StudyError, match=rf"{name} is a Git LFS pointer, .*`git lfs pull`"):
        read(write(tmp_path, POINTER, name))


@pytest.mark.parametrize(
    ("content", "program", "command"),
    [
        ("\ufeff" + POINTER.replace("\n", "\r\n"), "Git LFS", "git lfs pull"),
        ("/annex/objects/SHA256E-s9--0123.csv\n", "git-annex", "git annex get"),
        ("0123456789abcdef0123456789abcdef01234567\n", "git-media", "git media sync"),
    ],
)
def test_pointers_of_other_programs_and_with_a_byte_order_mark(tmp_path, content, program, command):
    with pytest.raises(StudyError, match=f"is a {program} pointer, .*{command}"):
        rows(write(tmp_path, content, "train.csv"))
