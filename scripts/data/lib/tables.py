"""Tables of texts: CSV, TSV, JSON Lines and Parquet, with the row and the line of each fault.

On Python's csv module, not on pandas: pandas says neither where a row begins that a faulty quotation mark spoils, nor
which line a row of the frame stands on.
"""

import csv
import io
import itertools
import json
import re
import unicodedata
from collections import Counter
from typing import NamedTuple

from common.errors import StudyError
from common.files import TABLES, reading, sha256
from data.lib.reviews import BETWEEN, clean_review, decode, is_blank, normalise

JSON_LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"
# Rows of Parquet in memory at once.
BATCH = 4096
# Labels, and columns, of a file that a message names.
SHOWN, SHOWN_COLUMNS = 8, 20
# First bytes of what is no text, whatever its name says.
OTHERS = {
    b"\x1f\x8b": "this is packed with gzip; unpack it: gunzip",
    b"PK\x03\x04": "this is a zip archive or a workbook; unpack it, or save it as CSV (UTF-8)",
    b"PAR1": f"this is Parquet; let its name end in {PARQUET}",
}


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
        iterable of tuples: "row 2 (line 3)"; dict {column: text} (JSON Lines: the object; Parquet: text, number, truth
        value or None, read as the rows are taken). Blank lines are left out.

    Raises:
        StudyError: another kind of file, text that is not UTF-8, a missing or doubled column, a row of another length,
            a quotation mark left open, a line that is no JSON object, a file cut short.
    """
    ending = path.lower()
    if ending.endswith(PARQUET):
        return _cells_of_parquet(path, columns)
    if not ending.endswith(TABLES):
        raise StudyError(f"{path}: a table's name ends in {', '.join(TABLES)}; unpack it, or save it as CSV (UTF-8)")
    with reading(path), open(path, "rb") as handle:
        content = handle.read()
    for sign, fault in OTHERS.items():
        if content.startswith(sign):
            raise StudyError(f"{path}: {fault}")
    text = decode(content, path)
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
                others = "the first row" if numbered(columns) else "the header"
                sign = "a tab" if delimiter == "\t" else repr(delimiter)
                if len(cells) < len(names):
                    sign = "a line end, or fill in what is missing"
                raise StudyError(
                    f"{path}: {place} has {len(cells)} cells and {others} {len(names)}; put quotation marks around a "
                    f"text that holds {sign}"
                )
            rows.append((place, dict(zip(names, cells, strict=strict))))
    except csv.Error as error:
        raise StudyError(
            f"{path}, line {following}: {error}; is a quotation mark left open, or one inside a text not doubled?"
        ) from error
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
    """Return the first names of columns in words."""
    shown = [f"{name!r:.40}" for name in itertools.islice(names, SHOWN_COLUMNS)]
    more = f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(shown) + more or "none"


def _cells_of_parquet(path, columns):
    """Yield the rows of Parquet, of these columns alone; see `read_rows`."""
    # Here and not above: who has no Parquet file does not wait for it.
    import pyarrow
    import pyarrow.parquet

    if numbered(columns):
        raise StudyError(f"{path}: the columns of Parquet have names; give the name of each and not its number")
    number = 0
    with reading(path), open(path, "rb") as handle:
        try:
            file = pyarrow.parquet.ParquetFile(handle, page_checksum_verification=True)
            names = _columns_of_parquet(path, file.schema_arrow, columns, pyarrow.types)
            for batch in file.iter_batches(BATCH, columns=list(names.values()), use_threads=False):
                cells = [_values(batch.column(name), pyarrow) for name in names.values()]
                for row in zip(*cells, strict=True):
                    number += 1
                    yield f"row {number}", dict(zip(names, row, strict=True))
        except UnicodeDecodeError as error:
            raise StudyError(f"{path}: text after row {number} is not UTF-8; write the file anew") from error
        except (pyarrow.ArrowException, OSError) as error:
            # The disk's errors have a number, Arrow's own have none.
            if getattr(error, "errno", None):
                raise
            raise StudyError(
                f"{path} is no whole Parquet file ({' '.join(str(error).split()):.200}); cut short, or of another "
                "kind? Write or fetch it again"
            ) from error


def _columns_of_parquet(path, schema, columns, types):
    """Return {column: its name in the file}; refuse a column of neither texts nor what a label can be."""
    stripped = [name.strip() for name in schema.names]
    _check_names(path, stripped, columns)
    found = {}
    for column in columns:
        field = schema.field(stripped.index(column))
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        known = "string large_string string_view integer floating boolean decimal null".split()
        if not any(getattr(types, f"is_{name}")(kind) for name in known):
            raise StudyError(
                f"{path}: the column {column!r} holds {str(kind):.60}, neither texts nor numbers; name another column, "
                "or write it as text"
            )
        found[column] = field.name
    return found


def _values(array, arrow):
    """Return a column's values as JSON would have them."""
    if arrow.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if arrow.types.is_decimal(array.type):
        array = array.cast(arrow.string())
    if not arrow.types.is_floating(array.type):
        return array.to_pylist()
    # By way of text: 0.1 in 32 bits is 0.1 and not 0.10000000149.
    return [value if value is None else float(value) for value in array.cast(arrow.string()).to_pylist()]


