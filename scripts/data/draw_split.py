"""Draw a seed's own training and validation reviews from all labelled ones: stratified, seeded, test left alone."""

import tasks
from common.entry import run
from common.errors import StudyError
from common.files import read_json, read_lines, sha256, write_json, write_lines
from data.reviews import POLARITY, read_split
from data.stratified import draw, with_replacement

# The draws of seeds have another stream of random numbers than the study's own split.
STREAM = 47


def draw_reviews(labels, n_train, n_valid, seeds, n_classes, replace):
    """Return the numbers of a seed's (training, validation) reviews; no review is in both.

    Validation is drawn first, without replacement.

    Args:
        labels: strata of all labelled reviews, from 0.
        n_train, n_valid: sizes, together at most all reviews.
        seeds: integers >= 0 of the draw.
        n_classes: how many strata there are.
        replace: True: training reviews are drawn with replacement from those that are not in validation.
    """
    valid, train = draw(labels, [n_valid, n_train], seeds, n_classes)
    if replace:
        left = sorted(set(range(len(labels))) - set(valid))
        train = with_replacement(labels, left, n_train, seeds, n_classes)
    return train, valid


def main(
    pool, pool_labels, manifest, reviews, labels, record, seed: int, split_seed, how, classes=POLARITY,
    task=tasks.DEFAULT,
):  # fmt: skip
    """Write a seed's training and validation reviews, as many as the study's own split has.

    Args:
        pool, pool_labels: all labelled reviews beside test, and their labels.
        manifest: data/manifest.json, for the sizes.
        reviews, labels: files to write, of train and valid.
        record: JSON to write: sizes, class balance and hashes.
        seed: of the runs that read them.
        split_seed: `data.split_seed`.
        how: split, or bootstrap: training reviews with replacement.
        classes: names of the classes in order.
        task: kind of the labels.

    Raises:
        StudyError: a split would lack a class.
    """
    texts, values = read_split(pool, pool_labels, classes, task)
    kind, sizes = tasks.load(task), read_json(manifest)["splits"]
    strata, n_strata = kind.strata(values, len(classes))
    seeds = [split_seed, seed, STREAM]
    drawn = draw_reviews(strata, sizes["train"]["n"], sizes["valid"]["n"], seeds, n_strata, how == "bootstrap")
    lines, found = read_lines(pool_labels), {}
    for split, numbers, file, label_file in zip(("train", "valid"), drawn, reviews, labels, strict=True):
        its = [values[number] for number in numbers]
        missing = kind.lacking(its, len(classes)) if split in kind.NEEDED else []
        if missing:
            raise StudyError(
                f"finetuning.vary has {how}, and the {split} split of seed {seed} has no review of class "
                f"{classes[missing[0]]}: raise data.n_{split}, or take {how} out of finetuning.vary"
            )
        write_lines(file, [texts[number] for number in numbers])
        write_lines(label_file, [lines[number] for number in numbers])
        found[split] = {"n": len(numbers), "n_distinct": len(set(numbers)), **kind.counts(its, len(classes))}
        found[split] |= {"sha256_review": sha256(file), "sha256_label": sha256(label_file)}
    write_json(record, {"seed": seed, "draw": how, "split_seed": split_seed, "n_pool": len(texts), "splits": found})
    print(f"{found['train']['n']} training and {found['valid']['n']} validation reviews of {len(texts)}")


if __name__ == "__main__":
    run(main, snakemake)
