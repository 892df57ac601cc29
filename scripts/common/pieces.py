"""Text to SentencePiece pieces, as fairseq's data are made."""

import sentencepiece

from common.errors import StudyError


def load_model(path):
    """Return a sentencepiece.SentencePieceProcessor.

    Raises:
        StudyError: the file is missing or is no SentencePiece model.
    """
    try:
        return sentencepiece.SentencePieceProcessor(model_file=path)
    except (OSError, RuntimeError) as error:
        raise StudyError(f"{path} is not a SentencePiece model: fetch or make the checkpoint again") from error


def encode(model, texts, limit=None):
    """Return texts as space-joined pieces, each cut to its first `limit` pieces.

    Args:
        model: sentencepiece.SentencePieceProcessor.
        texts: list of str.
        limit: most pieces of a text (max_positions - 2 leaves room for <s> and </s>); None: all.

    Returns:
        list[str]
    """
    return [" ".join(pieces[:limit]) for pieces in model.encode(list(texts), out_type=str)]
