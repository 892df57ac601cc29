"""Which addresses a study needs, and what is known of their files."""

import fnmatch
import hashlib
import os

from common.download import expected, mirror_path
from common.errors import StudyError
from common.reviews import PIECES_FILES, PIECES_MODEL

# A fairseq checkpoint: weights, dictionary, piece model.
CHECKPOINT_FILES = ("model.pt", "dict.txt", "sentencepiece.bpe.model")


def checkpoint_files(folder):
    """Return the paths of a fairseq checkpoint's files in a folder, in the order of `CHECKPOINT_FILES`."""
    return [os.path.join(folder, name) for name in CHECKPOINT_FILES]


def missing_checkpoint(config):
    """Return the first file that `checkpoint.folder` lacks; None where all are there, or the study has its own copy."""
    missing = [path for path in checkpoint_files(config["checkpoint"]["folder"]) if not os.path.exists(path)]
    own = checkpoint_files(os.path.join("results", config["study"], "checkpoint"))[0]
    return None if not missing or os.path.exists(own) else missing[0]


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


def expand_addresses(patterns, pins, key):
    """Return addresses, with each pattern (`*`) replaced by the pinned addresses that it matches, in their order.

    Args:
        patterns: addresses, or patterns of them.
        pins: what `common.download.read_checksums` returns.
        key: the config key that gives them.

    Raises:
        StudyError: a pattern that matches none.
    """
    found = []
    for pattern in patterns:
        matches = [url for url in pins if fnmatch.fnmatchcase(url, pattern)] if "*" in pattern else [pattern]
        if not matches:
            raise StudyError(f"{key}: no address of the table `checksums` matches {pattern}")
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


def qa_addresses(qa):
    """Return the addresses of the question-answering branch by what they are for.

    Args:
        qa: the `qa` section of the config.

    Returns:
        dict[str, list[str]]: `pairs`, `hub`, `corpus`; a list is empty where the study takes that part elsewhere.
    """
    base = qa["base"]
    hub = f"https://huggingface.co/{base['hub']['repo']}/resolve/{base['hub']['revision']}/"
    return {
        "pairs": [qa["data"]["url"]] if qa["data"]["source"] == "url" and qa["data"]["url"] else [],
        "hub": [hub + name for name in base["hub"]["files"]] if base["source"] == "hub" else [],
        "corpus": list(dict.fromkeys(base["embedded"]["files"])) if base["source"] == "embedded" else [],
    }


def qa_retrievals(config, pins):
    """Return what `retrievals` does, for the rules of the question-answering branch.

    A file that the sentiment study retrieves too is left to that study's rule: two rules must not make one file.

    Args:
        config: the whole config.
        pins: what `common.download.read_checksums` returns.

    Raises:
        StudyError: not an address of a file.
    """
    elsewhere = {url for found in retrievals(config, pins).values() for url in found["urls"]}
    keys = {"pairs": "qa.data.url", "hub": "qa.base.hub", "corpus": "qa.base.embedded.files"}
    return {
        name: _known([url for url in urls if url not in elsewhere], None, keys[name], pins)
        for name, urls in qa_addresses(config["qa"]).items()
    }


def needed_retrievals(config, pins):
    """Return the parameters of the retrieving rules that run in a study, as their files are inputs of other rules.

    Args:
        config: the whole config.
        pins: what `common.download.read_checksums` returns.

    Returns:
        list[dict]: see `retrievals`; a rule is there with all its addresses if one of them is needed.

    Raises:
        StudyError: see `retrievals`.
    """
    checkpoint = config["checkpoint"]
    needed = set(source_addresses(config["data"]))
    if checkpoint["source"] == "pretrain":
        needed.update(checkpoint["corpus"]["files"])
    elif checkpoint["source"] == "fetch":
        needed.update(entry["url"] for entry in checkpoint["fetch"].values() if entry)
    if config["qa"]["enabled"]:
        needed.update(url for urls in qa_addresses(config["qa"]).values() for url in urls)
    rules = [*retrievals(config, pins).values(), *qa_retrievals(config, pins).values()]
    return [found for found in rules if needed.intersection(found["urls"])]


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
