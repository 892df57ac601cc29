"""Files that are whole or absent, and the two text formats of the study (TSV and JSON)."""

import contextlib
import csv
import errno
import hashlib
import json
import os
import re
import shutil

from common.errors import StudyError

# Names of text tables have these extensions.
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".txt")


@contextlib.contextmanager
def atomic_path(path):
    """Yield a temporary path beside `path`; move it into place when the block ends without an exception.

    Args:
        path: the final file or folder. Its parent is made.

    Yields:
        str: a path on the same file system, not yet existing.
    """
    path = os.fspath(path).rstrip("/")
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    # The name keeps its extension because some writers (numpy, matplotlib, pandas) choose the format by it.
    folder, name = os.path.split(path)
    # The name is the same in every run because PyTorch and SentencePiece write it into the file.
    temporary = os.path.join(folder, f".part-{name}")
    _remove(temporary)
    try:
        yield temporary
        _settle(temporary)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        os.replace(temporary, path)
        sync(folder or ".")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StudyError(f"the disk is full: {path} could not be written; free some space and run again") from error
        raise
    finally:
        _remove(temporary)


def _remove(path):
    """Remove a file or a folder, if there is one."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.remove(path)


def _settle(path):
    """Bring a file, or a folder's files, to the disk itself, so that a power cut leaves it whole or absent.

    Raises:
        OSError: ENOSPC where the disk has no byte left: some libraries (SentencePiece) then write half a file silently.
    """
    for parent, _, names in os.walk(path):
        for name in names:
            sync(os.path.join(parent, name))
    if os.path.exists(path):
        sync(path)
        disk = os.statvfs(path)
        # Root may write where others find the disk full; a file system without a limit reports 0 of 0.
        if disk.f_blocks and not (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def grant(path):
    """Give a file the mode that the umask grants to new ones: safetensors grants access to the owner only."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(path, 0o666 & ~mask)


def sync(path):
    """Flush a file or folder to the disk, where its file system can."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def write_text(path, text):
    """Write `text` as UTF-8 with Unix line ends, atomically."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as handle:
        handle.write(text)


def write_lines(path, lines):
    """Write one line per item (without line breaks), atomically."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as handle:
        for line in lines:
            handle.write(line + "\n")


@contextlib.contextmanager
def reading(path):
    """Turn exceptions of reading a text file into one message.

    Raises:
        StudyError: the file is missing, cannot be read, or is not UTF-8.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise StudyError(f"{path} is missing") from error
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror}): a readable file is needed there") from error
    except UnicodeDecodeError as error:
        raise StudyError(
            f"{path} is not UTF-8 text (byte {error.start}): convert it, for instance with iconv"
        ) from error


def visible(folder):
    """Return a folder's sorted entries, without hidden files: Snakemake keeps a folder's time in one."""
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def numbered(folder):
    """Return the paths of a folder's files `1.txt`, `2.txt`, ..., in the order of their numbers."""
    names = sorted(visible(folder), key=lambda name: int(name.partition(".")[0]))
    return [os.path.join(folder, name) for name in names]


def read_lines(path):
    """Return the lines of a UTF-8 file, split at the line feed only (as fairseq and SentencePiece do).

    Raises:
        StudyError: the file is missing or is not UTF-8.
    """
    with reading(path), open(path, encoding="utf-8", newline="\n") as handle:
        return [line.rstrip("\n") for line in handle]


def write_json(path, value):
    """Write `value` as indented JSON with sorted keys, atomically."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def read_json(path):
    """Return the content of a JSON file.

    Raises:
        StudyError: missing, or not JSON; the message gives the line.
    """
    # Editors on Windows write a byte order mark, which JSON does not allow.
    with reading(path), open(path, encoding="utf-8-sig") as handle:
        text = handle.read()
    try:
        return json.loads(text)
    except RecursionError as error:
        raise StudyError(f"{path} is not JSON that can be read: it is nested too deeply") from error
    except ValueError as error:
        raise StudyError(f"{path} is not valid JSON: {error}") from error


def write_tsv(path, rows, columns):
    """Write dictionaries as tab-separated values with a header; floats keep full precision (`repr`).

    Args:
        path: the file.
        rows: iterable of dictionaries holding at least `columns`.
        columns: the header, in order.
    """

    def cell(value):
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        return repr(float(value)) if isinstance(value, float) else str(value)

    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, delimiter="\t", lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([cell(row[column]) for column in columns])


def read_tsv(path):
    """Return a TSV file's rows as a list of dictionaries of strings.

    Raises:
        StudyError: the file is missing, is not UTF-8, or has a cell without end.
    """
    return read_table(path)[1]


def read_table(path):
    """Return a TSV file's header and its rows."""
    try:
        with reading(path), open(path, encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle, delimiter="\t")
            return list(reader.fieldnames or ()), list(reader)
    except csv.Error as error:
        raise StudyError(
            f"{path} is not a table of tab-separated values ({error}): is a quotation mark left open?"
        ) from error


def study_path(path):
    """Return a path as the rules state it, from `results/` or `resources/` on, wherever the file really is.

    With object storage Snakemake works on copies in another folder (`.snakemake/storage/s3/BUCKET/...`), which no
    record of the study may name. Other paths are returned as they are.
    """
    path = os.path.normpath(path)
    found = re.search(r"(?:^|/)((?:results|resources)/.*)", path)
    return found[1] if found else path


def sha256(path):
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
