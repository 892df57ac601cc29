"""Files from addresses: whole, checked and atomic; from the network or from a mirror folder.

A broken transfer goes on where it broke, if the server can and the file is the same. Files of the Hugging Face hub are
asked for at HF_ENDPOINT, with HF_TOKEN: see `study.hub`.

On `requests`, not on pooch: pooch follows a redirect from https to http, takes any number of bytes, a web page in place
of a file and a connection that crawls; urllib3's `Retry` does not try again once a body has begun.
"""

import datetime
import email.utils
import functools
import hashlib
import os
import re
import time
from urllib.parse import quote, urljoin, urlsplit

from common.errors import StudyError
from common.files import atomic_path, read_tsv
from study.hub import asked_at, is_asked, is_hub, pass_for, promised, refusal, token
from study.pointers import POINTER

# Bound of a download whose size is not pinned: the course's largest file has about 0.3 GB, BLOOM-560m 1.1 GB.
LIMIT = 8_000_000_000
BLOCK = 1 << 16
REDIRECTS = 5
# Answers of a server that may be better the next time.
TRANSIENT_STATUS = (408, 425, 429, 500, 502, 503, 504)
# A connection that delivers less of the file than this for `stall` seconds counts as broken (bytes/s).
MINIMUM_RATE = 100
# Longest time of one attempt, from the first request to the last byte (seconds): 8 GB at 93 kB/s.
DEADLINE = 86_400
# Longest pause that a server's Retry-After is granted (seconds).
PATIENCE = 300
# A file name on Linux holds at most 255 bytes; room is left for the temporary prefix.
NAME_LIMIT = 200

# A host's name, or an IPv6 address; it becomes the name of a folder.
HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|[0-9a-f]*:[0-9a-f:.]+")


class _Transient(Exception):
    """A fault that may pass: worth another attempt, after `wait` seconds."""

    def __init__(self, message, wait=0.0):
        super().__init__(message)
        self.wait = wait


class _Partial:
    """A file on its way, over the attempts to get it.

    Attributes:
        path: where it is written.
        size, sha256: as the study expects them, or None.
        tag: the strong ETag of the last answer, by which a server knows whether the file is still the same; or None.
        said_size, said_sha256: as the hub says them, or None.
    """

    def __init__(self, path, size, sha256):
        self.path, self.size, self.sha256 = path, size, sha256
        self.tag = self.said_size = self.said_sha256 = None

    def arrived(self):
        """Return the bytes to go on from: none where nothing would show that they are of another file."""
        known = self.tag or self.sha256 or self.said_sha256
        return os.path.getsize(self.path) if known and os.path.exists(self.path) else 0

    def headers(self):
        """Return the headers that ask for the rest."""
        rest = {"Range": f"bytes={self.arrived()}-"} if self.arrived() else {}
        return rest | ({"If-Range": self.tag} if rest and self.tag else {})

    def forget(self):
        """Begin again at the next attempt."""
        self.tag = None
        if os.path.exists(self.path):
            os.remove(self.path)


def mirror_path(url):
    """Return where an address lies in a folder laid out like a mirror: `HOST/PATH`.

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
    # Braces, stars and question marks mean something to Snakemake; what is encoded already stays as it is.
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
    """Return what is known of an address: its hash in the config if there is one, else its pin.

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


