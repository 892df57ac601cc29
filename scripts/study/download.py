"""Files from addresses: whole, checked and atomic; from the network or from a mirror folder.

A broken transfer goes on where it broke, if the server can and the file is the same. Files of the Hugging Face hub are
asked for at HF_ENDPOINT, with HF_TOKEN: see `study.hub`.

On `requests`, not on pooch: pooch follows a redirect from https to http, takes any number of bytes, a web page in place
of a file and a connection that crawls; urllib3's `Retry` does not try again once a body has begun.
"""

import functools
import os
import time

from common.errors import StudyError
from common.files import atomic_path
from study.pins import mirror_path
from study.transfer import BLOCK, Partial, Transient, fetch_once, progress_bar, write_blocks

# The limit for a download whose size is not pinned; the course's largest file has about 0.3 GB, BLOOM-560m 1.1 GB.
LIMIT = 8_000_000_000
# The longest time of one attempt, from the first request to the last byte (seconds): 8 GB at 93 kB/s.
DEADLINE = 86_400
# The longest pause that a server's Retry-After is granted (seconds).
PATIENCE = 300


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
    """Bring the file of an address to `destination`, whole and checked; a failure leaves nothing.

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
            part = Partial(temporary, size, sha256)
            fetch = functools.partial(fetch_once, name, url, part, timeout, stall, limit, progress, deadline)
            digest, count, last = _tried(fetch, url, name, place, attempts, wait)
        else:
            digest, count = _copy(name, mirror, place, temporary, destination, progress)
            found = f"{name}, from the mirror {os.path.join(mirror, place)}"
        _check(found, digest, count, sha256, size)
    print(f"{destination}: {count} bytes, sha256 {digest}{'' if sha256 else ' (recorded: none was expected)'}")
    record = {"url": url, "sha256": digest, "bytes": count, "pinned": sha256 is not None, "from": origin}
    return record if last == url else record | {"answered_by": last.partition("?")[0]}


def _tried(fetch, url, name, place, attempts, wait):
    """Return the result of `fetch`, with further attempts after a temporary fault; see `retrieve`.

    Raises:
        StudyError: it failed at every attempt.
    """
    for attempt in range(1, attempts + 1):
        try:
            return fetch()
        except Transient as fault:
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
        with open(source, "rb") as handle, progress_bar(name, os.path.getsize(source), progress) as bar:
            return write_blocks(iter(lambda: handle.read(BLOCK), b""), temporary, bar)
    except PermissionError as error:
        raise StudyError(f"{name}: {source} cannot be read ({error.strerror})") from error


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
