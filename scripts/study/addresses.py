"""The addresses that a study needs, and the known facts of their files."""

import fnmatch
import hashlib
import os

import sources
from common.arms import uses_checkpoint
from common.errors import StudyError
from study.guests import guests, merged
from study.hub import hub_urls
from study.pins import expected, mirror_path

# The files of the public mirror of CLS-Books.
PIECES_MODEL = "sentencepiece.french.model"
PIECES_FILES = tuple(
    f"cls-books/{split}.{kind}" for split in ("train", "valid", "test") for kind in ("review.spm", "label")
)
# A fairseq checkpoint: weights, dictionary, piece model.
CHECKPOINT_FILES = ("model.pt", "dict.txt", "sentencepiece.bpe.model")
# The curve of the pretraining that made a checkpoint.
PRETRAINING = "pretraining.tsv"


def checkpoint_files(folder, kept=()):
    """Return the paths of a fairseq checkpoint's files in a folder, in the order of `CHECKPOINT_FILES`.

    Args:
        folder: where they lie.
        kept: updates of its pretraining whose weights are wanted, too; they come behind, and behind them the curve of
            that pretraining, which says how many updates it had in all.
    """
    earlier = [*map(kept_file, kept), PRETRAINING] if kept else []
    return [os.path.join(folder, name) for name in (*CHECKPOINT_FILES, *earlier)]


def kept_file(update):
    """Return the place of the weights of an update of the pretraining, below the checkpoint's folder."""
    return f"kept/update{update}/model.pt"


def kept_updates(config):
    """Return the updates of the pretraining that arms start from, in ascending order."""
    return sorted({arm["at_update"] for arm in config["finetuning"]["arms"].values() if arm.get("at_update")})


def missing_checkpoint(config):
    """Return the first file that `checkpoint.folder` lacks, or None."""
    wanted = checkpoint_files(config["checkpoint"]["folder"], kept_updates(config))
    return next((path for path in wanted if not os.path.exists(path)), None)


def pieces_addresses(base):
    """Return the addresses of the public mirror of CLS-Books: six data files, then the piece model."""
    return [base.rstrip("/") + "/" + name for name in (*PIECES_FILES, PIECES_MODEL)]


def source_addresses(data):
    """Return the addresses that the selected data source needs, in the order its reader expects.

    Args:
        data: the `data` section of the config.

    Returns:
        list[str]: empty for the embedded source; of tables those that are no paths.
    """
    source = data["source"]
    if source == "table":
        return [file for _, file in table_files(data["table"]) if is_address(file)]
    if source == "cls_books_pieces":
        return pieces_addresses(data[source]["url"])
    if source in sources.names():
        return sources.load(source).addresses(data[source])
    return [] if source == "embedded" else [data[source]["url"]]


def table_files(table):
    """Return (split, path or address) of every file of `data.table`, in the order in which they are read."""
    found = []
    for split in ("train", "valid", "test"):
        files = table[split] or []
        found += [(split, file) for file in ([files] if isinstance(files, str) else files)]
    return found


def is_address(file):
    """Return whether a place is an address rather than a path."""
    return file.startswith(("http://", "https://"))


def missing_file(path):
    """Return in words, with the remedy, why a path is no file; '' where it is one."""
    if os.path.isdir(path):
        return f"{path} is a folder; name the files in it, several as a list"
    return "" if os.path.isfile(path) else f"there is no file {path} in {os.getcwd()}; correct the path"


