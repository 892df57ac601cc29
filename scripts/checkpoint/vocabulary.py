"""fairseq's dictionary file: one symbol a line, the four special symbols before them."""

import re

from common.errors import StudyError
from common.files import read_lines
from data.pieces import load_model

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
MASK = "<mask>"
# fairseq fills a dictionary up to a multiple of 8 with these.
FILLED = re.compile(r"madeupword\d+")
# The share of symbols that may be no pieces: characters that the piece model does not know enter a dictionary
# unchanged.
UNKNOWN = 0.1


def read_dictionary(path):
    """Return {symbol: id} as fairseq gives ids to a dictionary file, `<mask>` added.

    Raises:
        StudyError: the file begins with a byte order mark, a line is not `<symbol> <count>`, or a symbol occurs twice.

    Source: fairseq.data.Dictionary.add_from_file; the mask is added by fairseq's RoBERTa tasks.
    """
    symbols = list(SPECIALS)
    indices = {symbol: i for i, symbol in enumerate(symbols)}
    for number, line in enumerate(read_lines(path), start=1):
        if number == 1 and line.startswith("\ufeff"):
            # fairseq would read the mark as a part of the first symbol.
            raise StudyError(f"{path} begins with a byte order mark: an editor changed it; fetch or make it again")
        symbol, _, field = line.rstrip().rpartition(" ")
        overwrite = field == "#fairseq:overwrite"
        if overwrite:
            symbol, _, field = symbol.rpartition(" ")
        if not symbol or not re.fullmatch("-?[0-9]+", field):
            raise StudyError(f"{path} line {number}: {line[:60]!r} is not `<symbol> <count>`; fetch or make it again")
        if symbol in indices and not overwrite:
            raise StudyError(f"{path} line {number}: symbol {symbol!r} occurs twice; fetch or make it again")
        indices[symbol] = len(symbols)
        symbols.append(symbol)
    if MASK not in indices:
        indices[MASK] = len(symbols)
        symbols.append(MASK)
    if len(indices) != len(symbols):
        raise StudyError(f"{path} overwrites a symbol (#fairseq:overwrite): Hugging Face's tokenizer cannot do that")
    return indices


def check_vocabulary(dictionary, model):
    """Raise unless a dictionary and a piece model can be of one checkpoint, whose rows the dictionary's lines number.

    A dictionary is made from counts, the most frequent symbol first, or from the piece model, in its order. Of another
    order nothing else would tell: every symbol would get another's embedding.

    Args:
        dictionary: path of `dict.txt`.
        model: path of `sentencepiece.bpe.model`.

    Raises:
        StudyError: see `read_dictionary`; or the symbols are of another model, or in neither order.
    """
    read_dictionary(dictionary)
    processor = load_model(model)
    entries, foreign = [], []
    for number, line in enumerate(read_lines(dictionary), start=1):
        symbol, _, count = line.rstrip().removesuffix(" #fairseq:overwrite").rpartition(" ")
        if symbol == MASK or FILLED.fullmatch(symbol):
            continue
        piece = processor.piece_to_id(symbol)
        known = piece != processor.unk_id()
        entries.append((number, symbol, int(count), piece if known else None))
        if not known:
            foreign.append((number, symbol))
    if len(foreign) > UNKNOWN * len(entries):
        number, symbol = foreign[0]
        raise StudyError(
            f"{dictionary} line {number}: {symbol!r} is no piece of {model}, nor are {len(foreign) - 1} others of "
            f"{len(entries)}: the two are of different checkpoints; fetch or make them again together"
        )
    by_count = [(count, number) for number, _, count, _ in entries]
    by_piece = [(-piece, number) for number, _, _, piece in entries if piece is not None]
    # Equal counts determine no order.
    orders = [order for order in (by_count, by_piece) if len({key for key, _ in order}) > 1]
    breaks = [_first_rise(order) for order in orders]
    if breaks and all(breaks):
        raise StudyError(
            f"{dictionary} line {max(breaks)}: the symbols are neither in the order of falling counts nor in that of "
            f"{model}; the lines were shuffled, and each numbers an embedding: fetch or make it again"
        )


def _first_rise(order):
    """Return the line number of the first key that is above the one before it, or None; `order`: (key, line)."""
    return next((line for (before, _), (key, line) in zip(order, order[1:], strict=False) if key > before), None)
