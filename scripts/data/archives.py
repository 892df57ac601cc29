"""Guarded reading of zip and tar.gz archives: nothing is written but the members asked for.

No package guards both formats: safezip reads no tar, and the filters of Python's own tarfile bound neither the number
of entries nor their sizes.
"""

import contextlib
import errno
import gzip
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from typing import NamedTuple

from common.errors import StudyError
from common.files import atomic_path
from study.pointers import check_pointer

# Limits of an archive's claims; the largest one here (all of CLS) unpacks to about 1 GB.
COUNT_LIMIT = 10_000
SIZE_LIMIT = 16_000_000_000
# Text compresses to a tenth; a large member that compresses better than this is a bomb.
RATIO_LIMIT = 200
RATIO_FREE = 10_000_000
# This many bytes may follow the last file of a tar (its padding has at most 10 kB).
REST_LIMIT = 10_000_000
# The limit in bytes of a tar's records about a member (long names, pax headers), which tarfile reads into memory first.
HEADER_LIMIT = 1_000_000
# Members that are read into memory.
MEMORY_LIMIT = 1_000_000_000
BLOCK = 1 << 20
# zipfile, tarfile and the decompressors raise these for damaged archives, such as a chain of long records
# (RecursionError) or invalid numbers (ValueError).
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    ValueError,
)


class Member(NamedTuple):
    """One file of an archive: its name with forward slashes, its size in bytes, the library's record of it."""

    name: str
    size: int
    record: object


def list_members(path):
    """Return the files of an archive after checking every entry; folders and macOS litter are left out.

    Args:
        path: a zip, a tar or a tar.gz, distinguished by their first bytes.

    Returns:
        list[Member]

    Raises:
        StudyError: not such an archive, damaged, encrypted, or an entry that could harm: an absolute path,
            `..`, a link or device, two entries of one name, more or larger than the bounds.
    """
    check_pointer(path)
    members, names, total, count = [], set(), 0, 0
    packed = os.path.getsize(path)
    with _opened(path) as (kind, archive):
        for record in archive.infolist() if kind == "zip" else archive:
            name, size, folder = _describe(path, kind, record)
            count += 1
            total += size
            if count > COUNT_LIMIT:
                raise StudyError(f"{path} holds more than {COUNT_LIMIT} entries: refused")
            if total > SIZE_LIMIT:
                raise StudyError(f"{path} would unpack to more than {SIZE_LIMIT} bytes: refused")
            # A record's claim about its packed size is no more reliable than the rest of it.
            ratio_base = min(record.compress_size, packed) if kind == "zip" else packed
            if (size if kind == "zip" else total) > max(RATIO_FREE, RATIO_LIMIT * ratio_base):
                raise StudyError(f"{path}: {name} would unpack to more than {RATIO_LIMIT} times its size: refused")
            if folder:
                continue
            if name in names:
                raise StudyError(f"{path} holds {name} twice: refused, since it is not clear which one is meant")
            names.add(name)
            if not _litter(name):
                members.append(Member(name, size, record))
    return members


def find_members(path, members, wanted):
    """Return the member for each wanted name.

    A member fits whose path ends with the wanted path (`old/cls.books/train.review` for
    `cls.books/train.review`); if none does, one whose file name alone fits.

    Args:
        path: the archive, for messages.
        members: what `list_members` returns.
        wanted: relative paths.

    Returns:
        dict[str, Member]

    Raises:
        StudyError: some are missing (the message says which, and what was found), or two fit.
    """
    found, missing = {}, []
    for name in wanted:
        for tail in (name.split("/"), [name.rpartition("/")[2]]):
            fitting = [member for member in members if member.name.split("/")[-len(tail) :] == tail]
            if fitting:
                break
        if len(fitting) > 1:
            raise StudyError(
                f"{path}: {fitting[0].name} and {fitting[1].name} both fit the expected file {name}; keep one"
            )
        if fitting:
            found[name] = fitting[0]
        else:
            missing.append(name)
    if missing:
        listed = ", ".join(member.name for member in members[:12]) or "nothing"
        more = f" and {len(members) - 12} more" if len(members) > 12 else ""
        raise StudyError(
            f"{path} does not hold the expected file{'s' if len(missing) > 1 else ''} {', '.join(missing)}; "
            f"it holds {listed}{more}. Check the address that it came from"
        )
    return found


def read_members(path, wanted):
    """Return the bytes of the wanted members.

    Args:
        path: the archive.
        wanted: relative paths, found as `find_members` says.

    Returns:
        dict[str, bytes]

    Raises:
        StudyError: see `list_members` and `find_members`.
    """
    found = find_members(path, list_members(path), wanted)
    for name, member in found.items():
        if member.size > MEMORY_LIMIT:
            raise StudyError(f"{path}: {name} has {member.size} bytes (at most {MEMORY_LIMIT}): is it the right file?")
    return {name: b"".join(blocks) for name, blocks in _streams(path, found)}


