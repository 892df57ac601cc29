"""Read the question/answer pairs and keep some of them out of training."""

import hashlib
import json
import os

from common.errors import StudyError
from common.files import sha256, write_json, write_lines
from common.qa import clean_pairs, read_pairs, split_pairs
from common.rule import running


def load(source, path, url):
    """Return the pairs and what they came from.

    Args:
        source: "embedded", "url" or "file".
        path: the JSON file, for "url" (as retrieved) and "file".
        url: the file's address, or None.

    Returns:
        tuple: list of pairs; dict {name or address: sha256}.

    Raises:
        StudyError: the source is unknown or its file is bad.
    """
    if source == "embedded":
        from common.embedded_faq import pairs  # only this source needs it

        written = clean_pairs(pairs(), "the embedded pairs")
        text = json.dumps(written, ensure_ascii=False, sort_keys=True)
        return written, {"common/embedded_faq.py: pairs()": hashlib.sha256(text.encode()).hexdigest()}
    if source not in ("url", "file"):
        raise StudyError(f"qa.data.source: {source!r} is not one of embedded, url, file")
    if not path:
        raise StudyError(f"qa.data.{source}: it must name the file of the pairs, since qa.data.source is {source}")
    return read_pairs(path), {url if source == "url" else os.path.basename(path): sha256(path)}


def main(source, path, url, train_path, heldout_path, manifest_path, n_heldout, split_seed):
    """Write both sides of the split as JSON Lines, and a manifest.

    Args:
        source: "embedded", "url" or "file".
        path: the JSON file, or None.
        url: its address, or None.
        train_path: JSON Lines to write: id, question, answer.
        heldout_path: likewise.
        manifest_path: JSON to write: source, synthetic, split_seed, files, splits, n_duplicates.
        n_heldout: pairs kept out of training.
        split_seed: seed of the draw.

    Raises:
        StudyError: bad pairs, or too few.
    """
    pairs, files = load(source, path, url)
    train, heldout = split_pairs(pairs, n_heldout, split_seed)
    splits = {}
    for name, side, destination in (("train", train, train_path), ("heldout", heldout, heldout_path)):
        write_lines(destination, [json.dumps(pair, ensure_ascii=False) for pair in side])
        splits[name] = {"n": len(side), "sha256": sha256(destination)}
    write_json(
        manifest_path,
        {
            "source": source,
            "synthetic": source == "embedded",
            "split_seed": split_seed,
            "files": files,
            "splits": splits,
            "n_duplicates": len(pairs) - len(train) - len(heldout),
        },
    )
    print(f"{len(train)} pairs to train on, {len(heldout)} kept out")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.params.source,  # noqa: F821
            next(iter(snakemake.input.pairs), None),  # noqa: F821
            snakemake.params.url,  # noqa: F821
            snakemake.output.train,  # noqa: F821
            snakemake.output.heldout,  # noqa: F821
            snakemake.output.manifest,  # noqa: F821
            snakemake.params.n_heldout,  # noqa: F821
            snakemake.params.split_seed,  # noqa: F821
        )
