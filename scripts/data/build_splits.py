"""Bring the selected source into the study's canonical form: three labelled splits and unlabelled reviews."""

import contextlib
import hashlib
import json

import tasks
from common.entry import run
from common.errors import StudyError
from common.files import atomic_path, sha256
from data.raw_sources import read_source
from data.reviews import (
    BETWEEN,
    POLARITY,
    SPLITS,
)
from data.stratified import draw
from data.words import length_unit

# One in this many texts of a table's train is drawn for valid by default.
VALID_SHARE = 5


def split_reviews(source, n_train, n_valid, n_test, seed, classes=POLARITY, task=tasks.DEFAULT):
    """Return the study's splits.

    Args:
        source: dictionary of the source's lists of (review, label): `train`, `test`, and `valid` where it has one.
        n_train: reviews to train on, drawn from the source's train and valid together, stratified.
        n_valid: reviews to choose the epoch by, likewise; both None: the source's own split, in its order.
        n_test: test reviews, a stratified draw in the source's order; None: all.
        seed: seed of the draws.
        classes: names of the classes in order.
        task: kind of the labels.

    Returns:
        dict: `train`, `valid`, `test`.

    Raises:
        StudyError: more is asked for than there is, or a split would lack a class; the message names the keys.
    """
    if (n_train is None) != (n_valid is None):
        raise StudyError("data.n_train and data.n_valid: set both, or both to null (the source's own split)")
    if n_train is None:
        if "valid" not in source:
            raise StudyError(
                "data.n_train and data.n_valid are null, but this source has no split into train and valid"
            )
        splits = {"train": source["train"], "valid": source["valid"]}
    else:
        pool = source["train"] + source.get("valid", [])
        if n_train + n_valid > len(pool):
            raise StudyError(
                f"data.n_train ({n_train}) and data.n_valid ({n_valid}) ask for {n_train + n_valid} labelled reviews, "
                f"but the source has {len(pool)}: lower one of them"
            )
        # Valid is drawn first: then every n_train has the same valid reviews, and larger training sets contain smaller
        # ones.
        valid, train = draw_rows(pool, [n_valid, n_train], seed, len(classes), task)
        splits = {"train": [pool[i] for i in train], "valid": [pool[i] for i in valid]}
    splits["test"] = some("test", source["test"], n_test, seed, len(classes), task)
    kind = tasks.load(task)
    for split in kind.NEEDED:
        for label in kind.lacking([label for _, label in splits[split]], len(classes)):
            name = f" ({classes[label]})" if len(classes) > 2 else ""
            remedy = f"raise data.n_{split}" + (", or lower data.n_valid" if split == "train" else "")
            raise StudyError(f"the {split} split has no review of class {label}{name}: {remedy}")
    return splits


