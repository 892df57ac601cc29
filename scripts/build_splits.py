"""Bring the selected source into the study's canonical form: three labelled splits and unlabelled reviews."""

import contextlib
import hashlib
import json

import numpy as np

from common.archives import read_members
from common.errors import StudyError
from common.files import atomic_path, sha256
from common.reviews import (
    ARCHIVE_FILES,
    PIECES_FILES,
    SPLITS,
    ZIP_FILES,
    decode_lines,
    decode_pieces,
    normalise,
    pair,
    parse_items,
    parse_labels,
    parse_reviews,
)
from common.rule import running


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


def read_pieces(paths):
    """Return the splits of the public mirror, decoded from SentencePiece pieces.

    Args:
        paths: the six files of `PIECES_FILES` in order, then the piece model.

    Returns:
        tuple[dict, dict]: the splits (lists of (review, label)), and `n` reviews of which `n_identical`
        encode back to the very pieces they came as.
    """
    *data, model = paths
    with open(model, "rb") as handle:
        model = handle.read()
    content = {}
    for name, path in zip(PIECES_FILES, data, strict=True):
        with open(path, "rb") as handle:
            content[name] = handle.read(), path
    splits, pieces = {}, {"n": 0, "n_identical": 0}
    for split in SPLITS:
        (review_bytes, review_path), (label_bytes, label_path) = (
            content[f"cls-books/{split}.{kind}"] for kind in ("review.spm", "label")
        )
        texts, identical = decode_pieces(decode_lines(review_bytes, review_path), model, review_path)
        pieces["n"] += len(texts)
        pieces["n_identical"] += identical
        splits[split] = pair(texts, parse_labels(label_bytes, label_path), review_path, label_path)
    return splits, pieces


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
    from common.embedded_reviews import generate

    content = generate(seed=seed, n_labelled=n_labelled, n_test=n_test, n_unlabelled=n_unlabelled)
    splits = {"train": content["labelled"], "test": content["test"]}
    splits = {name: [(normalise(review), int(label)) for review, label in rows] for name, rows in splits.items()}
    return splits, [normalise(review) for review in content["unlabelled"]]