def expand_addresses(patterns, pins, key):
    """Return addresses, each once, with each pattern (`*`) replaced by the pinned addresses that it matches, in order.

    Args:
        patterns: addresses, or patterns of them.
        pins: what `study.pins.read_checksums` returns.
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
    return list(dict.fromkeys(found))


def retrievals(config, pins):
    """Return the parameters of each retrieving rule whose addresses the study gives.

    Args:
        config: the whole config.
        pins: what `study.pins.read_checksums` returns.

    Returns:
        dict[str, dict]: by rule name without `retrieve_`: `urls`, and for each its expected hash and size in
            bytes (`hashes`, `sizes`; None: unknown), and `key`, the config key that gives them. An address that two
            parts of the study give belongs to the first: two rules must not make one file.

    Raises:
        StudyError: not an address of a file, or a hash in the study file contradicts the table of checksums.
    """
    data, checkpoint = config["data"], config["checkpoint"]
    fairseq, huggingface = checkpoint["fetch"]["fairseq"], checkpoint["fetch"]["huggingface"] or {}
    wanted = {
        "table": ("data.table", source_addresses({"source": "table", "table": data["table"]}), None),
        "cls_books_zip": ("data.cls_books_zip.url", _urls(data["cls_books_zip"]), data["cls_books_zip"]["sha256"]),
        "cls_books_pieces": ("data.cls_books_pieces.url", pieces_addresses(data["cls_books_pieces"]["url"]), None),
        "cls_archive": ("data.cls_archive.url", _urls(data["cls_archive"]), data["cls_archive"]["sha256"]),
        **{name: (f"data.{name}", source_addresses(data), None) for name in sources.names() if name == data["source"]},
        "checkpoint": ("checkpoint.fetch.fairseq.url", _urls(fairseq), fairseq["sha256"]),
        "huggingface_checkpoint": ("checkpoint.fetch.huggingface.url", _urls(huggingface), huggingface.get("sha256")),
        "corpus": ("checkpoint.corpus.files", checkpoint["corpus"]["files"], None),
        "corpus_tables": ("checkpoint.corpus.tables", corpus_addresses(checkpoint["corpus"]), None),
        **{name: (*given, None) for name, given in merged("addresses", config).items()},
    }
    for number, (name, model) in enumerate(config["finetuning"]["models"].items(), start=1):
        wanted[f"model_{number}"] = (f"finetuning.models.{name}.hub", hub_addresses(model), None)
    found, taken = {}, set()
    for name, (key, urls, sha256) in wanted.items():
        urls = [url for url in dict.fromkeys(urls) if url not in taken]
        taken.update(urls)
        if urls:
            found[name] = _known(urls, sha256, key, pins)
    return found


def _urls(entry):
    """Return the address of a part of the settings in a list; empty where it has none."""
    return [entry["url"]] if entry.get("url") else []


def corpus_addresses(corpus):
    """Return the addresses of all tables of a corpus, in the order of the settings."""
    return [url for entry in corpus["tables"] for url in entry["urls"]]


def hub_addresses(model):
    """Return the addresses of a model's files on the hub; none where it is in a folder.

    Args:
        model: an entry of `finetuning.models`.
    """
    return hub_urls(model["hub"]) if model.get("hub") else []


def needed_retrievals(config, pins):
    """Return the parameters of the retrieving rules that run in a study, as their files are inputs of other rules.

    Args:
        config: the whole config.
        pins: what `study.pins.read_checksums` returns.

    Returns:
        list[dict]: see `retrievals`; a rule is there with all its addresses if one of them is needed.

    Raises:
        StudyError: see `retrievals`.
    """
    checkpoint = config["checkpoint"]
    needed = set(source_addresses(config["data"]))
    if not uses_checkpoint(config):
        pass
    elif checkpoint["source"] == "pretrain":
        needed.update(checkpoint["corpus"]["files"] + corpus_addresses(checkpoint["corpus"]))
    elif checkpoint["source"] == "fetch":
        needed.update(entry["url"] for entry in checkpoint["fetch"].values() if entry)
    models = config["finetuning"]["models"]
    for arm in config["finetuning"]["arms"].values():
        needed.update(hub_addresses(models.get(arm["model"], {})))
    for guest in guests().values():
        if guest.asked(config):
            needed.update(url for _, urls in guest.addresses(config).values() for url in urls)
    return [found for found in retrievals(config, pins).values() if needed.intersection(found["urls"])]


def _known(urls, sha256, key, pins):
    """Return the parameters of one retrieving rule."""
    for url in urls:
        mirror_path(url)
    facts = [expected(pins, url, sha256) for url in urls]
    return {"urls": urls, "hashes": [digest for digest, _ in facts], "sizes": [size for _, size in facts], "key": key}


def record_path(urls):
    """Return the place of a download's record, relative to the folder of all downloads.

    Beside a single file; named by a hash of the addresses for several: studies with the same ones share it.
    """
    if len(urls) == 1:
        return f"{mirror_path(urls[0])}.retrieved.json"
    return f"{hashlib.sha256(chr(10).join(urls).encode()).hexdigest()[:16]}.retrieved.json"
