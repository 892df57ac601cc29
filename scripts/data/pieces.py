"""Text to SentencePiece pieces and back."""

import sentencepiece

from common.errors import StudyError
from data.reviews import clean_review
from study.pointers import check_pointer


def load_model(path):
    """Return a sentencepiece.SentencePieceProcessor.

    Raises:
        StudyError: the file is missing or is no SentencePiece model.
    """
    check_pointer(path)
    try:
        return sentencepiece.SentencePieceProcessor(model_file=path)
    except (OSError, RuntimeError) as error:
        raise StudyError(f"{path} is not a SentencePiece model: fetch or make it again") from error


def encode(model, texts, limit=None):
    """Return texts as space-joined pieces, as fairseq reads them, each cut to its first `limit` pieces.

    Args:
        model: sentencepiece.SentencePieceProcessor.
        texts: list of str.
        limit: most pieces of a text (max_positions - 2 leaves room for <s> and </s>); None: all.

    Returns:
        list[str]
    """
    return [" ".join(pieces[:limit]) for pieces in model.encode(list(texts), out_type=str)]


def decode(model, lines, name):
    """Return the text behind lines of space-joined pieces, and how many of them encode back identically.

    Args:
        model: sentencepiece.SentencePieceProcessor that cut them.
        lines: pieces as the public mirror stores them.
        name: how messages call their file.

    Returns:
        tuple[list[str], int]: canonical texts and the number of identical re-encodings.

    Raises:
        StudyError: see `data.reviews.clean_review`.
    """
    texts, n_identical = [], 0
    for number, line in enumerate(lines, start=1):
        pieces = line.split(" ")
        text = model.decode(pieces)
        texts.append(clean_review(text, f"{name}, line {number}"))
        n_identical += model.encode(text, out_type=str) == pieces
    return texts, n_identical
