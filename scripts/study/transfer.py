"""One attempt to get a file over HTTP, or the rest of it."""

import datetime
import email.utils
import hashlib
import os
import re
from urllib.parse import urljoin, urlsplit

from common.errors import StudyError
from study.hub import asked_at, is_asked, is_hub, pass_for, promised, refusal, token
from study.pins import mirror_path
from study.pointers import POINTER

BLOCK = 1 << 16
REDIRECTS = 5
# After these answers of a server another attempt may succeed.
TRANSIENT_STATUS = (408, 425, 429, 500, 502, 503, 504)
# A connection that delivers less of the file than this for `stall` seconds counts as broken (bytes/s).
MINIMUM_RATE = 100


class Transient(Exception):
    """A temporary fault: another attempt is worthwhile after `wait` seconds."""

    def __init__(self, message, wait=0.0):
        super().__init__(message)
        self.wait = wait


class Partial:
    """A file in transfer, over all attempts to get it.

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
        """Return the bytes to resume from; none where a change of the file could not be detected."""
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


def write_blocks(blocks, path, bar, arrived=0):
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


def progress_bar(name, total, progress, arrived=0):
    """Return a progress bar in bytes."""
    from tqdm import tqdm

    label = urlsplit(name.split(" ")[0]).path.rpartition("/")[2]
    return tqdm(
        total=total, initial=arrived, unit="B", unit_scale=True, desc=label, disable=not progress, mininterval=0.5
    )


def fetch_once(name, url, part, timeout, stall, limit, progress, deadline):
    """Download once, or the rest of it; return the hash, the number of bytes and the address that answered in the end.

    Raises:
        Transient: a fault that may pass.
        StudyError: one that will not.
    """
    import requests
    import urllib3

    from study.transfer_watch import TransferStopped, TransferWatch

    try:
        with TransferWatch(sum(timeout), stall, MINIMUM_RATE, deadline) as watch, requests.Session() as session:
            for scheme in ("http://", "https://"):
                session.mount(scheme, watch.adapter())
            # The bytes are those on the server: otherwise Content-Length and the hash would describe something else.
            session.headers.update({"Accept-Encoding": "identity", "User-Agent": "pretrain-finetune-study"})
            response, last = _answer(session, watch, name, url, timeout, part)
            with response:
                length, arrived = _lengths(name, response, part, limit)
                with progress_bar(name, length or part.size, progress, arrived) as bar:
                    blocks = _guard(name, url, response, watch, part.size or part.said_size, limit, arrived)
                    digest, count = write_blocks(blocks, part.path, bar, arrived)
    except TransferStopped as stopped:
        raise Transient(str(stopped)) from stopped
    except requests.exceptions.SSLError as error:
        raise StudyError(
            f"{name}: the server's TLS certificate was not accepted ({_short(error)}): check the address and this "
            "machine's clock and certificates"
        ) from error
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, UnicodeError) as error:
        raise StudyError(f"{name}: not a valid address ({_short(error)})") from error
    except (requests.exceptions.Timeout, urllib3.exceptions.ReadTimeoutError, TimeoutError) as error:
        raise Transient(
            f"the server did not answer in time ({timeout[0]} s to connect, {timeout[1]} s to send)"
        ) from error
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ConnectionError) as error:
        cut = next((cause for cause in error.args if isinstance(cause, urllib3.exceptions.IncompleteRead)), None)
        if cut is not None:
            raise Transient(f"truncated: {cut.partial} of {cut.partial + cut.expected} bytes arrived") from error
        raise Transient(f"the connection failed or broke off ({_short(error)})") from error
    if length is not None and count != length:
        raise Transient(f"truncated: {count} of {length} bytes arrived")
    if part.said_sha256 not in (None, digest):
        part.forget()
        raise Transient(f"damaged on its way: sha256 {digest}, the hub says {part.said_sha256}")
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
        # Otherwise the user's ~/.netrc would replace the token.
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
    """Close a response without a file, and raise its meaning."""
    import requests

    status = f"{response.status_code} {response.reason or ''}".strip()
    response.close()
    if response.status_code == requests.codes.requested_range_not_satisfiable:
        part.forget()
        raise Transient(f"the server answered {status}")
    if response.status_code in TRANSIENT_STATUS:
        busy = response.status_code == requests.codes.too_many_requests and is_hub(url) and not token()
        hint = " (with HF_TOKEN set, the hub allows more)" if busy else ""
        raise Transient(f"the server answered {status}{hint}", _retry_after(response.headers))
    if is_asked(url, address):
        code = response.headers.get("x-error-code", "")
        if hint := refusal(url, response.status_code, code):
            raise StudyError(f"{name}: the hub answered {' '.join(filter(None, (status, code)))}; {hint}")
    elif is_hub(url) and response.status_code in (requests.codes.unauthorized, requests.codes.forbidden):
        # The hub signs each redirect for a limited time.
        raise Transient(f"the hub's storage answered {status}: its link has expired")
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
        Transient: the rest of another place.
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
            raise Transient("the server sent another part of the file than the rest")
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
