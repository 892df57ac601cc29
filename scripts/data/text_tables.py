"""Tables of texts: CSV, TSV, JSON Lines and Parquet, with the row and the line of each fault.

On Python's csv module, not on pandas: pandas says neither where a row begins that a faulty quotation mark spoils, nor
which line a row of the frame stands on.
"""

import csv
import io
import itertools
import json
import re
from collections import Counter
from typing import NamedTuple

import tasks
from common.errors import StudyError
from common.files import TABLES, reading, sha256
from data.columns import as_asked, check_names, is_header, listed, numbered
from data.parquet_rows import cells_of_parquet
from data.reviews import BETWEEN, clean_review, decode, is_blank, normalise
from data.table_labels import label_name, values_of
from study.pointers import check_pointer

JSON_LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
# The first bytes of files that are no text, whatever their name.
OTHERS = {
    b"\x1f\x8b": "this is packed with gzip; unpack it: gunzip",
    b"PK\x03\x04": "this is a zip archive or a workbook; unpack it, or save it as CSV (UTF-8)",
    b"PAR1": f"this is Parquet; let its name end in {PARQUET}",
}


# The possible separators of CSV cells, in order of preference.
DELIMITERS = ",;\t|"
# The first line that tells spreadsheets the separator.
SEPARATOR = re.compile(r'"?sep=([^\r\n])"?[ ;,\t]*(?:\r\n|\r|\n)')
# A quoted cell of a line, with doubled quotation marks inside.
QUOTED = re.compile(r'"(?:[^"]|"")*"')


class Example(NamedTuple):
    """A row of a table of texts: its canonical text, its label as `label_name` writes it, and its place."""

    text: str
    label: str
    place: str


# The quoting of a table's cells (`data.table.quoting`).
QUOTINGS = ("auto", "csv", "none")


def read_rows(path, columns, strict=True, quoting="auto"):
    """Return a table's rows, each with its place for messages.

    Args:
        path: file whose name ends in one of `TABLES`, UTF-8. CSV (or .txt) has commas, semicolons, tabs or pipes,
            whichever shows the columns, or what its first line says (`sep=;`).
        columns: names that must be there; numbers from 1: the file has no header.
        strict: refuse a row of another length than the header, and an object without a wanted key.
        quoting: quoting of CSV and TSV: `csv`, quotation marks around a cell belong to the file; `none`, to the text;
            `auto`: see `quoting_of`.

    Returns:
        iterable of tuples: "row 2 (line 3)"; dict {column: text} (JSON Lines: the object; Parquet: text, number, truth
        value or None, read as the rows are taken). Blank lines are left out.

    Raises:
        StudyError: another kind of file, a pointer of Git LFS, text that is not UTF-8, a missing or doubled column, a
            row of another length, a quotation mark left open, a line that is no JSON object, a file cut short.
    """
    ending = path.lower()
    if ending.endswith(PARQUET):
        return cells_of_parquet(path, columns)
    if not ending.endswith(TABLES):
        raise StudyError(f"{path}: a table's name ends in {', '.join(TABLES)}; unpack it, or save it as CSV (UTF-8)")
    check_pointer(path)
    with reading(path), open(path, "rb") as handle:
        content = handle.read()
    for sign, fault in OTHERS.items():
        if content.startswith(sign):
            raise StudyError(f"{path}: {fault}")
    text = decode(content, path)
    if ending.endswith(JSON_LINES):
        return _objects(path, text, columns, strict)
    # A text may be longer than the limit of the csv module, which applies to the whole process.
    limit = csv.field_size_limit(max(len(text), 1))
    try:
        return _cells(path, text, columns, strict, quoting)
    finally:
        csv.field_size_limit(limit)


def _objects(path, text, columns, strict):
    """Return the rows of JSON Lines; see `read_rows`."""
    rows = []
    if numbered(columns):
        raise StudyError(f"{path}: the columns of JSON Lines have names; give the key of each and not its number")
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        place = f"row {len(rows) + 1} (line {line})"
        try:
            value = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise StudyError(f"{path}: {place} is not valid JSON ({error}); write one object a line") from error
        if not isinstance(value, dict):
            raise StudyError(f"{path}: {place} is {content.strip()!r:.60}, not an object")
        for column in columns if strict else ():
            if column not in value:
                raise StudyError(f"{path}: {place} has no {column!r}; it has {', '.join(value) or 'no key'}")
        rows.append((place, value))
    known = dict.fromkeys(key for _, row in rows for key in row)
    for column in columns:
        if rows and column not in known:
            raise StudyError(f"{path} has no column {column!r}; its columns are {listed(known)}")
    return rows


