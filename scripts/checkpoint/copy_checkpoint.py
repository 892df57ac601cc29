"""Take the checkpoint's three files from a folder: the one fetched, another study's, or the user's own."""

import contextlib
import os
import shutil

from checkpoint.vocabulary import check_vocabulary
from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, sha256
from study.addresses import checkpoint_files
from study.pointers import check_pointer


def main(sources, destinations):
    """Copy the files, all or none.

    Args:
        sources: model.pt, dict.txt and sentencepiece.bpe.model of `checkpoint.folder`, and behind them the kept weights
            that arms start from and the curve of their pretraining; or the fetched folder that holds the three, which
            its rule declares whole.
        destinations: the file to write for each, in that order.

    Raises:
        StudyError: one of them is no file, empty, or a pointer of Git LFS; or dictionary and piece model are of
            different checkpoints.
    """
    if isinstance(sources, str):
        sources = checkpoint_files(sources)
    for source in sources:
        if not os.path.isfile(source) or not os.path.getsize(source):
            raise StudyError(f"{source} is empty or no file: checkpoint.folder must hold a whole checkpoint")
        check_pointer(source)
    check_vocabulary(*map(str, sources[1:3]))
    with contextlib.ExitStack() as stack:
        for source, destination in zip(sources, destinations, strict=True):
            shutil.copyfile(source, stack.enter_context(atomic_path(destination)))
    for source, destination in zip(sources, destinations, strict=True):
        print(f"{destination} from {source}, SHA-256 {sha256(destination)}")


if __name__ == "__main__":
    run(main, snakemake)
