"""Tables of texts: CSV, TSV and JSON Lines, with the row and the line of each fault.

On Python's csv module, not on pandas: pandas says neither where a row begins that a faulty quotation mark spoils, nor
which line a row of the frame stands on, and the environments that train hold no pandas.
"""

import csv
import io
import itertools
import json
import re
from collections import Counter
from typing import NamedTuple

from common.errors import StudyError
from common.files import reading
from data.lib.reviews import BETWEEN, clean_review, decode

JSON_LINES = (".jsonl", ".ndjson")
DELIMITED = (".csv", ".tsv")
TABLES = (*DELIMITED, *JSON_LINES)
PARQUET = (".parquet", ".pq")
# Labels of a file that a message names.
SHOWN = 8


class Example(NamedTuple):
    """A row of a table of texts: its canonical text, its label as `label_name` writes it, and where it stands."""

    text: str
    label: str
    place: str


def read_rows(path, columns, strict=True):
    """Return a table's rows, each with its place for messages.

    Args:
        path: file whose name ends in one of `TABLES`, UTF-8. CSV has commas or semicolons, whichever shows the columns.
        columns: names that must be there; numbers from 1: the file has no header.
        strict: refuse a row of another length than the header, and an object without a wanted key.

    Returns:
        list[tuple]: "row 2 (line 3)"; dict {column: text} (JSON Lines: the object). Blank lines are left out.

    Raises:
        StudyError: another kind of file, text that is not UTF-8, a missing or doubled column, a row of another length,
            a quotation mark left open, a line that is no JSON object.
    """
    ending = path.lower()
    if ending.endswith(PARQUET):
        raise StudyError(
            f"{path}: Parquet cannot be read, since the workflow's environment has no pyarrow; write the table as CSV "
            "or JSON Lines, for instance with pandas: read_parquet(...).to_json(..., orient='records', lines=True)"
        )
    if not ending.endswith(TABLES):
        raise StudyError(f"{path}: a table's name ends in {', '.join(TABLES)}")
    with reading(path), open(path, "rb") as handle:
        text = decode(handle.read(), path)
    if ending.endswith(JSON_LINES):
        return _objects(path, text, columns, strict)
    # A text may be longer than the limit of the csv module, which is the whole process's.
    limit = csv.field_size_limit(max(len(text), 1))
    try:
        return _cells(path, text, columns, strict)
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
            raise StudyError(f"{path}: {place} is not valid JSON: {error}") from error
        if not isinstance(value, dict):
            raise StudyError(f"{path}: {place} is {content.strip()!r:.60}, not an object")
        for column in columns if strict else ():
            if column not in value:
                raise StudyError(f"{path}: {place} has no {column!r}; it has {', '.join(value) or 'no key'}")
        rows.append((place, value))
    known = dict.fromkeys(key for _, row in rows for key in row)
    for column in columns:
        if rows and column not in known:
            raise StudyError(f"{path} has no column {column!r}; its columns are {_listed(known)}")
    return rows


def numbered(columns):
    """Tell whether columns are given by their numbers: the file has no header."""
    return any(isinstance(column, int) for column in columns)


def _cells(path, text, columns, strict):
    """Return the rows of CSV or TSV; see `read_rows`."""
    delimiter = "\t" if path.lower().endswith(".tsv") else _delimiter(text, columns)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
    names, rows, following = None, [], 1
    try:
        for cells in lines:
            line, following = following, lines.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = [*range(1, len(cells) + 1)] if numbered(columns) else [cell.strip() for cell in cells]
                _check_names(path, names, columns)
                if not numbered(columns):
                    continue
            place = f"row {len(rows) + 1} (line {line})"
            if strict and len(cells) != len(names):
                sign = "a tab" if delimiter == "\t" else repr(delimiter)
                others = "the first row" if numbered(columns) else "the header"
                raise StudyError(
                    f"{path}: {place} has {len(cells)} cells and {others} {len(names)}; put quotation marks around a "
                    f"text that holds {sign}"
                )
            rows.append((place, dict(zip(names, cells, strict=strict))))
    except csv.Error as error:
        raise StudyError(f"{path}, line {following}: {error}; is a quotation mark left open?") from error
    return rows


def _delimiter(text, columns):
    """Return the sign between the cells of a CSV file: the one that shows the wanted columns in its first rows."""

    def first(delimiter):
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [row for row in itertools.islice(rows, 20) if any(cell.strip() for cell in row)]

    def fit(delimiter):
        rows = first(delimiter)
        if not rows:
            return 0, 0
        if numbered(columns):
            return len({*map(len, rows)}) == 1, len(rows[0]) >= max(columns, key=int)
        return sum(column in [cell.strip() for cell in rows[0]] for column in columns), len(rows[0])

    return max(",;", key=fit)