def quoting_of(path, text, delimiter=","):
    """Return how a table's cells are quoted, by the whole file: `csv` or `none`.

    CSV is quoted. TSV, or CSV with tabs, is where every cell that begins with a quotation mark ends with one in the
    same line, the marks inside doubled, as programs write it; or where its rows are whole only so, and no cell holds a
    tab, as rows that were glued together would. Else the marks are the texts' own, as in most public TSV files.

    Args:
        path: the file's name.
        text: its content.
        delimiter: between the cells of CSV.
    """
    if not path.lower().endswith(".tsv") and delimiter != "\t":
        return "csv"
    cells = (cell for line in re.split("\r\n|\r|\n", text) for cell in line.split("\t"))
    if all(QUOTED.fullmatch(cell) for cell in cells if cell.startswith('"')):
        return "csv"
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True) if row]
    except csv.Error:
        return "none"
    glued = any("\t" in cell for row in rows for cell in row)
    plain = [row for row in csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE) if row]
    return "csv" if not glued and len(set(map(len, rows))) == 1 < len(set(map(len, plain))) else "none"


def _cells(path, text, columns, strict, quoting="auto"):
    """Return the rows of CSV or TSV; see `read_rows`."""
    tabs = path.lower().endswith(".tsv")
    said = None if tabs else SEPARATOR.match(text)
    text = text[said.end() :] if said else text
    delimiter = "\t" if tabs else said[1] if said else _delimiter(text, columns)
    plain = (quoting_of(path, text, delimiter) if quoting == "auto" else quoting) == "none"
    style = {"quoting": csv.QUOTE_NONE} if plain else {"skipinitialspace": _blank_before_quotes(text, delimiter)}
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict, **style)
    before = 1 if said else 0
    names, rows, following = None, [], 1 + before
    try:
        for cells in lines:
            line, following = following, lines.line_num + 1 + before
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = [*range(1, len(cells) + 1)] if numbered(columns) else as_asked(cells, columns)
                check_names(path, names, columns)
                if not numbered(columns):
                    continue
            place = f"row {len(rows) + 1} (line {line})"
            if not numbered(columns) and is_header(cells, names):
                raise StudyError(f"{path}: {place} repeats the header; delete it (were files with headers joined?)")
            if strict and len(cells) != len(names):
                others = "the first row" if numbered(columns) else "the header"
                sign = "a tab" if delimiter == "\t" else repr(delimiter)
                remedy = f"put quotation marks around a text that holds {sign}"
                if len(cells) < len(names):
                    remedy = "put quotation marks around a text that holds a line end, or fill in what is missing"
                if plain:
                    remedy = (
                        "its quotation marks are read as the texts' own: take tabs and line ends out of the texts, or, "
                        "where all marks belong to the file, set data.table.quoting: csv"
                    )
                raise StudyError(f"{path}: {place} has {len(cells)} cells and {others} {len(names)}; {remedy}")
            rows.append((place, dict(zip(names, cells, strict=strict))))
        if quoting == "auto" and any("\n" in cell or "\r" in cell for _, row in rows for cell in row.values()):
            _check_lines(path, text, delimiter, len(names), len(rows) + (not numbered(columns)))
    except csv.Error as error:
        raise StudyError(
            f"{path}, line {following}: {error}; is a quotation mark left open, or one inside a text not doubled? Or "
            "does a blank follow a cell's last one?"
        ) from error
    return rows


def _blank_before_quotes(text, delimiter):
    """Return whether quotation marks that follow a blank belong to the file: `good, "a, b"` as `good,"a, b"`.

    They do where the whole file can be read so, its rows of one length; else the text's: `good, "Yes" he said`.
    """
    if not re.search(rf'(?:^|{re.escape(delimiter)}) +"', text, re.MULTILINE):
        return False
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        return len({len(row) for row in lines if any(cell.strip() for cell in row)}) == 1
    except csv.Error:
        return False


def _check_lines(path, text, delimiter, n_cells, n_rows):
    """Refuse a table that is whole whether its quotation marks are its own or the texts': the rows differ.

    Args:
        path: the file, for the message.
        text: its content.
        delimiter: between cells.
        n_cells: of a row.
        n_rows: of the file, the header among them, read with the marks as its own.
    """
    plain = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_NONE) if row]
    if all(len(row) == n_cells for row in plain):
        raise StudyError(
            f"{path}: texts in quotation marks run over several lines, and each line alone is a row, too: {n_rows} "
            f"rows or {len(plain)}; set data.table.quoting: csv where the marks belong to the file, none where they "
            "belong to the texts"
        )


def _delimiter(text, columns):
    """Return the sign between the cells of a CSV file: the one that shows the wanted columns in its first rows."""

    def first(delimiter):
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
        return [row for row in itertools.islice(rows, 20) if any(cell.strip() for cell in row)]

    def fit(delimiter):
        rows = first(delimiter)
        if not rows:
            return 0, 0
        if numbered(columns):
            return len({*map(len, rows)}) == 1, len(rows[0]) >= max(columns, key=int)
        return sum(column in as_asked(rows[0], columns) for column in columns), len(rows[0])

    return max(DELIMITERS, key=fit)


