"""Write the Hugging Face tokenizer that gives the ids of fairseq's dictionary."""

from checkpoint.vocabulary import read_dictionary
from common.entry import run
from common.errors import StudyError
from common.files import atomic_path
from data.pieces import load_model


def save_tokenizer(model, dictionary, folder, max_positions):
    """Write a tokenizer that gives fairseq's ids, and check every entry of the dictionary.

    Args:
        model: `sentencepiece.bpe.model`.
        dictionary: `dict.txt`.
        folder: existing folder to write to.
        max_positions: tokens of an input, <s> and </s> among them.

    Raises:
        StudyError: the tokenizer's ids differ from fairseq's.
    """
    from transformers import AutoTokenizer, BartphoTokenizer

    # Both files are read before Transformers reads them, because its message on a broken one names no file.
    indices = read_dictionary(dictionary)
    load_model(model)
    tokenizer = BartphoTokenizer(
        vocab_file=model,
        monolingual_vocab_file=dictionary,
        model_max_length=max_positions,
        # The text "<s>" or "<mask>" in a review is cut into pieces, as in fairseq's input.
        split_special_tokens=True,
    )
    tokenizer.save_pretrained(folder)
    # The saved form counts, so it is read back as a user will.
    loaded = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    for symbol, index in indices.items():
        given = loaded.convert_tokens_to_ids(symbol)
        if given != index:
            raise StudyError(
                f"{dictionary}: symbol {symbol!r} is {index} in fairseq but {given} in Hugging Face's tokenizer: "
                "the dictionary has entries that it cannot represent (white space inside a symbol?)"
            )
    if loaded.convert_tokens_to_ids("\ue000 no piece") != indices["<unk>"]:
        raise StudyError(f"{dictionary}: an unknown piece does not get fairseq's <unk>")


def main(dictionary, pieces, folder, max_positions):
    """Write the tokenizer's folder.

    Args:
        dictionary: `dict.txt`.
        pieces: `sentencepiece.bpe.model`.
        folder: folder to write.
        max_positions: tokens of an input, <s> and </s> among them.

    Raises:
        StudyError: a file is broken, or the tokenizer's ids differ from fairseq's.
    """
    with atomic_path(folder) as temporary:
        save_tokenizer(pieces, dictionary, temporary, max_positions)


if __name__ == "__main__":
    run(main, snakemake)
