"""Take the checkpoint's files out of the course's zip: the fairseq three, or a Hugging Face folder."""

import os

from common.addresses import CHECKPOINT_FILES
from common.archives import extract_members, list_members
from common.errors import StudyError
from common.files import atomic_path
from common.rule import running

HUGGINGFACE_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def extract_fairseq(archive, destinations):
    """Write the three files of a fairseq checkpoint, all or none.

    Args:
        archive: zip holding `CHECKPOINT_FILES`, in any folder.
        destinations: the file for each, in that order.

    Raises:
        StudyError: not a sound zip, or a file is missing or empty.
    """
    members = list_members(archive)
    for name in CHECKPOINT_FILES:
        if any(member.size == 0 for member in members if member.name.rpartition("/")[2] == name):
            raise StudyError(f"{archive}: {name} is empty")
    extract_members(archive, dict(zip(CHECKPOINT_FILES, destinations, strict=True)))


def extract_huggingface(archive, folder):
    """Write the Hugging Face folder (the one that holds config.json), whole or not at all.

    Args:
        archive: zip of the folder.
        folder: where its files go; subfolders of it are left out.

    Raises:
        StudyError: not a sound zip, no config.json or no weights beside it, or more than one such folder.
    """
    members = list_members(archive)
    roots = [os.path.dirname(m.name) for m in members if os.path.basename(m.name) == "config.json"]
    if len(roots) != 1:
        listed = ", ".join(member.name for member in members[:12]) or "nothing"
        raise StudyError(
            f"{archive} must hold exactly one Hugging Face folder (a config.json), it holds {len(roots)}: {listed}"
        )
    inside = [member.name for member in members if os.path.dirname(member.name) == roots[0]]
    if not {os.path.basename(name) for name in inside} & set(HUGGINGFACE_WEIGHTS):
        raise StudyError(f"{archive}: beside {roots[0]}/config.json there is no {' or '.join(HUGGINGFACE_WEIGHTS)}")
    with atomic_path(folder) as temporary:
        os.makedirs(temporary)
        extract_members(archive, {name: os.path.join(temporary, os.path.basename(name)) for name in inside})


def main(kind, archive, destinations):
    """Extract one archive.

    Args:
        kind: `fairseq` or `huggingface`.
        archive: the zip.
        destinations: the three files for fairseq, one folder for Hugging Face.

    Raises:
        StudyError: the archive is not what it should be.
    """
    if kind == "fairseq":
        extract_fairseq(archive, destinations)
    else:
        extract_huggingface(archive, destinations[0])
    for path in destinations:
        print(f"{path} from {archive}")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(snakemake.params.kind, snakemake.input.archive, list(snakemake.output))  # noqa: F821