def retrieve(
    url,
    destination,
    sha256=None,
    size=None,
    mirror=None,
    key=None,
    attempts=4,
    wait=1.0,
    timeout=(10, 60),
    stall=60,
    limit=LIMIT,
    progress=True,
    deadline=DEADLINE,
):
    """Bring the file of an address to `destination`, whole and checked, or raise and leave nothing.

    Args:
        url: http or https address; http only because the study says so, https never falls back to it.
        destination: the file to write.
        sha256: expected hash, or None (the hash found is returned either way).
        size: expected bytes, or None.
        mirror: folder laid out `HOST/PATH` that replaces the network, or None.
        key: the config key that holds the address, for messages.
        attempts: tries in all; only faults that may pass are tried again.
        wait: seconds before the second try, doubled before each further one.
        timeout: seconds to connect, and between two packets; together the longest wait for an answer's headers.
        stall: seconds after which a connection below `MINIMUM_RATE` is given up.
        limit: most bytes accepted when `size` is None.
        progress: show a progress bar on standard error.
        deadline: seconds for one attempt in all, see `study.transfer_watch`.

    Returns:
        dict: `url`, `sha256`, `bytes`, `pinned` (a hash was expected), `from` (`mirror` or `network`), and after
            redirects `answered_by`: the last address, without its query (which may hold a pass).

    Raises:
        StudyError: one message with the address, the fault and the remedy.
    """
    place = mirror_path(url)
    name = f"{url} ({key})" if key else url
    last, origin, found = url, "network" if mirror is None else "mirror", name
    with atomic_path(destination) as temporary:
        if mirror is None:
            part = _Partial(temporary, size, sha256)
            fetch = functools.partial(_fetch, name, url, part, timeout, stall, limit, progress, deadline)
            digest, count, last = _tried(fetch, url, name, place, attempts, wait)
        else:
            digest, count = _copy(name, mirror, place, temporary, destination, progress)
            found = f"{name}, from the mirror {os.path.join(mirror, place)}"
        _check(found, digest, count, sha256, size)
    print(f"{destination}: {count} bytes, sha256 {digest}{'' if sha256 else ' (recorded: none was expected)'}")
    record = {"url": url, "sha256": digest, "bytes": count, "pinned": sha256 is not None, "from": origin}
    return record if last == url else record | {"answered_by": last.partition("?")[0]}


def _tried(fetch, url, name, place, attempts, wait):
    """Return what `fetch` returns, tried again after a fault that may pass; see `retrieve`.

    Raises:
        StudyError: it failed at every attempt.
    """
    for attempt in range(1, attempts + 1):
        try:
            return fetch()
        except _Transient as fault:
            print(f"{url}: attempt {attempt} of {attempts}: {fault}")
            if fault.wait > PATIENCE:
                raise StudyError(f"{name}: {fault} and asks to wait {fault.wait:.0f} s: try again then") from fault
            if attempt == attempts:
                raise StudyError(
                    f"{name}: {fault} ({attempts} attempts). Try again later; without network, or if the host is gone, "
                    f"give `mirror` a folder that holds the file at {place} (`make mirror` fills one where there is "
                    "network)"
                ) from fault
            time.sleep(max(wait * 2 ** (attempt - 1), fault.wait))


def _copy(name, mirror, place, temporary, destination, progress):
    """Copy a mirror's file; return its hash and size."""
    source = os.path.join(mirror, place)
    if not os.path.isfile(source):
        raise StudyError(
            f"{name}: the mirror has no such file; expected {source}. Where there is network, `make mirror STUDY=FILE "
            f"MIRROR={mirror}` with this study's file puts it there (or set `mirror: null` to download it here)"
        )
    if os.path.realpath(source) == os.path.realpath(destination):
        raise StudyError(f"`mirror` is the folder that downloads are written to ({destination}): name a copy of it")
    try:
        with open(source, "rb") as handle, _bar(name, os.path.getsize(source), progress) as bar:
            return _write(iter(lambda: handle.read(BLOCK), b""), temporary, bar)
    except PermissionError as error:
        raise StudyError(f"{name}: {source} cannot be read ({error.strerror})") from error


def _write(blocks, path, bar, arrived=0):
    """Write blocks of bytes, after the first `arrived` of a file; return the SHA-256 and the number of bytes."""
    digest, count = hashlib.sha256(), arrived
    if arrived:
        with open(path, "rb") as handle:
            digest = hashlib.file_digest(handle, "sha256")
    with open(path, "ab" if arrived else "wb") as handle:
        for block in blocks:
            handle.write(block)
            digest.update(block)
            count += len(block)
            bar.update(len(block))
    return digest.hexdigest(), count


def _bar(name, total, progress, arrived=0):
    """Return a progress bar in bytes."""
    from tqdm import tqdm

    label = urlsplit(name.split(" ")[0]).path.rpartition("/")[2]
    return tqdm(
        total=total, initial=arrived, unit="B", unit_scale=True, desc=label, disable=not progress, mininterval=0.5
    )


def _check(name, digest, count, sha256, size):
    """Raise a `StudyError` when a whole file is not the expected one."""
    if size is not None and count != size:
        raise StudyError(
            f"{name}: the file has {count} bytes, {size} were expected: it is truncated, or the address holds another "
            "file now (then correct the table of `checksums`)"
        )
    if sha256 is not None and digest != sha256.lower():
        raise StudyError(
            f"{name}: wrong hash: sha256 {digest}, expected {sha256.lower()}. The file was changed or damaged: nothing "
            "was kept; correct the expected hash only if you trust the new file"
        )
    if count == 0:
        raise StudyError(f"{name}: the file is empty: check the address")


