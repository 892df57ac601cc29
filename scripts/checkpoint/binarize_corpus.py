"""Cut the corpus into pieces and binarize it for `fairseq-train --task masked_lm`."""

import os
import tempfile

from common.entry import run
from common.files import atomic_path, read_lines, write_lines
from data.pieces import encode, load_model
from training.fairseq_commands import binarize


def main(train, valid, model, dictionary, folder, limit, threads):
    """Write a data folder (train and valid, .bin and .idx, dict.txt) from two text files.

    Args:
        train, valid: text files, a text a line.
        model, dictionary: `sentencepiece.bpe.model` and `dict.txt`.
        folder: folder to write.
        limit: most pieces of a text, where a text is a block (fairseq would drop the longer ones); None: all.
        threads: processes.
    """
    processor = load_model(model)
    with tempfile.TemporaryDirectory() as cut, atomic_path(folder) as temporary:
        pieces = {split: os.path.join(cut, split) for split in ("train", "valid")}
        for text, path in zip((train, valid), pieces.values(), strict=True):
            write_lines(path, encode(processor, read_lines(text), limit))
        os.makedirs(temporary)
        binarize(pieces, dictionary, temporary, workers=threads)


if __name__ == "__main__":
    run(main, snakemake)
