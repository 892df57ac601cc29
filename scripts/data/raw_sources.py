"""The contents of each source of texts, read from its files: labelled splits and unlabelled texts."""

import sources
import tasks
from common.errors import StudyError
from data.archives import read_members
from data.embedded_reviews import generate
from data.pieces import decode, load_model
from data.reviews import (
    ARCHIVE_FILES,
    SPLITS,
    ZIP_FILES,
    decode_lines,
    normalise,
    pair,
    parse_items,
    parse_labels,
    parse_reviews,
)
from data.text_tables import read_table
from study.addresses import PIECES_FILES


def read_zip(path):
    """Return the course's own splits.

    Args:
        path: zip holding `cls.books/{train,valid,test}.{review,label}`.

    Returns:
        dict: `train`, `valid`, `test`, each a list of (review, label).
    """
    content = read_members(path, ZIP_FILES)
    splits = {}
    for split in SPLITS:
        names = [f"cls.books/{split}.{kind}" for kind in ("review", "label")]
        reviews, labels = (f"{path}: {name}" for name in names)
        splits[split] = pair(
            parse_reviews(content[names[0]], reviews), parse_labels(content[names[1]], labels), reviews, labels
        )
    return splits


def read_pieces(files):
    """Return the splits of the public mirror, decoded from SentencePiece pieces.

    Args:
        files: the six files of `study.addresses.PIECES_FILES` in order, then the piece model.

    Returns:
        tuple[dict, dict]: the splits (lists of (review, label)), and `n` reviews of which `n_identical`
        encode back to the very pieces they came as.
    """
    *data, model = files
    content = dict(zip(PIECES_FILES, ((path, _content(path)) for path in data), strict=True))
    model = load_model(model)
    splits, pieces = {}, {"n": 0, "n_identical": 0}
    for split in SPLITS:
        (reviews, spm), (labels, values) = (content[f"cls-books/{split}.{kind}"] for kind in ("review.spm", "label"))
        texts, n_identical = decode(model, decode_lines(spm, reviews), reviews)
        pieces["n"] += len(texts)
        pieces["n_identical"] += n_identical
        splits[split] = pair(texts, parse_labels(values, labels), reviews, labels)
    return splits, pieces


def _content(path):
    """Return the bytes of a file."""
    with open(path, "rb") as handle:
        return handle.read()


def read_archive(path):
    """Return the French book reviews of the complete CLS archive.

    Args:
        path: tar.gz holding `fr/books/{train,test,unlabeled}.review`.

    Returns:
        tuple[dict, list[str]]: splits `train` and `test`, and the unlabelled reviews.
    """
    content = read_members(path, ARCHIVE_FILES)
    train, test, unlabelled = (f"{path}: {name}" for name in ARCHIVE_FILES)
    splits = {}
    for split, name, member in (("train", train, ARCHIVE_FILES[0]), ("test", test, ARCHIVE_FILES[1])):
        rows = parse_items(content[member], name)
        splits[split] = pair([review for review, _ in rows], [label for _, label in rows], name, name)
    return splits, [review for review, _ in parse_items(content[ARCHIVE_FILES[2]], unlabelled, labelled=False)]


def read_embedded(seed, n_labelled, n_test, n_unlabelled):
    """Return the splits `train` (all labelled reviews) and `test`, and the unlabelled reviews, all synthetic."""
    content = generate(seed=seed, n_labelled=n_labelled, n_test=n_test, n_unlabelled=n_unlabelled)
    splits = {"train": content["labelled"], "test": content["test"]}
    splits = {name: [(normalise(review), int(label)) for review, label in rows] for name, rows in splits.items()}
    return splits, [normalise(review) for review in content["unlabelled"]]


def read_source(source, files, embedded, table=None, classes=(), settings=None, task=tasks.DEFAULT):
    """Return what a source holds.

    Args:
        source: `data.source`.
        files: its downloaded files, in the order of `study.addresses.source_addresses`.
        embedded: `data.embedded`, the settings of the generator.
        table: `data.table`, and `splits`, the split of each file.
        classes: `data.labels`, which a table is read by.
        settings: settings of one of `sources`.
        task: `data.task`, the kind of the labels of a table.

    Returns:
        tuple[dict, list[str], dict]: its splits (lists of (review, label)), its unlabelled reviews, and what the
        manifest says of this source alone.

    Raises:
        StudyError: a fault in a file, or an unknown source.
    """
    if source == "cls_books_zip":
        return read_zip(files[0]), [], {}
    if source == "cls_books_pieces":
        splits, pieces = read_pieces(files)
        return splits, [], {"pieces": pieces}
    if source == "cls_archive":
        return *read_archive(files[0]), {}
    if source == "embedded":
        return *read_embedded(**embedded), {}
    if source == "table":
        facts = {key: table[key] for key in ("language", "licence")} | ({"pairs": True} if "second" in table else {})
        return read_table(files, table["splits"], table, classes, task), [], facts
    if source in sources.names():
        return *sources.load(source).read(files, settings, classes), {}
    raise StudyError(f"data.source {source!r}: use embedded, table, cls_books_zip, cls_books_pieces or cls_archive")
