"""Synthetic reviews of all splits in a folder, with pieces and dictionary, for trainings of a few updates."""

from checkpoint import train_sentencepiece
from common.files import read_json, write_lines
from data import build_splits
from data.embedded_reviews import generate
from data.reviews import SPLITS
from frameworks.fairseq import binarize_texts

ARCHITECTURE = {"layers": 1, "width": 32, "ffn_width": 32, "heads": 2, "max_positions": 64}
PARTS = {"train-valid": ["train", "valid"], "test": ["test"]}


def write_reviews(folder):
    """Write `{split}.review` and `.label` (40, 20 and 20 reviews), `train.txt`, `valid.txt` (100 and 20 texts without a
    label), `spm.model` and `dict.txt` (of 300 rows); return {split: (text, label) pairs}.
    """
    made = generate(1, 60, 20, 120)
    rows = {"train": made["labelled"][:40], "valid": made["labelled"][40:], "test": made["test"]}
    for split, pairs in rows.items():
        write_lines(folder / f"{split}.review", [text for text, _ in pairs])
        write_lines(folder / f"{split}.label", [str(label) for _, label in pairs])
    write_lines(folder / "train.txt", made["unlabelled"][:100])
    write_lines(folder / "valid.txt", made["unlabelled"][100:])
    learn_pieces(folder / "train.txt", folder / "spm.model", folder / "dict.txt")
    return rows


def split_source(folder, source, files, addresses, **settings):
    """Run the rule build_splits into a folder, on the whole source unless told otherwise; return the manifest."""
    build_splits.main(
        source=source,
        files=files,
        addresses=addresses,
        reviews=[folder / f"{split}.review" for split in SPLITS],
        labels=[folder / f"{split}.label" for split in SPLITS],
        unlabelled=folder / "unlabelled.review",
        pretraining=folder / "pretraining.review",
        manifest=folder / "manifest.json",
        **{"n_train": None, "n_valid": None, "n_test": None, "split_seed": 1, "embedded": None} | settings,
    )
    return read_json(folder / "manifest.json")


def learn_pieces(corpus, model, dictionary, rows=300):
    train_sentencepiece.main(str(corpus), str(model), str(dictionary), rows, "unigram", 1)


def binarize(folder, part):
    """Binarize the splits of a part into the folder `part`, their pieces into `{part}-pieces`."""
    splits = PARTS[part]
    reviews, labels = ([str(folder / f"{split}.{kind}") for split in splits] for kind in ("review", "label"))
    binarize_texts.main(
        reviews=reviews,
        labels=labels,
        model=str(folder / "spm.model"),
        dictionary=str(folder / "dict.txt"),
        folder=str(folder / part),
        pieces=str(folder / f"{part}-pieces"),
        splits=splits,
        max_positions=ARCHITECTURE["max_positions"],
    )
