"""Tables as pandas frames; separate from `common.files` because the environments for training lack pandas."""

import pandas

from common.files import read_table

# With pyarrow installed pandas would store strings as Arrow's: copies without the records of the report's values.
pandas.options.mode.string_storage = "python"


def read_frame(path):
    """Return a TSV file as a frame of strings, an empty cell as an empty string; fails as `read_tsv` does."""
    columns, rows = read_table(path)
    return pandas.DataFrame(rows, columns=columns, dtype=str)