def extract_members(path, wanted):
    """Write the wanted members to files: all of them or none.

    Args:
        path: the archive.
        wanted: dictionary, relative path in the archive (found as `find_members` says) to destination.

    Raises:
        StudyError: see `list_members` and `find_members`.
    """
    found = find_members(path, list_members(path), wanted)
    with contextlib.ExitStack() as stack:
        temporary = {name: stack.enter_context(atomic_path(wanted[name])) for name in wanted}
        for name, blocks in _streams(path, found):
            with open(temporary[name], "wb") as handle:
                for block in blocks:
                    handle.write(block)


def _streams(path, found):
    """Yield (wanted name, iterator of blocks) in the archive's order, each to be used up before the next."""
    with _opened(path) as (kind, archive):
        if kind == "zip":
            for name, member in found.items():
                with archive.open(member.record) as handle:
                    yield name, _blocks(path, name, handle, member.size)
            return
        names = {member.name: name for name, member in found.items()}
        for record in archive:
            name = names.get(_clean(record.name))
            if name is not None:
                yield name, _blocks(path, name, archive.extractfile(record), record.size)


def _blocks(path, name, handle, size):
    """Yield a member's blocks; it must have the size that it claims."""
    count = 0
    while True:
        with _plain_faults(path):
            block = handle.read(BLOCK)
        count += len(block)
        if not block or count > size:
            break
        yield block
    if count != size:
        raise StudyError(f"{path}: {name} does not have the {size} bytes that it claims: the archive is damaged")


class _RefusedError(Exception):
    """A fault of a record, found where the archive's path is not known."""


class _Record(tarfile.TarInfo):
    """A tar's record whose size is checked before tarfile acts on it."""

    @classmethod
    def frombuf(cls, buf, encoding, errors):
        """Return the record of 512 bytes."""
        record = super().frombuf(buf, encoding, errors)
        if record.size < 0 or (record.size > HEADER_LIMIT and not (record.isreg() or record.isdir())):
            raise _RefusedError(f"an entry of {record.size} bytes that is neither file nor folder")
        return record


@contextlib.contextmanager
def _opened(path):
    """Yield (`zip` or `tar`, the open archive); a tar is read in one pass, to its very end."""
    with open(path, "rb") as handle:
        head = handle.read(4)
    with _plain_faults(path):
        if head.startswith(b"PK"):
            with zipfile.ZipFile(path) as archive:
                yield "zip", archive
            return
        packed = head.startswith(b"\x1f\x8b")
        with gzip.open(path) if packed else open(path, "rb") as stream:
            try:
                archive = tarfile.open(fileobj=stream, mode="r|", tarinfo=_Record)
            except tarfile.ReadError as error:
                raise StudyError(
                    f"{path} is neither a zip nor a tar archive: check the address that it came from"
                ) from error
            with archive:
                yield "tar", archive
            # Only the end of the stream shows whether its checksum is right; tarfile stops before it.
            rest = 0
            while block := stream.read(BLOCK):
                rest += len(block)
                if rest > REST_LIMIT:
                    raise StudyError(f"{path} continues long after its last file: refused")


@contextlib.contextmanager
def _plain_faults(path):
    """Turn what the libraries raise on a broken archive into one message."""
    try:
        yield
    except _RefusedError as error:
        raise StudyError(f"{path} holds {error}: refused") from error
    except BROKEN as error:
        # A full disk or a missing file is no damage, so those keep their message. A position before the file's
        # beginning (EINVAL) is.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise StudyError(f"{path} is damaged or cut short: remove it and run again to download it afresh") from error


def _clean(name):
    """Return a member's name without leading or inner `.` parts."""
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def _describe(path, kind, record):
    """Return (name, size, is a folder) of one entry, or refuse it."""
    name = record.filename if kind == "zip" else record.name
    refuse = f"{path} holds the entry {name!r}, "
    if name.startswith(("/", "\\")) or name[1:2] == ":" or "\\" in name or "\0" in name:
        raise StudyError(refuse + "an absolute or foreign path: refused")
    if ".." in name.split("/"):
        raise StudyError(refuse + "which leads out of its folder: refused")
    if kind == "zip":
        mode = record.external_attr >> 16
        if stat.S_ISLNK(mode) or (stat.S_IFMT(mode) and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))):
            raise StudyError(refuse + "a link or device: refused")
        if record.flag_bits & 1:
            raise StudyError(refuse + "which is encrypted: an archive without a password is needed")
        return _clean(name), record.file_size, record.is_dir()
    if not (record.isreg() or record.isdir()):
        raise StudyError(refuse + "a link or device: refused")
    return _clean(name), record.size, record.isdir()


def _litter(name):
    """Return whether a member is one of the copies that macOS adds to archives."""
    parts = name.split("/")
    return parts[0] == "__MACOSX" or parts[-1].startswith("._") or parts[-1] == ".DS_Store"
