"""Which addresses a study needs, and what is known of their files."""

import fnmatch
import hashlib

from common.download import expected, mirror_path
from common.errors import StudyError
from common.reviews import PIECES_FILES, PIECES_MODEL


def pieces_addresses(base):
    """Return the addresses of the public mirror of CLS-Books: six data files, then the piece model."""
    return [base.rstrip("/") + "/" + name for name in (*PIECES_FILES, PIECES_MODEL)]


def source_addresses(data):
    """Return the addresses that the selected data source needs, in the order its reader expects.

    Args:
        data: the `data` section of the config.

    Returns:
        list[str]: empty for the embedded source.
    """
    source = data["source"]
    if source == "cls_books_pieces":
        return pieces_addresses(data[source]["url"])
    return [] if source == "embedded" else [data[source]["url"]]


def expand_addresses(patterns, pins):
    """Return addresses, with each pattern (`*`) replaced by the pinned addresses that it matches, in their order.

    Raises:
        StudyError: a pattern that matches none.
    """
    found = []
    for pattern in patterns:
        matches = [url for url in pins if fnmatch.fnmatchcase(url, pattern)] if "*" in pattern else [pattern]
        if not matches:
            raise StudyError(f"checkpoint.corpus.files: no address of the table `checksums` matches {pattern}")
        found += matches
    return found


def retrievals(config, pins):
    """Return the parameters of each retrieving rule whose addresses the study gives.

    Args:
        config: the whole config.
        pins: what `common.download.read_checksums` returns.

    Returns:
        dict[str, dict]: by rule name without `retrieve_`: `urls`, and for each its expected hash and size in
            bytes (`hashes`, `sizes`; None: unknown), and `key`, the config key that gives them.

    Raises:
        StudyError: not an address of a file, or a hash in the study file contradicts the table of checksums.
    """
    data, checkpoint = config["data"], config["checkpoint"]
    fetch = checkpoint["fetch"]
    wanted = {
        "cls_books_zip": ("data.cls_books_zip.url", data["cls_books_zip"]),
        "cls_books_pieces": ("data.cls_books_pieces.url", data["cls_books_pieces"]),
        "cls_archive": ("data.cls_archive.url", data["cls_archive"]),
        "checkpoint": ("checkpoint.fetch.fairseq.url", fetch["fairseq"]),
        "huggingface_checkpoint": ("checkpoint.fetch.huggingface.url", fetch["huggingface"] or {}),
    }
    found = {}
    for name, (key, entry) in wanted.items():
        if entry.get("url"):
            urls = pieces_addresses(entry["url"]) if name == "cls_books_pieces" else [entry["url"]]
            found[name] = _known(urls, entry.get("sha256"), key, pins)
    # The same address twice is one file.
    files = list(dict.fromkeys(checkpoint["corpus"]["files"]))
    if files:
        found["corpus"] = _known(files, None, "checkpoint.corpus.files", pins)
    return found


def _known(urls, sha256, key, pins):
    """Return the parameters of one retrieving rule."""
    for url in urls:
        mirror_path(url)
    facts = [expected(pins, url, sha256) for url in urls]
    return {"urls": urls, "hashes": [digest for digest, _ in facts], "sizes": [size for _, size in facts], "key": key}


def record_path(urls):
    """Return where the record of a download lies, relative to the folder of all downloads.

    Beside a single file; named by a hash of the addresses for several: studies with the same ones share it.
    """
    if len(urls) == 1:
        return f"{mirror_path(urls[0])}.retrieved.json"
    return f"{hashlib.sha256(chr(10).join(urls).encode()).hexdigest()[:16]}.retrieved.json"
