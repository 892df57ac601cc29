"""Cut the corpus into pieces and binarize it for `fairseq-train --task masked_lm`."""

import os
import tempfile

from common.fairseq_commands import binarize
from common.files import atomic_path, read_lines, write_lines
from common.pieces import encode, load_model
from common.rule import running


def main(train, valid, model, dictionary, destination, limit, threads):
    """Write the folder `destination` (train and valid, .bin and .idx, dict.txt) from two text files.

    Args:
        train, valid: text files, a text a line.
        model, dictionary: `sentencepiece.bpe.model` and `dict.txt`.
        destination: folder to write.
        limit: most pieces of a text, where a text is a block (fairseq would drop the longer ones); None: all.
        threads: processes.
    """
    with tempfile.TemporaryDirectory() as folder, atomic_path(destination) as temporary:
        pieces = {}
        for split, path in (("train", train), ("valid", valid)):
            pieces[split] = os.path.join(folder, split)
            write_lines(pieces[split], encode(load_model(model), read_lines(path), limit))
        os.makedirs(temporary)
        binarize(pieces, dictionary, temporary, workers=threads)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.train,  # noqa: F821
            snakemake.input.valid,  # noqa: F821
            snakemake.input.model,  # noqa: F821
            snakemake.input.dictionary,  # noqa: F821
            snakemake.output.folder,  # noqa: F821
            snakemake.params.limit,  # noqa: F821
            snakemake.threads,  # noqa: F821
        )