def _fetch(name, url, part, timeout, stall, limit, progress, deadline):
    """Download once, or the rest of it; return the hash, the number of bytes and the address that answered in the end.

    Raises:
        _Transient: a fault that may pass.
        StudyError: one that will not.
    """
    import requests
    import urllib3

    from study.transfer_watch import TransferStopped, TransferWatch

    try:
        with TransferWatch(sum(timeout), stall, MINIMUM_RATE, deadline) as watch, requests.Session() as session:
            for scheme in ("http://", "https://"):
                session.mount(scheme, watch.adapter())
            # Bytes as they lie on the server: else Content-Length and the hash speak of something else.
            session.headers.update({"Accept-Encoding": "identity", "User-Agent": "pretrain-finetune-study"})
            response, last = _answer(session, watch, name, url, timeout, part)
            with response:
                length, arrived = _lengths(name, response, part, limit)
                with _bar(name, length or part.size, progress, arrived) as bar:
                    blocks = _guard(name, url, response, watch, part.size or part.said_size, limit, arrived)
                    digest, count = _write(blocks, part.path, bar, arrived)
    except TransferStopped as stopped:
        raise _Transient(str(stopped)) from stopped
    except requests.exceptions.SSLError as error:
        raise StudyError(
            f"{name}: the server's TLS certificate was not accepted ({_short(error)}): check the address and this "
            "machine's clock and certificates"
        ) from error
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, UnicodeError) as error:
        raise StudyError(f"{name}: not a valid address ({_short(error)})") from error
    except (requests.exceptions.Timeout, urllib3.exceptions.ReadTimeoutError, TimeoutError) as error:
        raise _Transient(
            f"the server did not answer in time ({timeout[0]} s to connect, {timeout[1]} s to send)"
        ) from error
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ConnectionError) as error:
        cut = next((cause for cause in error.args if isinstance(cause, urllib3.exceptions.IncompleteRead)), None)
        if cut is not None:
            raise _Transient(f"truncated: {cut.partial} of {cut.partial + cut.expected} bytes arrived") from error
        raise _Transient(f"the connection failed or broke off ({_short(error)})") from error
    if length is not None and count != length:
        raise _Transient(f"truncated: {count} of {length} bytes arrived")
    if part.said_sha256 not in (None, digest):
        part.forget()
        raise _Transient(f"damaged on its way: sha256 {digest}, the hub says {part.said_sha256}")
    return digest, count, last


