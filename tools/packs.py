"""Pack a published study: what a reader opens stays as files, and a checker's records are one archive.

`records.tar.xz` holds every record and table: predictions of all runs in one Parquet table, the rest as they are. It
is made without times, owners or chance. `SHA256SUMS`, as `sha256sum` writes it, names the archive and every table,
figure and page of the study, which `python -m tools.restore STUDY` makes again and compares.

Run by hand to unpack one: `python -m tools.packs published/STUDY FOLDER`.
"""

import functools
import io
import lzma
import os
import re
import shutil
import sys
import tarfile
import tempfile

from common.errors import StudyError
from common.files import atomic_path, read_lines, sha256, write_lines

PACK, SUMS, PREDICTIONS = "records.tar.xz", "SHA256SUMS", "predictions.parquet"
# A reader finds these beside the archive.
BESIDE = (
    "README.md",
    "report.html",
    "comparison.html",
    *(f"figures/{name}.svg" for name in ("arms", "recipes", "learning_curves")),
    "test_accuracy.md",
    *(f"{name}.tsv" for name in ("test_accuracy", "runs", "questions", "baselines", "claims", "protocol_diff")),
    *(f"statistics/{name}.tsv" for name in ("pairs", "baselines")),
    *("recipes.tsv", "recipes/differences.tsv", "learning_curves/means.tsv"),
)
# These two are written by `tools.publish`, so no rebuild of the results gives them.
WRITTEN = ("README.md", "comparison.html")
# Figures and pages, which are large and follow from the records, are left out of the archive.
REBUILT = re.compile(r"\.(svg|png|html)$|^report_numbers\.tsv$")
RECORDS = ("benchmarks/", "finetuning/", "predictions/")
RUN = re.compile(r"predictions/([^/]+)/seed(\d+)\.tsv")


def pack(folder):
    """Replace the files of a study by its packed form.

    Args:
        folder: folder with every file of the study that is published.
    """
    names = sorted(
        os.path.relpath(os.path.join(parent, name), folder) for parent, _, files in os.walk(folder) for name in files
    )
    # The archive's checksum covers the records of runs.
    derived = [name for name in names if name not in WRITTEN and not name.startswith(RECORDS)]
    sums = {name: sha256(os.path.join(folder, name)) for name in derived}
    whole, table = tabulated(folder, [name for name in names if RUN.fullmatch(name)])
    packed = [name for name in names if name not in (*whole, *WRITTEN) and not REBUILT.search(name)]
    content = {name: _bytes(os.path.join(folder, name)) for name in packed}
    if table is not None:
        content[PREDICTIONS] = table
    with atomic_path(os.path.join(folder, PACK)) as temporary, open(temporary, "wb") as handle:
        handle.write(archived(content))
    sums[PACK] = sha256(os.path.join(folder, PACK))
    write_lines(os.path.join(folder, SUMS), (f"{digest}  {name}" for name, digest in sorted(sums.items())))
    for name in names:
        if name not in BESIDE:
            os.remove(os.path.join(folder, name))
    for parent, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(parent):
            os.rmdir(parent)


def _bytes(path):
    with open(path, "rb") as handle:
        return handle.read()


def archived(content):
    """Return the bytes of a tar.xz of {name: bytes}, the same for the same content."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(content.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def _typed(columns):
    """Return the columns of a file's cells as integers or floats where their texts are the ones Python writes."""
    found = {}
    for name, cells in columns.items():
        found[name] = list(cells)
        for kind in (int, float):
            try:
                values = [kind(cell) for cell in cells]
            except ValueError:
                continue
            if list(map(repr, values)) == list(cells):
                found[name] = values
                break
    return found


def tabulated(folder, names):
    """Return the predictions of many runs as one Parquet table.

    Args:
        folder: of the study.
        names: of the runs' tables, relative to it.

    Returns:
        tuple: the names that the table gives again byte for byte, and the table's bytes; None without such a run.
    """
    import pyarrow
    from pyarrow import parquet

    runs, shape = {}, None
    for name in names:
        head, *rows = _bytes(os.path.join(folder, name)).decode("utf-8").removesuffix("\n").split("\n")
        cells = list(zip(*(row.split("\t") for row in rows), strict=True)) or [()] * len(head.split("\t"))
        columns = _typed(dict(zip(head.split("\t"), cells, strict=True)))
        form = [(column, {type(value) for value in values}) for column, values in columns.items()]
        shape = shape or form
        single = all(len(kinds) == 1 for _, kinds in form)
        if form == shape and single and text_of(columns) == "\n".join([head, *rows, ""]):
            runs[name] = columns
    if not runs:
        return [], None
    table = {"run": [name for name, columns in runs.items() for _ in next(iter(columns.values()))]}
    for column, _ in shape:
        table[column] = [value for columns in runs.values() for value in columns[column]]
    floats = [column for column, kinds in shape if kinds == {float}]
    written = io.BytesIO()
    parquet.write_table(
        pyarrow.table(table),
        written,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in table if name not in floats],
        use_byte_stream_split=floats,
    )
    return list(runs), written.getvalue()


