"""Addresses and their pins: a file's place in a mirror, its expected hash and size."""

import hashlib
import re
from urllib.parse import quote, urlsplit

from common.errors import StudyError
from common.files import read_tsv

# A file name on Linux has at most 255 bytes; room is left for the temporary prefix.
NAME_LIMIT = 200
# A host's name, or an IPv6 address; it becomes the name of a folder.
HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|[0-9a-f]*:[0-9a-f:.]+")


def mirror_path(url):
    """Return the place of an address in a folder laid out like a mirror: `HOST/PATH`.

    The host is in lower case, with its port if it names one. A query follows the path, percent-encoded
    (`?a=1` becomes `%3Fa=1`); one too long for a file name is replaced by its hash.

    Args:
        url: an http or https address of a file.

    Returns:
        str: a relative path without empty, `.` or `..` parts.

    Raises:
        StudyError: not such an address.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise StudyError(f"{url}: not a valid address ({error})") from error
    if parts.scheme not in ("http", "https") or not host:
        raise StudyError(f"{url}: an address must begin with https:// (or http://) and name a host")
    if not HOST.fullmatch(host) or not url.isascii() or not url.isprintable():
        raise StudyError(f"{url!r}: an address holds plain letters, digits and signs only; percent-encode the others")
    if parts.username or parts.password:
        raise StudyError(f"an address of the host {host} holds a user name or password: take it out of the study file")
    if parts.path.endswith("/") or not parts.path:
        raise StudyError(f"{url}: this is the address of a folder, a file is needed")
    segments = [segment for segment in parts.path.split("/") if segment]
    if any(segment in (".", "..") for segment in segments):
        raise StudyError(f"{url}: an address must not hold '.' or '..' as a part of its path")
    # Snakemake interprets braces, stars and question marks; characters that are already encoded stay.
    segments = [quote(segment, safe="%~!$&'()+,;=:@-._") for segment in segments]
    if parts.query:
        query = "%3F" + quote(parts.query, safe="%~!$&'()+,;=:@-._")
        if len(segments[-1] + query) > NAME_LIMIT:
            query = "%3F" + hashlib.sha256(parts.query.encode()).hexdigest()[:16]
        segments[-1] += query
    if max(map(len, segments)) > NAME_LIMIT:
        raise StudyError(f"{url}: a part of this address is too long for a file name")
    return "/".join([f"{host}:{port}" if port else host, *segments])


def read_checksums(path):
    """Return the pinned files of a table with columns `url`, `sha256`, `bytes`.

    Args:
        path: the TSV file, or None for no pins.

    Returns:
        dict[str, dict]: for each address `sha256` (str or None) and `size` (int or None).

    Raises:
        StudyError: missing columns, a hash that is not 64 hexadecimal digits, a size that is no integer, or
            one address with two hashes; the message names the line.
    """
    if path is None:
        return {}
    pins = {}
    for number, row in enumerate(read_tsv(path), start=2):
        url, digest, size = row.get("url"), row.get("sha256"), row.get("bytes")
        if url is None or digest is None or size is None or None in row:
            raise StudyError(f"{path}, line {number}: needs the columns url, sha256 and bytes, separated by tabs")
        url, digest = url.strip(), digest.strip().lower() or None
        if digest and not re.fullmatch("[0-9a-f]{64}", digest):
            raise StudyError(f"{path}, line {number}: sha256 must be 64 hexadecimal digits, not {digest!r}")
        if not re.fullmatch("[0-9]{0,18}", size.strip()):
            raise StudyError(f"{path}, line {number}: bytes must be a whole number, not {size!r}")
        pin = {"sha256": digest, "size": int(size) if size.strip() else None}
        if pins.setdefault(url, pin) != pin:
            raise StudyError(f"{path}, line {number}: {url} is listed twice with different values; keep the right one")
    return pins


def expected(pins, url, sha256=None):
    """Return the facts of an address: its hash in the config if there is one, else its pin.

    Args:
        pins: what `read_checksums` returns.
        url: the address.
        sha256: the hash given in the study file, or None.

    Returns:
        tuple[str | None, int | None]: hash and size in bytes.

    Raises:
        StudyError: the study file and the table of checksums contradict each other.
    """
    pin = pins.get(url, {"sha256": None, "size": None})
    if sha256 and pin["sha256"] and sha256.lower() != pin["sha256"]:
        raise StudyError(f"{url}: its sha256 in the study file differs from the one in `checksums`; keep the right one")
    return (sha256.lower() if sha256 else pin["sha256"]), pin["size"]
