"""Rows of Parquet, the one table that is no text."""

from common.errors import StudyError
from common.files import reading
from data.columns import as_asked, check_names, numbered
from study.pointers import check_pointer

# Rows in memory at once.
BATCH = 4096


def cells_of_parquet(path, columns):
    """Yield the rows of Parquet, of these columns alone; see `read_rows`."""
    # The import is here so that only users of Parquet wait for it.
    import pyarrow
    import pyarrow.parquet

    if numbered(columns):
        raise StudyError(f"{path}: the columns of Parquet have names; give the name of each and not its number")
    check_pointer(path)
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
            # The disk's errors have a number; Arrow's have none.
            if getattr(error, "errno", None):
                raise
            raise StudyError(
                f"{path} is no whole Parquet file ({' '.join(str(error).split()):.200}); cut short, or of another "
                "kind? Write or fetch it again"
            ) from error


def _columns_of_parquet(path, schema, columns, types):
    """Return {column: its name in the file}; refuse a column of neither texts nor what a label can be."""
    stripped = as_asked(schema.names, columns)
    check_names(path, stripped, columns)
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
    # The value goes through text: 0.1 in 32 bits is then 0.1 and not 0.10000000149.
    return [value if value is None else float(value) for value in array.cast(arrow.string()).to_pylist()]