def text_of(columns):
    """Return the text of a table of predictions from {column: values}."""
    rows = zip(*(map(str, values) for values in columns.values()), strict=True)
    return "\n".join(["\t".join(columns), *map("\t".join, rows), ""])


def untabulated(table):
    """Yield the name and bytes of every run's table in the Parquet table's bytes."""
    from pyarrow import parquet

    columns = parquet.read_table(io.BytesIO(table)).to_pydict()
    names, first = columns.pop("run"), 0
    for last in range(1, len(names) + 1):
        if last == len(names) or names[last] != names[first]:
            run = {column: values[first:last] for column, values in columns.items()}
            yield names[first], text_of(run).encode("utf-8")
            first = last


def listed(folder):
    """Return {name: SHA-256} of every file of a packed study.

    Raises:
        StudyError: a line is no sum.
    """
    path, found = os.path.join(folder, SUMS), {}
    for number, line in enumerate(read_lines(path), start=1):
        match = re.fullmatch(r"([0-9a-f]{64})  (\S.*)", line)
        if not match:
            raise StudyError(f"{path}, line {number} is no SHA-256 with a file's name; take the file from git again")
        found[match[2]] = match[1]
    return found


def is_packed(folder):
    """Return whether a folder is a study in its packed form."""
    return os.path.exists(os.path.join(folder, PACK))


def check(folder):
    """Check those files of a packed or unpacked study that are there; figures and tables may be left to a rebuild.

    Raises:
        StudyError: one is not the file that the list names.
    """
    for name, digest in listed(folder).items():
        path = os.path.join(folder, name)
        if os.path.exists(path) and sha256(path) != digest:
            raise StudyError(f"{path} is not the published file ({SUMS} holds another SHA-256); take it from git again")


def unpack(folder, target):
    """Write the files of a packed study to a folder that is not there yet: all but figures and pages.

    Raises:
        StudyError: the folder is no packed study, a file is not the published one, or the archive names a file that
            is none of a study.
    """
    if os.path.exists(target):
        raise StudyError(f"{target} is there; name a folder that is not")
    if not is_packed(folder):
        raise StudyError(f"{folder} has no {PACK}: name a folder of published/")
    check(folder)
    with atomic_path(target) as temporary:
        shutil.copytree(folder, temporary, ignore=shutil.ignore_patterns(PACK))
        with tarfile.open(os.path.join(folder, PACK), "r:xz") as archive:
            content = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        runs = untabulated(content.pop(PREDICTIONS)) if PREDICTIONS in content else ()
        for name, data in [*content.items(), *runs]:
            if os.path.isabs(name) or ".." in name.split("/"):
                raise StudyError(f"{folder}/{PACK} names {name}, a file outside the study; take it from git again")
            path = os.path.join(temporary, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as handle:
                handle.write(data)
        check(temporary)


def opened(folder):
    """Return a folder with a study's records and tables: the folder, or a copy of a packed one.

    The copy lasts as long as the process.
    """
    if not is_packed(folder):
        return folder
    state = os.stat(os.path.join(folder, PACK))
    return _unpacked(os.path.abspath(folder), state.st_mtime_ns, state.st_size)[1]


@functools.cache
def _unpacked(folder, *_state):
    # The first value keeps the copy: it is removed with this object, at the end of the process.
    copy = tempfile.TemporaryDirectory(prefix="published-")
    target = os.path.join(copy.name, os.path.basename(folder))
    unpack(folder, target)
    return copy, target


if __name__ == "__main__":
    try:
        unpack(*sys.argv[1:3])
    except (TypeError, StudyError) as error:
        sys.exit(f"packs: {error if isinstance(error, StudyError) else 'name a published study and a folder to make'}")
