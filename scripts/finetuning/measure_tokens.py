"""Measure the texts' lengths in tokens of an external model, and how many it cuts."""

import os

from common.entry import run
from common.files import read_json, read_lines, write_json
from data.lengths import describe_lengths
from data.reviews import pairs_of
from finetuning.encoders import load_tokenizer, part_read


def measure(tokenizer, texts, limit):
    """Return the texts' lengths in tokens, special ones left out: see `data.lengths.describe_lengths`.

    Args:
        tokenizer: Hugging Face tokenizer.
        texts: list of str, not empty, or of pairs (see `data.reviews.pairs_of`).
        limit: tokens of a text that the model reads.
    """
    first, second = pairs_of(texts)
    ids = tokenizer(first, second, add_special_tokens=False, verbose=False)["input_ids"]
    # A tokenizer of bytes knows every text, and may have no unknown token.
    n_unknown = sum(number == tokenizer.unk_token_id for text in ids for number in text)
    return describe_lengths([len(text) for text in ids], n_unknown, limit)


def main(reviews, unlabelled, folder, lengths):
    """Write the lengths of all splits.

    Args:
        reviews: text files of train, valid and test, one text a line.
        unlabelled: texts without labels (may be empty).
        folder: what `finetuning.take_model` wrote; it has the model's name.
        lengths: JSON to write: model, limit (tokens of a text that it reads, special ones left out), reads (which:
            "first" or "last"), splits ({split: see `measure`}, empty ones left out).

    Raises:
        StudyError: the model has no tokenizer.
    """
    tokenizer = load_tokenizer(folder)
    texts = {os.path.basename(path).partition(".")[0]: read_lines(path) for path in [*reviews, unlabelled]}
    special = tokenizer.num_special_tokens_to_add(pair=pairs_of(texts["test"])[1] is not None)
    taken = read_json(os.path.join(folder, "conversion.json"))
    limit = taken["max_positions"] - special
    splits = {split: measure(tokenizer, lines, limit) for split, lines in texts.items() if lines}
    known = {"model": os.path.basename(os.path.normpath(folder)), "limit": limit, "reads": part_read(taken)}
    write_json(lengths, known | {"splits": splits})
    for split, found in splits.items():
        print(f"{split}: {found['n']} texts, {found['mean']:.1f} tokens on average, {found['n_truncated']} cut")


if __name__ == "__main__":
    run(main, snakemake)
