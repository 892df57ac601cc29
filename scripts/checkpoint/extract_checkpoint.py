"""Take the checkpoint's files out of the course's zip: the fairseq three, or a Hugging Face folder."""

import os

from common.entry import run
from common.errors import StudyError
from common.files import atomic_path
from data.archives import extract_members, find_members, list_members
from study.addresses import CHECKPOINT_FILES
from study.hub import WEIGHTS


def fairseq_members(archive, members):
    """Return which members to extract: the three files of a fairseq checkpoint, in any folder.

    Args:
        archive: path of the zip, for messages.
        members: what `list_members` returns.

    Raises:
        StudyError: one of them is missing or empty, or there twice.
    """
    for name, member in find_members(archive, members, CHECKPOINT_FILES).items():
        if member.size == 0:
            raise StudyError(f"{archive}: {name} is empty")
    return CHECKPOINT_FILES


def huggingface_members(archive, members):
    """Return which members to extract: the files beside the only config.json; subfolders are left out.

    Args:
        archive: path of the zip, for messages.
        members: what `list_members` returns.

    Raises:
        StudyError: no config.json or no weights beside it, or more than one such folder.
    """
    roots = [os.path.dirname(member.name) for member in members if os.path.basename(member.name) == "config.json"]
    if len(roots) != 1:
        listed = ", ".join(member.name for member in members[:12]) or "nothing"
        raise StudyError(
            f"{archive} must hold exactly one Hugging Face folder (a config.json), it holds {len(roots)}: {listed}"
        )
    inside = [member.name for member in members if os.path.dirname(member.name) == roots[0]]
    if not {os.path.basename(name) for name in inside} & set(WEIGHTS):
        raise StudyError(f"{archive}: beside {roots[0]}/config.json there is no {' or '.join(WEIGHTS)}")
    return inside


MEMBERS = {"fairseq": fairseq_members, "huggingface": huggingface_members}


def main(framework, archive, folder):
    """Write one form of the checkpoint, whole or not at all.

    Args:
        framework: `fairseq` or `huggingface`.
        archive: the zip.
        folder: folder to write.

    Raises:
        StudyError: not a sound zip, or not one of this form.
    """
    wanted = MEMBERS[framework](archive, list_members(archive))
    with atomic_path(folder) as temporary:
        extract_members(archive, {name: os.path.join(temporary, os.path.basename(name)) for name in wanted})
    print(f"{folder} from {archive}")


if __name__ == "__main__":
    run(main, snakemake)
