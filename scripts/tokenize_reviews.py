"""Turn a split's reviews into token ids with Hugging Face's tokenizer."""

from common.errors import StudyError
from common.files import read_lines
from common.rule import running
from common.token_ids import write_token_ids

LABELS = {"0": 0, "1": 1}


def tokenize(tokenizer, texts, max_positions):
    """Return the ids of texts: <s>, at most max_positions - 2 pieces, </s>.

    Args:
        tokenizer: Hugging Face tokenizer.
        texts: list of str.
        max_positions: most tokens of an input, <s> and </s> among them.

    Returns:
        list[list[int]]
    """
    return tokenizer(list(texts), truncation=True, max_length=max_positions)["input_ids"]


def main(reviews, labels, folder, token_ids, max_positions):
    """Write the token ids of one split.

    Args:
        reviews: text file, one review a line.
        labels: text file, `0` or `1` a line.
        folder: Hugging Face folder with the tokenizer.
        token_ids: `.npz` file to write (see `common.token_ids`).
        max_positions: most tokens of an input.

    Raises:
        StudyError: no review, a label that is neither 0 nor 1, or another number of lines.
    """
    from transformers import AutoTokenizer

    texts, values = read_lines(reviews), read_lines(labels)
    if not texts:
        raise StudyError(f"{reviews} is empty: there is nothing to tokenize")
    if len(texts) != len(values):
        raise StudyError(f"{reviews} has {len(texts)} reviews and {labels} has {len(values)} labels")
    for number, value in enumerate(values, start=1):
        if value not in LABELS:
            raise StudyError(f"{labels} line {number}: label {value!r} is neither 0 nor 1")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    write_token_ids(token_ids, tokenize(tokenizer, texts, max_positions), [LABELS[value] for value in values])
    print(f"{len(texts)} reviews of {reviews}")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        for paths in zip(snakemake.input.reviews, snakemake.input.labels, snakemake.output.token_ids, strict=True):  # noqa: F821
            main(*paths[:2], snakemake.input.tokenizer, paths[2], snakemake.params.max_positions)  # noqa: F821
