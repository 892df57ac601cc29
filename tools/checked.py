"""Check that a study's files are those that its records name, before a tool reads or copies them."""

import os
from urllib.parse import unquote

import measures
from common.errors import StudyError
from common.files import read_json, sha256
from finetuning.seals import check_folder
from tools import packs

CRATE = "ro-crate-metadata.json"


def recorded(folder):
    """Return {path relative to the folder: SHA-256} of every file of which the study's crate holds the hash."""
    graph = read_json(os.path.join(folder, CRATE)).get("@graph", [])
    return {unquote(entity["@id"]): entity["sha256"] for entity in graph if "sha256" in entity and is_file(entity)}


def is_file(entity):
    """Return whether an entity of a crate is a file beside it: others are inputs that were not kept."""
    return entity.get("@type") == "File"


def check_results(folder, needed=()):
    """Check a finished study's records against its seals, and its tables and figures against its crate.

    Args:
        folder: results folder, or a published study, packed or unpacked, whose list of sums replaces the crate.
        needed: files, relative to the folder, that the caller reads; the crate must hold their hashes.

    Raises:
        StudyError: a file is missing or another one, or the crate does not name a needed file.
    """
    check_folder(folder)
    if os.path.exists(os.path.join(folder, packs.SUMS)):
        packs.check(folder)
        return
    hashes = recorded(folder)
    for name, digest in hashes.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            raise StudyError(f"{path} is missing; run the study again to rebuild it")
        if sha256(path) != digest:
            raise StudyError(
                f"{path} is not the file that the study made ({CRATE} holds another SHA-256); remove it and run the "
                "study again to rebuild it"
            )
    for name in needed:
        if name not in hashes:
            raise StudyError(f"{folder}/{CRATE} does not name {name}; run the study again to record it")


def check_measure(config):
    """Refuse a study that another measure than accuracy leads: the published pages are tables of accuracy.

    Raises:
        StudyError: one does.
    """
    if (name := measures.leading(config)) != measures.DEFAULT:
        raise StudyError(
            f"the published pages are tables of {measures.DEFAULT}, and {config['study']} is led by {name}; share its "
            f"report by itself, or publish a study with measure: {measures.DEFAULT}"
        )