def split_table(source, n_train, n_valid, n_test, seed, classes, task=tasks.DEFAULT):
    """Return the study's splits of a table: its own valid stays apart; where it has none, valid is drawn from train.

    Args:
        source: what `data.text_tables.read_table` returns.
        n_train: texts to train on, a stratified draw; None: all that are left.
        n_valid: texts to choose the epoch by, likewise; None: all of valid, or where there is none a fifth of train.
        n_test, seed, classes, task: see `split_reviews`.

    Raises:
        StudyError: see `split_reviews`.
    """
    if "valid" in source:
        sizes = {"train": n_train, "valid": n_valid}
        chosen = {split: some(split, source[split], n, seed, len(classes), task) for split, n in sizes.items()}
        return split_reviews(source | chosen, None, None, n_test, seed, classes, task)
    n = len(source["train"])
    n_valid = max(n // VALID_SHARE, len(classes)) if n_valid is None else n_valid
    n_train = max(n - n_valid, 0) if n_train is None else n_train
    return split_reviews(source, n_train, n_valid, n_test, seed, classes, task)


def draw_rows(rows, sizes, seed, n_classes, task=tasks.DEFAULT):
    """Return what `draw` does of rows of (text, label), by the strata of the kind of their labels."""
    strata, n_strata = tasks.load(task).strata([label for _, label in rows], n_classes)
    return draw(strata, sizes, seed, n_strata)


def some(split, rows, n, seed, n_classes, task=tasks.DEFAULT):
    """Return a stratified draw of n rows in their order; None: all of them.

    Raises:
        StudyError: there are fewer.
    """
    if n is None:
        return rows
    if n > len(rows):
        raise StudyError(f"data.n_{split} ({n}) is more than the source's {len(rows)} {split} reviews")
    (drawn,) = draw_rows(rows, [n], seed, n_classes, task)
    return [rows[i] for i in sorted(drawn)]


def without_held_out(lines, splits):
    """Return the texts to pretrain on, without what is, word for word, a valid or test text.

    They must not hold what is measured later. The two texts of a pair are looked at one by one, since pairs often share
    one; what is left of a pair is one text, as a vocabulary and a checkpoint take it.
    """
    held_out = {text for split in ("valid", "test") for line, _ in splits[split] for text in line.split(BETWEEN)}
    left = (" ".join(text for text in line.split(BETWEEN) if text not in held_out) for line in lines)
    return [text for text in left if text]


def overlaps(splits):
    """Return how many reviews of each later split are word for word in an earlier one."""
    texts = {split: {review for review, _ in splits[split]} for split in SPLITS}
    pairs = (("train", "valid"), ("train", "test"), ("valid", "test"))
    return {f"{a}_{b}": sum(review in texts[a] for review, _ in splits[b]) for a, b in pairs}


def describe(splits, texts, n_unlabelled, n_classes=2, task=tasks.DEFAULT):
    """Return what the manifest says of the study's text: counts, class balance, hashes, repeated reviews.

    Args:
        splits: what `split_reviews` returns.
        texts: {"unlabelled" and "pretraining": reviews left of them once valid and test reviews are out}.
        n_unlabelled: unlabelled reviews of the source.
        n_classes: how many classes there are.
        task: kind of the labels.
    """
    n_before = {"unlabelled": n_unlabelled, "pretraining": len(splits["train"])}
    return {
        "identical_reviews": overlaps(splits),
        "splits": {
            split: {
                "n": len(rows),
                **tasks.load(task).counts([label for _, label in rows], n_classes),
                "sha256_review": _sha256(review for review, _ in rows),
                "sha256_label": _sha256(label for _, label in rows),
            }
            for split, rows in splits.items()
        },
        **{
            name: {"n": len(kept), "n_removed_as_held_out": n_before[name] - len(kept), "sha256": _sha256(kept)}
            for name, kept in texts.items()
        },
    }


def _encoded(lines):
    """Return lines as the bytes of a file."""
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def _sha256(lines):
    """Return the SHA-256 of the file that holds these lines."""
    return hashlib.sha256(_encoded(lines)).hexdigest()


def write_all(contents):
    """Write {path: lines}: all files or none."""
    with contextlib.ExitStack() as stack:
        for path, lines in contents.items():
            with open(stack.enter_context(atomic_path(path)), "wb") as handle:
                handle.write(_encoded(lines))


def by_file(splits, reviews, labels):
    """Return {file: its lines} of the splits' texts and labels."""
    found = {}
    for split, *paths in zip(SPLITS, reviews, labels, strict=True):
        found |= zip(paths, zip(*splits[split], strict=True), strict=True)
    return found


def main(
    source,
    files,
    addresses,
    reviews,
    labels,
    unlabelled,
    pretraining,
    manifest,
    n_train,
    n_valid,
    n_test,
    split_seed,
    embedded,
    classes=POLARITY,
    table=None,
    settings=None,
    version=None,
    task=tasks.DEFAULT,
    pool=None,
):
    """Write the canonical splits and their manifest: all files or none.

    Long: the steps in their order, and what each argument is.

    Args:
        source: `data.source`.
        files: the source's downloaded files, in the order of `study.addresses.source_addresses`.
        addresses: where they came from, for the manifest.
        reviews, labels: files to write, of train, valid and test.
        unlabelled: file to write; may be empty.
        pretraining: file to write: what `without_held_out` leaves of the training reviews, a text a line.
        manifest: JSON to write: counts, class balance, hashes, source, unit of lengths.
        n_train, n_valid, n_test, split_seed: see `split_reviews`.
        classes: `data.labels`, names of the classes in order.
        embedded, table: see `read_source`; None for another source.
        settings, version: see `study.source_files.other_source`; None for another source.
        task: kind of the labels (`data.task`).
        pool: two files to write, reviews and labels of the source's train and valid, which each seed draws from; none
            of them is pretrained on then. None: all seeds share the splits.

    Raises:
        StudyError: a fault in the source, or more is asked for than it has.
    """
    content, more, details = read_source(source, files, embedded, table, classes, settings, task)
    split = split_table if source == "table" else split_reviews
    splits = split(content, n_train, n_valid, n_test, split_seed, classes, task)
    training = [review for review, _ in splits["train"]]
    unit = length_unit(training)
    labelled = content["train"] + content.get("valid", [])
    held_out = splits | ({"valid": labelled} if pool else {})
    texts = {"unlabelled": without_held_out(more, held_out), "pretraining": without_held_out(training, held_out)}
    record = {
        "source": source,
        "synthetic": source == "embedded",
        "labels": list(classes),
        "split_seed": split_seed,
        "own_split": "valid" in content if source == "table" else n_train is None,
        "files": {address: sha256(path) for address, path in zip(addresses, files, strict=True)},
        "source_reviews": {name: len(rows) for name, rows in content.items()},
        # The unit `words` is left out, so that the records of earlier studies stay the same.
        **({"length_unit": unit} if unit != "words" else {}),
        **({"task": task} if task != tasks.DEFAULT else {}),
        **describe(splits, texts, len(more), len(classes), task),
        **details,
    }
    contents = by_file(splits, reviews, labels)
    if pool:
        contents |= zip(pool, zip(*labelled, strict=True), strict=True)
    contents[manifest] = json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True).split("\n")
    write_all(contents | {unlabelled: texts["unlabelled"], pretraining: texts["pretraining"]})
    tell(record)


def tell(record):
    """Print what the manifest says of the splits."""
    for split, counts in record["splits"].items():
        named = zip(counts.get("n_by_class", counts.get("n_by_label", ())), record["labels"], strict=True)
        print(", ".join([f"{split}: {counts['n']} reviews", *(f"{n} {name}" for n, name in named)]))
    left = record["unlabelled"]
    print(
        f"unlabelled: {left['n']} reviews ({left['n_removed_as_held_out']} identical to valid or test reviews left out)"
    )


if __name__ == "__main__":
    run(main, snakemake)
