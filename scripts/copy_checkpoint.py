"""Take the checkpoint's three files from a folder of this machine: another study's, or the user's own."""

import contextlib
import os
import shutil

from common.errors import StudyError
from common.files import atomic_path, sha256
from common.rule import running


def main(sources, destinations):
    """Copy the files, all or none.

    Args:
        sources: model.pt, dict.txt and sentencepiece.bpe.model of the folder.
        destinations: the file for each, in that order.

    Raises:
        StudyError: one of them is no file, or empty.
    """
    for source in sources:
        if not os.path.isfile(source) or not os.path.getsize(source):
            raise StudyError(f"checkpoint.folder: {source} is empty or no file; give a folder with a whole checkpoint")
    with contextlib.ExitStack() as stack:
        for source, destination in zip(sources, destinations, strict=True):
            shutil.copyfile(source, stack.enter_context(atomic_path(destination)))
    for source, destination in zip(sources, destinations, strict=True):
        print(f"{destination} from {source}, SHA-256 {sha256(destination)}")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(list(snakemake.input), list(snakemake.output))  # noqa: F821