def shares(counts, n):
    """Divide `n` draws over classes in proportion to their counts (largest remainder; ties to the first class).

    Args:
        counts: reviews per class, summing to at least `n`.
        n: how many to draw in all.

    Returns:
        list[int]: draws per class, none above its count.
    """
    total = sum(counts)
    # Whole numbers only: n * count // total is the floor of the share, the remainder orders the rest.
    floors = [n * count // total for count in counts]
    order = sorted(range(len(counts)), key=lambda k: (-(n * counts[k] % total), k))
    for k in order[: n - sum(floors)]:
        floors[k] += 1
    return floors


def draw(labels, sizes, seed):
    """Draw disjoint stratified samples.

    Each class is shuffled once, by the seed alone, and the samples take their shares from its front one after
    the other: with the same first samples, a larger last one holds the smaller one.

    Args:
        labels: classes 0 or 1 of n reviews.
        sizes: size of each sample, in drawing order; their sum is at most n.
        seed: integer >= 0.

    Returns:
        list[list[int]]: review numbers of each sample, shuffled.
    """
    classes = []
    for label in (0, 1):
        numbers = np.flatnonzero(np.asarray(labels) == label)
        classes.append(np.random.default_rng([seed, label]).permutation(numbers).tolist())
    samples = []
    for k, size in enumerate(sizes):
        taken = shares([len(numbers) for numbers in classes], size)
        chosen = [number for numbers, share in zip(classes, taken, strict=True) for number in numbers[:share]]
        classes = [numbers[share:] for numbers, share in zip(classes, taken, strict=True)]
        order = np.random.default_rng([seed, 2 + k]).permutation(len(chosen))
        samples.append([chosen[i] for i in order])
    return samples


def split_reviews(source, n_train, n_valid, n_test, seed):
    """Return the study's splits.

    Args:
        source: dictionary of the source's lists of (review, label): `train`, `test`, and `valid` where it has one.
        n_train: reviews to train on, drawn from the source's train and valid together, stratified.
        n_valid: reviews to choose the epoch by, likewise; both None: the source's own split, in its order.
        n_test: test reviews, a stratified draw in the source's order; None: all.
        seed: of the draws.

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
        # Valid first: then the same valid reviews go with every n_train, and small training sets lie in larger ones.
        valid, train = draw([label for _, label in pool], [n_valid, n_train], seed)
        splits = {"train": [pool[i] for i in train], "valid": [pool[i] for i in valid]}
    splits["test"] = source["test"]
    if n_test is not None:
        if n_test > len(source["test"]):
            raise StudyError(f"data.n_test ({n_test}) is more than the source's {len(source['test'])} test reviews")
        (test,) = draw([label for _, label in source["test"]], [n_test], seed)
        splits["test"] = [source["test"][i] for i in sorted(test)]
    for split in SPLITS:
        for label in (0, 1):
            if all(other != label for _, other in splits[split]):
                raise StudyError(f"the {split} split has no review of class {label}: raise data.n_{split}")
    return splits


def without_held_out(unlabelled, splits):
    """Return the unlabelled reviews that are not, word for word, a valid or test review.

    They are text to pretrain on, which must not hold what is measured later.
    """
    held_out = {review for split in ("valid", "test") for review, _ in splits[split]}
    return [review for review in unlabelled if review not in held_out]


def overlaps(splits):
    """Return how many reviews of each later split stand word for word in an earlier one."""
    texts = {split: {review for review, _ in splits[split]} for split in SPLITS}
    pairs = (("train", "valid"), ("train", "test"), ("valid", "test"))
    return {f"{a}_{b}": sum(review in texts[a] for review, _ in splits[b]) for a, b in pairs}


def main(
    source,
    files,
    addresses,
    review_paths,
    label_paths,
    unlabelled_path,
    pretraining_path,
    manifest_path,
    n_train,
    n_valid,
    n_test,
    split_seed,
    embedded,
):
    """Write the canonical splits and their manifest: all files or none.

    Args:
        source: `data.source`.
        files: the source's downloaded files, in the order of `common.addresses.source_addresses`.
        addresses: where they came from, for the manifest.
        review_paths: outputs for train, valid, test.
        label_paths: outputs likewise.
        unlabelled_path: output; may be an empty file.
        pretraining_path: output: the training reviews that no valid or test review repeats word for word.
        manifest_path: JSON output: counts, class balance, hashes, source.
        n_train: see `split_reviews`.
        n_valid: see `split_reviews`.
        n_test: see `split_reviews`.
        split_seed: see `split_reviews`.
        embedded: `data.embedded`, the settings of the generator; None for another source.

    Raises:
        StudyError: a fault in the source, or more is asked for than it has.
    """
    unlabelled, details = [], {}
    if source == "cls_books_zip":
        content = read_zip(files[0])
    elif source == "cls_books_pieces":
        content, details["pieces"] = read_pieces(files)
    elif source == "cls_archive":
        content, unlabelled = read_archive(files[0])
    elif source == "embedded":
        content, unlabelled = read_embedded(**embedded)
    else:
        raise StudyError(f"data.source {source!r}: use embedded, cls_books_zip, cls_books_pieces or cls_archive")
    splits = split_reviews(content, n_train, n_valid, n_test, split_seed)
    kept = without_held_out(unlabelled, splits)
    clean = without_held_out([review for review, _ in splits["train"]], splits)

    manifest = {
        "source": source,
        "synthetic": source == "embedded",
        "split_seed": split_seed,
        "own_split": n_train is None,
        "files": {address: sha256(path) for address, path in zip(addresses, files, strict=True)},
        "source_reviews": {name: len(rows) for name, rows in content.items()},
        "identical_reviews": overlaps(splits),
        "splits": {},
        "unlabelled": {"n": len(kept), "n_removed_as_held_out": len(unlabelled) - len(kept)},
        "pretraining": {"n": len(clean), "n_removed_as_held_out": len(splits["train"]) - len(clean)},
        **details,
    }
    with contextlib.ExitStack() as stack:

        def write(path, lines):
            """Write lines beside their final place; return their SHA-256."""
            text = "".join(f"{line}\n" for line in lines).encode("utf-8")
            with open(stack.enter_context(atomic_path(path)), "wb") as handle:
                handle.write(text)
            return hashlib.sha256(text).hexdigest()

        for split, review_path, label_path in zip(SPLITS, review_paths, label_paths, strict=True):
            manifest["splits"][split] = {
                "n": len(splits[split]),
                "n_positive": sum(label for _, label in splits[split]),
                "sha256_review": write(review_path, [review for review, _ in splits[split]]),
                "sha256_label": write(label_path, [label for _, label in splits[split]]),
            }
        manifest["unlabelled"]["sha256"] = write(unlabelled_path, kept)
        manifest["pretraining"]["sha256"] = write(pretraining_path, clean)
        write(manifest_path, [json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True)])
    for split in SPLITS:
        counts = manifest["splits"][split]
        print(f"{split}: {counts['n']} reviews, {counts['n_positive']} positive")
    removed = manifest["unlabelled"]["n_removed_as_held_out"]
    print(f"unlabelled: {len(kept)} reviews ({removed} identical to valid or test reviews left out)")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.params.source,  # noqa: F821
            list(snakemake.input.files),  # noqa: F821
            snakemake.params.addresses,  # noqa: F821
            list(snakemake.output.reviews),  # noqa: F821
            list(snakemake.output.labels),  # noqa: F821
            snakemake.output.unlabelled,  # noqa: F821
            snakemake.output.pretraining,  # noqa: F821
            snakemake.output.manifest,  # noqa: F821
            snakemake.params.n_train,  # noqa: F821
            snakemake.params.n_valid,  # noqa: F821
            snakemake.params.n_test,  # noqa: F821
            snakemake.params.split_seed,  # noqa: F821
            snakemake.params.embedded,  # noqa: F821
        )