def label_name(value):
    """Return a label as it is compared: one line in composed form, and 1.0 (as tables write whole numbers) as 1.

    Args:
        value: text of a cell, or what JSON has.
    """
    text = unicodedata.normalize("NFC", value) if isinstance(value, str) else json.dumps(value)
    return re.sub(r"^(-?\d+)\.0+$", r"\1", normalise(text))


def _check_cell(row, column, what, at):
    """Refuse a row without a text or a label."""
    value = row[column]
    if isinstance(value, dict | list):
        raise StudyError(f"{at}: its {what} (column {column!r}) is {value!r:.40}; write it as text")
    # NaN, which is not equal to itself, is how pandas and JSON write that there is none.
    if value is None or value != value or (isinstance(value, str) and is_blank(normalise(value))):
        raise StudyError(f"{at} has no {what} (column {column!r}); fill it in or delete the row")


def _text_of(row, column, at):
    """Return a row's canonical text of one column; see `read_examples`."""
    if not isinstance(row[column], str):
        raise StudyError(
            f"{at}: its text (column {column!r}) is {row[column]!r:.40}; name another column, or write it as text, in "
            "JSON with quotation marks"
        )
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
            _check_cell(row, column, what, at)
        whole = BETWEEN.join(_text_of(row, column, at) for column in texts)
        examples.append(Example(whole, label_name(row[label]), at))
    if not examples:
        raise StudyError(f"{path} holds no rows; is it the right file?")
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
        StudyError: see `read_examples`; a label that is not among `labels`, or one of them that no row has; two of
            them that are the same as compared.
    """
    numbers = {label_name(name): number for number, name in enumerate(labels)}
    for number, name in enumerate(labels):
        if numbers[label_name(name)] != number:
            other = labels[numbers[label_name(name)]]
            raise StudyError(f"data.labels: {name!r} and {other!r} are compared as one label; take one out")
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
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(name[:40] for name in names[:SHOWN]) + more


def _check_copies(files, splits):
    """Refuse a file that is there twice: a study that tests on what it trains on shows nothing."""
    known = {}
    for file, split in zip(files, splits, strict=True):
        with reading(file):
            other, of = known.setdefault(sha256(file), (file, split))
        if (other, of) != (file, split):
            raise StudyError(
                f"data.table.{split}: {file} has the same content as {other} (data.table.{of}); name each file once, "
                "and for each split texts of its own"
            )


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
        StudyError: see `read_split`; two files of the same content; a class of one example, where valid is to be drawn
            from train.
    """
    content = {}
    _check_copies(files, splits)
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
