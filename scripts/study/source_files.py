"""The files that a study takes from this machine: its tables, and the checkpoint of another study's folder."""

import sys

from snakemake.io import local

import sources
from common.arms import uses_checkpoint
from common.errors import StudyError
from study.addresses import (
    CHECKPOINT_FILES,
    checkpoint_files,
    is_address,
    kept_updates,
    missing_checkpoint,
    missing_file,
    source_addresses,
    table_files,
)
from study.modules import file_digest


def names_its_rules(words):
    """Return whether a command names the rules that may run (`make regenerate`); none of them reads texts or weights.

    Snakemake knows its own options only once it has read the rules.
    """
    return any(word.partition("=")[0] == "--allowed-rules" for word in words)


def checkpoint_of_folder(config, notice, words=None):
    """Return the files of `checkpoint.folder`.

    Where they are missing, the study's earlier copy must not serve unnoticed, since it may be of another checkpoint. It
    serves where the command names its rules.

    Args:
        config: all settings.
        notice: function of a sentence, called where that copy serves.
        words: words of the command; None: this process's.

    Raises:
        StudyError: a file is missing.
    """
    words = sys.argv if words is None else words
    # No arm starts from it, so nothing is missing.
    missing = uses_checkpoint(config) and missing_checkpoint(config)
    if missing and (not names_its_rules(words) or any(word.endswith("copy_checkpoint") for word in words)):
        raise StudyError(
            f"checkpoint.folder: there is no {missing}; name a folder that holds {', '.join(CHECKPOINT_FILES)}, or run "
            "the study first that makes it (a copy that this study made earlier serves `make regenerate` only)"
        )
    if missing:
        notice(f"checkpoint.folder: there is no {missing}; the study's own copy is used instead")
    return [local(file) for file in checkpoint_files(config["checkpoint"]["folder"], kept_updates(config))]


def local_tables(data):
    """Return the files of a study's tables of texts that are on this machine; none for another source.

    Args:
        data: config section `data`.
    """
    tables = table_files(data["table"]) if data["source"] == "table" else []
    return [file for _, file in tables if not is_address(file)]


def source_files(data, retrieved, watched, words=None):
    """Return the files of the data source.

    Args:
        data: config section `data`.
        retrieved: function of addresses: where they are kept once retrieved.
        watched: whether a missing table is refused; not by a job's own Snakemake.
        words: words of the command; None: this process's.

    Raises:
        StudyError: a table is missing on this machine.
    """
    if data["source"] != "table":
        return retrieved(*source_addresses(data))
    found = table_files(data["table"])
    for split, file in found if watched and not names_its_rules(sys.argv if words is None else words) else ():
        if not is_address(file) and (fault := missing_file(file)):
            raise StudyError(f"data.table.{split}: {fault}")
    return [retrieved(file)[0] if is_address(file) else local(file) for _, file in found]


def other_source(data):
    """Return a source's parameters, of `scripts/sources`: its settings, and the digest of its file, loaded by name.

    Args:
        data: config section `data`.
    """
    name = data["source"]
    return {"settings": data[name], "version": file_digest(sources.file(name))} if name in sources.names() else {}


def table_settings(data):
    """Return the settings of a table of texts, with its files and the split of each; None for another source.

    Args:
        data: config section `data`.
    """
    if data["source"] != "table":
        return None
    table = data["table"]
    splits, files = zip(*table_files(table), strict=True)
    # A study of single texts lacks this parameter, so that its splits are as they were.
    keys = ["text", "label", "language", "licence", *(["second"] if table["second"] is not None else [])]
    keys += ["quoting"] if table["quoting"] != "auto" else []
    return {key: table[key] for key in keys} | {"splits": list(splits), "files": list(files)}