def _answer(session, watch, name, url, timeout, part):
    """Follow redirects; return the open response with the file or its rest (status 200 or 206), and its address.

    Over https they may lead to other hosts, since the Hugging Face hub and Zenodo answer so: the host that is
    configured vouches for them. Over http nobody does: there they stay on the configured host.
    """
    import requests

    address, rest = asked_at(url), part.headers()
    for _ in range(REDIRECTS + 1):
        sent = pass_for(url, address)
        # Else the user's ~/.netrc would take the pass's place.
        session.auth = (lambda request: request) if sent else None
        watch.asked()
        response = session.get(address, headers=rest | sent, stream=True, timeout=timeout, allow_redirects=False)
        if is_asked(url, address) and any(promised(response.headers)):
            part.said_size, part.said_sha256 = promised(response.headers)
        if not response.is_redirect:
            break
        response.close()
        target = urljoin(address, response.headers["location"])
        here, there = urlsplit(address), urlsplit(target)
        if there.scheme != "https" and (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise StudyError(f"{name}: redirected to {target}, which is not https: refused; check the address")
        if here.scheme != "https" and here.hostname != there.hostname:
            raise StudyError(
                f"{name}: redirected over http to another host, {target}: refused, since anyone on the way could have "
                "said so; give the https address"
            )
        address = target
    else:
        raise StudyError(f"{name}: more than {REDIRECTS} redirects: check the address")
    if response.status_code == 200 or (response.status_code == requests.codes.partial and rest):
        return response, address
    _refuse(name, url, address, response, part)


def _refuse(name, url, address, response, part):
    """Close a response that brings no file, and raise what it means."""
    import requests

    status = f"{response.status_code} {response.reason or ''}".strip()
    response.close()
    if response.status_code == requests.codes.requested_range_not_satisfiable:
        part.forget()
        raise _Transient(f"the server answered {status}")
    if response.status_code in TRANSIENT_STATUS:
        busy = response.status_code == requests.codes.too_many_requests and is_hub(url) and not token()
        hint = " (with HF_TOKEN set, the hub allows more)" if busy else ""
        raise _Transient(f"the server answered {status}{hint}", _retry_after(response.headers))
    if is_asked(url, address):
        code = response.headers.get("x-error-code", "")
        if hint := refusal(url, response.status_code, code):
            raise StudyError(f"{name}: the hub answered {' '.join(filter(None, (status, code)))}; {hint}")
    elif is_hub(url) and response.status_code in (requests.codes.unauthorized, requests.codes.forbidden):
        # The hub signs each redirect for a while.
        raise _Transient(f"the hub's storage answered {status}: its link has expired")
    hint = "there is no such file: " if response.status_code in (404, requests.codes.gone) else ""
    raise StudyError(
        f"{name}: the server answered {status}; {hint}check the address, or give `mirror` a folder that holds the "
        f"file at {mirror_path(url)}"
    )


def _retry_after(headers):
    """Return the seconds that a server asks to wait, 0 where it does not say.

    Source: RFC 9110, section 10.2.3: seconds, or a date.
    """
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        then = email.utils.parsedate_to_datetime(value)
        return max(0.0, (then - datetime.datetime.now(datetime.UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _lengths(name, response, part, limit):
    """Return the bytes of the whole file, None where not said, and how many of them had arrived before this response.

    Raises:
        StudyError: the file is too large; before it is fetched.
        _Transient: the rest of another place.
    """
    encodings = {response.headers.get(f"{kind}-encoding", "").lower() for kind in ("content", "transfer")}
    if encodings - {"", "identity", "chunked"}:
        raise StudyError(f"{name}: the server sends the file compressed although asked not to: use a `mirror`")
    arrived, length = 0, response.headers.get("content-length", "")
    length = int(length) if length.isdecimal() else None
    if response.status_code != 200:
        place = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("content-range", ""))
        arrived = part.arrived()
        if not place or int(place[1]) != arrived:
            part.forget()
            raise _Transient("the server sent another part of the file than the rest")
        length = int(place[2])
    tag = response.headers.get("etag", "")
    part.tag = tag if re.fullmatch(r'"[\x21\x23-\x7e]*"', tag) else None
    if length is None:
        return part.said_size, arrived
    if part.size is None and length > limit:
        raise StudyError(f"{name}: the file has {length} bytes, more than the {limit} allowed: check the address")
    expected_size = part.size or part.said_size
    if expected_size is not None and length > expected_size:
        raise StudyError(
            f"{name}: the server offers {length} bytes, {expected_size} were expected: the address holds another file"
        )
    return length, arrived


def _guard(name, url, response, watch, size, limit, arrived=0):
    """Yield the body's blocks; stop at a page or pointer in place of a file, at too many bytes."""
    bound = limit if size is None else size
    wants_page = urlsplit(url).path.lower().endswith((".html", ".htm", ".xhtml"))
    kind = response.headers.get("content-type", "").lower()
    if not wants_page and kind.startswith(("text/html", "application/xhtml")):
        raise StudyError(_page(name))
    head, count = b"", arrived
    watch.answered()
    # read1 returns what has arrived; read would wait for a full block, and the watch could not count.
    while block := response.raw.read1(BLOCK):
        if len(head) < 512 and not wants_page and not arrived:
            head = (head + block)[:512]
            if head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html")):
                raise StudyError(_page(name))
            if head.startswith(POINTER):
                raise StudyError(
                    f"{name}: the server sent a pointer of Git LFS in place of the file; GitHub has the file itself at "
                    "https://media.githubusercontent.com/media/OWNER/REPOSITORY/COMMIT/PATH"
                )
        count += len(block)
        watch.received(len(block))
        if count > bound:
            raise StudyError(f"{name}: the server sends more than {bound} bytes: stopped; check the address")
        yield block


def _page(name):
    return (
        f"{name}: the server sent a web page (HTML) in place of the file: the share may have ended or ask for a login; "
        "open the address in a browser"
    )


def _short(error):
    """Return the last, human part of a chained network exception."""
    text = re.sub(r"\(_ssl\.c:\d+\)", "", str(error))
    text = text.rpartition(": ")[2].strip("'\")( ")[:200]
    return text + ")" * (text.count("(") - text.count(")"))
