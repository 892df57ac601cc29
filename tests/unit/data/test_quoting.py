"""Quotation marks in tables: the file's own or the texts', by the whole file; no row is lost in silence."""

import pytest

from common.errors import StudyError
from data.text_tables import quoting_of, read_examples, read_rows


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return str(folder / name)


def texts(path, **options):
    return [example.text for example in read_examples(path, "text", "label", **options)]


def test_a_speech_that_opens_in_one_line_and_ends_in_another_stays_in_its_rows(tmp_path):
    rows = ['"It was late', "the train had gone", 'and nobody came"', "costs rose"]
    path = write(tmp_path, "a.tsv", "text\tlabel\n" + "".join(f"{row}\tpos\n" for row in rows))
    assert texts(path) == rows
    # Read with the marks as the file's, three rows would be one, and the labels words of it.
    glued, last = texts(path, quoting="csv")
    assert "pos the train had gone" in glued and last == "costs rose"


@pytest.mark.parametrize(
    ("content", "quoting"),
    [
        ('text\tlabel\n"a ""b"" c"\tx\n', "csv"),
        ('text\tlabel\n"a" said he\tx\n', "none"),
        ('text\tlabel\n"a\tx\n', "none"),
        ('text\tlabel\n"a"\tx\n"b\ty\n', "none"),
        ("text\tlabel\nplain\tx\n", "csv"),
    ],
)
def test_the_whole_file_decides_about_tsv(tmp_path, content, quoting):
    assert quoting_of("a.tsv", content) == quoting
    assert quoting_of("a.csv", content) == "csv"


def test_quoted_and_plain_marks_give_the_right_texts(tmp_path):
    quoted = write(tmp_path, "a.tsv", 'text\tlabel\n"a ""b"" c"\tx\nd\ty\n')
    assert texts(quoted) == ['a "b" c', "d"] and texts(quoted, quoting="none") == ['"a ""b"" c"', "d"]
    plain = write(tmp_path, "b.tsv", 'text\tlabel\n"Well," she said\tx\n')
    assert texts(plain) == ['"Well," she said']


def test_a_plain_row_of_another_length_names_the_row_and_the_way_out(tmp_path):
    path = write(tmp_path, "a.tsv", 'text\tlabel\n"a\tb\tx\n')
    with pytest.raises(
        StudyError, match=r"row 1 \(line 2\) has 3 cells and the header 2; its quotation marks .*quoting: csv"
    ):
        texts(path)


def test_texts_of_several_lines_in_quotation_marks_are_read_where_only_so_the_rows_are_whole(tmp_path):
    path = write(tmp_path, "a.tsv", 'text\tlabel\n"one ""two"",\nthree"\tx\nfour\ty\n')
    assert texts(path) == ['one "two", three', "four"]


def test_a_table_that_is_whole_either_way_is_refused_until_somebody_says_which(tmp_path):
    path = write(tmp_path, "a.csv", 'text,label\n"It was late,pos\nand so it ended",neg\n')
    with pytest.raises(StudyError, match="2 rows or 3; set data.table.quoting: csv where the marks belong to the file"):
        texts(path)
    assert texts(path, quoting="csv") == ["It was late,pos and so it ended"]
    assert texts(path, quoting="none") == ['"It was late', 'and so it ended"']
    # A text of several lines whose lines are no rows is what CSV is for.
    assert texts(write(tmp_path, "b.csv", 'text,label\n"one\ntwo",neg\n')) == ["one two"]


@pytest.mark.parametrize("again", ["\ufefftext,label", '\ufeff"text","label"', "label,text", "Text, LABEL"])
def test_a_header_of_another_file_joined_to_it_is_refused_too(tmp_path, again):
    path = write(tmp_path, "a.csv", f"text,label\na,x\n{again}\nb,y\n")
    with pytest.raises(StudyError, match=r"row 2 \(line 3\) repeats the header; delete it"):
        texts(path)
    # A text that is a column's name is no header.
    assert texts(write(tmp_path, "b.csv", "text,label\ntext,x\nlabel,y\n")) == ["text", "label"]


def test_a_header_in_the_middle_is_refused(tmp_path):
    for name, sign in (("a.csv", ","), ("a.tsv", "\t")):
        path = write(tmp_path, name, f"text{sign}label\na{sign}x\ntext{sign}label\nb{sign}y\n")
        with pytest.raises(StudyError, match=r"row 2 \(line 3\) repeats the header; delete it"):
            texts(path)
    # Without a header it may be a text like any other.
    path = write(tmp_path, "b.csv", "text,label\na,x\ntext,label\n")
    assert len(list(read_rows(path, [1, 2]))) == 3


def test_a_column_in_another_unicode_form_is_found(tmp_path):
    path = write(tmp_path, "a.csv", "re\u0301ponse,label\na,x\n")
    (example,) = read_examples(path, "r\u00e9ponse", "label")
    assert example.text == "a"