def _check_names(path, names, columns):
    """Refuse a header that lacks a wanted column or has one twice."""
    for column in columns:
        if names.count(column) != 1:
            found = f"the column {column!r} twice" if column in names else f"no column {column!r}"
            raise StudyError(f"{path} has {found}; its columns are {_listed(names)}")


def _listed(names):
    return ", ".join(map(repr, names)) or "none"


def label_name(value):
    """Return a label as it is compared: without blanks at its ends, and 1.0 (as tables write whole numbers) as 1.

    Args:
        value: text of a cell, or what JSON has.
    """
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"^(-?\d+)\.0+$", r"\1", text.strip())


def _text_of(row, column, at):
    """Return a row's canonical text of one column; see `read_examples`."""
    if not isinstance(row[column], str):
        raise StudyError(f"{at}: its text is {row[column]!r:.40}; put it in quotation marks")
    # JSON can write half a character, which no UTF-8 file can hold.
    if re.search("[\ud800-\udfff]", row[column]):
        raise StudyError(f"{at}: its text holds half a character (\\ud800 to \\udfff); correct it")
    return clean_review(row[column], at)


def read_examples(path, text, label, second=None):
    """Return the rows of a table of texts with their labels, whatever those are.

    Args:
        path: see `read_rows`.
        text: column of the texts: its name, or its number from 1 where the file has no header.
        label: of the labels, likewise.
        second: of the second texts, likewise, where a row is a pair of texts.

    Returns:
        list[Example]: in the file's order; the texts of a pair with `BETWEEN` between them.

    Raises:
        StudyError: see `read_rows`; no row at all, or a row without a text or a label.
    """
    examples, texts = [], [text] if second is None else [text, second]
    for place, row in read_rows(path, [*texts, label]):
        at = f"{path}: {place}"
        for column, what in (*((column, "text") for column in texts), (label, "label")):
            value = row[column]
            if value is None or isinstance(value, dict | list) or (isinstance(value, str) and not value.strip()):
                raise StudyError(f"{at} has no {what} (column {column!r}); fill it in or delete the row")
        whole = BETWEEN.join(_text_of(row, column, at) for column in texts)
        examples.append(Example(whole, label_name(row[label]), at))
    if not examples:
        raise StudyError(f"{path} holds no rows")
    return examples


def read_split(split, paths, text, label, labels, second=None):
    """Return the texts of a split with the numbers of their classes.

    Args:
        split: its name, for messages.
        paths: its files, read one after the other.
        text, label, second: see `read_examples`.
        labels: names of the classes in order.

    Returns:
        list[tuple[str, int]]: text and class.

    Raises:
        StudyError: see `read_examples`; a label that is not among `labels`, or one of them that no row has.
    """
    numbers = {label_name(name): number for number, name in enumerate(labels)}
    examples = [example for path in paths for example in read_examples(path, text, label, second)]
    found = list(dict.fromkeys(example.label for example in examples))
    unknown = [example for example in examples if example.label not in numbers]
    if unknown:
        raise StudyError(
            f"{unknown[0].place} has the label {unknown[0].label[:40]!r}, which is not in data.labels ({_some(labels)})"
            f"; correct the row, or let data.labels name the labels of the file ({_some(found)})"
        )
    for name in labels:
        if label_name(name) not in found:
            raise StudyError(
                f"data.table.{split}: no row of {', '.join(paths)} has the label {name!r}, which data.labels names; "
                "add such rows, or take it out of data.labels"
            )
    return [(example.text, numbers[example.label]) for example in examples]


def _some(names):
    """Return the first few of some names in words."""
    names = list(names)
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(name[:40] for name in names[:SHOWN]) + more


def read_table(files, splits, table, labels):
    """Return the splits of a table of texts: `train`, `test`, and `valid` where it has one.

    Args:
        files: its files.
        splits: the split of each.
        table: `data.table`: text and label, the columns, and second, where rows are pairs.
        labels: names of the classes in order.

    Returns:
        dict[str, list[tuple[str, int]]]: text and class of each row, in the files' order.

    Raises:
        StudyError: see `read_split`; a class of one example, where valid is to be drawn from train.
    """
    content = {}
    for split in dict.fromkeys(splits):
        paths = [file for file, of in zip(files, splits, strict=True) if of == split]
        content[split] = read_split(split, paths, table["text"], table["label"], labels, table.get("second"))
    counts = Counter(number for _, number in content["train"])
    for number, name in enumerate(labels):
        if "valid" not in content and counts[number] < 2:
            raise StudyError(
                f"data.table.train has one row of the label {name!r}, and train and valid need one each; add rows, or "
                "give a file in data.table.valid"
            )
    return content
