"""Cut reviews into pieces and binarize them for `fairseq-train --task sentence_prediction`."""

import os

from common.errors import StudyError
from common.fairseq_commands import binarize
from common.files import atomic_path, read_lines, write_lines
from common.pieces import encode, load_model
from common.rule import running

# Class k is label k, whatever the labels' frequencies: fairseq's own label dictionary is sorted by them.
LABELS = ("0", "1")


def main(reviews, labels, model, dictionary, pieces, destination, max_positions):
    """Write pieces and a data folder with `input0/` and `label/`.

    Args:
        reviews, labels: {split: path} of the canonical text and label files.
        model, dictionary: `sentencepiece.bpe.model` and `dict.txt`.
        pieces: {split: path} to write: space-joined pieces, at most max_positions - 2 a review.
        destination: folder to write.
        max_positions: tokens of an input, <s> and </s> among them.

    Raises:
        StudyError: a label file holds anything but 0 and 1, or another number of lines than the reviews.
    """
    processor = load_model(model)
    with atomic_path(destination) as temporary:
        os.makedirs(os.path.join(temporary, "label"))
        for split, path in reviews.items():
            texts, values = read_lines(path), read_lines(labels[split])
            if len(texts) != len(values):
                raise StudyError(f"{path} has {len(texts)} reviews and {labels[split]} has {len(values)} labels")
            for number, value in enumerate(values, start=1):
                if value not in LABELS:
                    raise StudyError(f"{labels[split]} line {number}: label {value!r} is neither 0 nor 1")
            write_lines(pieces[split], encode(processor, texts, max_positions - 2))
        binarize(pieces, dictionary, os.path.join(temporary, "input0"))
        label_dictionary = os.path.join(temporary, "label-dict.txt")
        write_lines(label_dictionary, [f"{label} 1" for label in LABELS])
        binarize({split: labels[split] for split in reviews}, label_dictionary, os.path.join(temporary, "label"))
        os.remove(label_dictionary)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        splits = snakemake.params.splits  # noqa: F821
        main(
            dict(zip(splits, snakemake.input.reviews, strict=True)),  # noqa: F821
            dict(zip(splits, snakemake.input.labels, strict=True)),  # noqa: F821
            snakemake.input.model,  # noqa: F821
            snakemake.input.dictionary,  # noqa: F821
            dict(zip(splits, snakemake.output.pieces, strict=True)),  # noqa: F821
            snakemake.output.folder,  # noqa: F821
            snakemake.params.max_positions,  # noqa: F821
        )
