"""Cut reviews into pieces and binarize them for `fairseq-train --task sentence_prediction`."""

import os

from common.entry import run
from common.files import atomic_path, write_lines
from data.pieces import encode, load_model
from data.reviews import POLARITY, read_split
from training.fairseq_commands import binarize


def main(reviews, labels, model, dictionary, folder, pieces, splits, max_positions, classes=POLARITY):
    """Write pieces and a data folder with `input0/` and `label/`.

    Args:
        reviews, labels: paths of the canonical text and label files, in the order of `splits`.
        model, dictionary: `sentencepiece.bpe.model` and `dict.txt`.
        folder: data folder to write.
        pieces: folder to write: `{split}.pieces`, space-joined pieces, at most max_positions - 2 a review.
        splits: names of the splits.
        max_positions: tokens of an input, including <s> and </s>.
        classes: names of the classes in order.

    Raises:
        StudyError: see `data.reviews.read_split`.
    """
    processor = load_model(model)
    labels = dict(zip(splits, labels, strict=True))
    with atomic_path(folder) as temporary, atomic_path(pieces) as cut:
        os.makedirs(os.path.join(temporary, "label"))
        os.mkdir(cut)
        for split, path in zip(splits, reviews, strict=True):
            texts, _ = read_split(path, labels[split], classes)
            write_lines(os.path.join(cut, f"{split}.pieces"), encode(processor, texts, max_positions - 2))
        lines = {split: os.path.join(cut, f"{split}.pieces") for split in splits}
        binarize(lines, dictionary, os.path.join(temporary, "input0"))
        # Class k is label k, whatever the labels' frequencies: fairseq sorts its label dictionary by them.
        label_dictionary = os.path.join(temporary, "label-dict.txt")
        write_lines(label_dictionary, [f"{k} 1" for k in range(len(classes))])
        binarize(labels, label_dictionary, os.path.join(temporary, "label"))
        os.remove(label_dictionary)


if __name__ == "__main__":
    run(main, snakemake)