def _check_cell(row, column, what, at, empty=False):
    """Refuse a row without a text or a label; an empty label may be one."""
    value = row[column]
    if empty and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return
    if isinstance(value, dict | list):
        raise StudyError(f"{at}: its {what} (column {column!r}) is {value!r:.40}; write it as text")
    # pandas and JSON write a missing value as NaN, which does not equal itself.
    if value is None or value != value or (not empty and isinstance(value, str) and is_blank(normalise(value))):
        raise StudyError(f"{at} has no {what} (column {column!r}); fill it in or delete the row")


def _text_of(row, column, at):
    """Return a row's canonical text of one column; see `read_examples`."""
    if not isinstance(row[column], str):
        raise StudyError(
            f"{at}: its text (column {column!r}) is {row[column]!r:.40}; name another column, or write it as text, in "
            "JSON with quotation marks"
        )
    # JSON can encode half a character, which no UTF-8 file can contain.
    if re.search("[\ud800-\udfff]", row[column]):
        raise StudyError(f"{at}: its text holds half a character (\\ud800 to \\udfff); correct it")
    return clean_review(row[column], at)


def read_examples(path, text, label, second=None, quoting="auto", task=tasks.DEFAULT):
    """Return the rows of a table of texts with their labels, whatever those are.

    Args:
        path: see `read_rows`.
        text: column of the texts: its name, or its number from 1 where the file has no header.
        label: label of the labels, likewise.
        second: column of the second texts, likewise, where a row is a pair of texts.
        quoting: see `read_rows`.
        task: kind of the labels; where a label is a set, its cell may be empty, or in JSON a list.

    Returns:
        list[Example]: in the file's order; the texts of a pair with `BETWEEN` between them.

    Raises:
        StudyError: see `read_rows`; no row at all, or a row without a text or a label.
    """
    examples, texts = [], [text] if second is None else [text, second]
    kind = tasks.load(task)
    for place, row in read_rows(path, [*texts, label], quoting=quoting):
        at = f"{path}: {place}"
        for column, what in (*((column, "text") for column in texts), (label, "label")):
            _check_cell(row, column, what, at, what == "label" and kind.EMPTY)
        whole = BETWEEN.join(_text_of(row, column, at) for column in texts)
        said = kind.BETWEEN.join(row[label]) if isinstance(row[label], list) else row[label]
        examples.append(Example(whole, label_name(said), at))
    if not examples:
        raise StudyError(f"{path} holds no rows; is it the right file?")
    return examples


def read_split(split, paths, text, label, labels, second=None, quoting="auto", task=tasks.DEFAULT):
    """Return the texts of a split with their labels.

    Args:
        split: its name, for messages.
        paths: its files, read one after the other.
        text, label, second, quoting, task: see `read_examples`.
        labels: names of the classes in order.

    Returns:
        list[tuple[str, int]]: text and class, or what another kind of labels has.

    Raises:
        StudyError: see `read_examples`; a label that is not among `labels`, or one of them that no row has; two of
            them that are the same as compared.
    """
    examples = [example for path in paths for example in read_examples(path, text, label, second, quoting, task)]
    values = values_of(examples, split, paths, labels, task, numbered=isinstance(text, int))
    return [(example.text, value) for example, value in zip(examples, values, strict=True)]


def _check_copies(files, splits):
    """Refuse a file that is there twice: a study that tests on what it trains on shows nothing."""
    known = {}
    for file, split in zip(files, splits, strict=True):
        with reading(file):
            other, its = known.setdefault(sha256(file), (file, split))
        if (other, its) != (file, split):
            raise StudyError(
                f"data.table.{split}: {file} has the same content as {other} (data.table.{its}); name each file once, "
                "and for each split texts of its own"
            )


def read_table(files, splits, table, labels, task=tasks.DEFAULT):
    """Return the splits of a table of texts: `train`, `test`, and `valid` where it has one.

    Args:
        files: its files.
        splits: the split of each.
        table: `data.table`: text and label, the columns, second, where rows are pairs, and quoting.
        labels: names of the classes in order.
        task: kind of the labels.

    Returns:
        dict[str, list[tuple[str, int]]]: text and label of each row, in the files' order.

    Raises:
        StudyError: see `read_split`; two files of the same content; a class of one example, where valid is to be drawn
            from train.
    """
    content = {}
    _check_copies(files, splits)
    for split in dict.fromkeys(splits):
        paths = [file for file, of_file in zip(files, splits, strict=True) if of_file == split]
        columns = table["text"], table["label"], labels, table.get("second"), table.get("quoting", "auto")
        content[split] = read_split(split, paths, *columns, task)
    if task != tasks.DEFAULT:
        return content
    counts = Counter(number for _, number in content["train"])
    for number, name in enumerate(labels):
        if "valid" not in content and counts[number] < 2:
            raise StudyError(
                f"data.table.train has one row of the label {name!r}, and train and valid need one each; add rows, or "
                "give a file in data.table.valid"
            )
    return content
