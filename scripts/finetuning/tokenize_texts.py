"""Turn a split's reviews into token ids with Hugging Face's tokenizer."""

import os

import tasks
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from data.reviews import POLARITY, pairs_of, read_split
from finetuning.settled_tokenizer import check_texts
from finetuning.token_ids import apart, with_segments, write_token_ids


def tokenize(tokenizer, texts, max_positions):
    """Return the ids of texts: <s>, at most max_positions - 2 pieces, </s>; in pairs, the longer text is cut first.

    Args:
        tokenizer: Hugging Face tokenizer.
        texts: list of str, or pairs with `data.reviews.BETWEEN` between their texts.
        max_positions: most tokens of an input, including <s> and </s>.

    Returns:
        list[list[int]]: see `finetuning.token_ids.SEGMENT`.
    """
    first, second = pairs_of(texts)
    if second is None:
        return tokenizer(first, truncation=True, max_length=max_positions)["input_ids"]
    encoded = tokenizer(first, second, truncation="longest_first", max_length=max_positions)
    segments = encoded.get("token_type_ids")
    return encoded["input_ids"] if segments is None else with_segments(encoded["input_ids"], segments)


def main(reviews, labels, tokenizer, token_ids, max_positions, classes=POLARITY, task=tasks.DEFAULT):
    """Write the token ids of one split.

    Args:
        reviews: text file, one review a line.
        labels: text file, a label a line.
        tokenizer: folder of Hugging Face's tokenizer.
        token_ids: `.npz` file to write (see `finetuning.token_ids`).
        max_positions: most tokens of an input; None: the limit in conversion.json beside the tokenizer.
        classes: names of the classes in order.
        task: kind of the labels.

    Raises:
        StudyError: see `data.reviews.read_split`; an id that the model has no vector for; or, in an external model, a
            text that gets other ids from the loaded tokenizer than from the model's file.
    """
    from transformers import AutoTokenizer

    n_ids = None
    if max_positions is None:
        record = read_json(os.path.join(tokenizer, "conversion.json"))
        max_positions, n_ids = record["max_positions"], record["n_ids"]
    texts, values = read_split(reviews, labels, classes, task)
    print(f"tokenizer({reviews!r}, truncation=True, max_length={max_positions})")
    loaded = AutoTokenizer.from_pretrained(tokenizer, local_files_only=True, trust_remote_code=False)
    if n_ids is not None:
        check_texts(loaded, tokenizer, *pairs_of(texts))
    sequences = tokenize(loaded, texts, max_positions)
    highest = max(int(apart(sequence)[0].max()) for sequence in sequences)
    if n_ids is not None and highest >= n_ids:
        raise StudyError(
            f"{tokenizer}: the tokenizer gives a text the id {highest}, and the model has vectors for {n_ids} ids; "
            "name a folder whose tokenizer and weights are of one model"
        )
    write_token_ids(token_ids, sequences, tasks.load(task).array(values))
    print(f"{len(texts)} reviews of {reviews}")


if __name__ == "__main__":
    run(main, snakemake)
