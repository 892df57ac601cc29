"""fairseq's dictionary file: one symbol a line, the four special symbols before them."""

import re

from common.errors import StudyError
from common.files import read_lines

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
MASK = "<mask>"


def read_dictionary(path):
    """Return {symbol: id} as fairseq gives ids to a dictionary file, `<mask>` added.

    Raises:
        StudyError: the file begins with a byte order mark, a line is not `<symbol> <count>`, or a symbol stands twice.

    Source: fairseq.data.Dictionary.add_from_file; the mask is added by fairseq's RoBERTa tasks.
    """
    symbols = list(SPECIALS)
    indices = {symbol: i for i, symbol in enumerate(symbols)}
    for number, line in enumerate(read_lines(path), start=1):
        if number == 1 and line.startswith("\ufeff"):
            # fairseq would take the mark for a part of the first symbol.
            raise StudyError(f"{path} begins with a byte order mark: an editor changed it; fetch or make it again")
        symbol, _, field = line.rstrip().rpartition(" ")
        overwrite = field == "#fairseq:overwrite"
        if overwrite:
            symbol, _, field = symbol.rpartition(" ")
        if not symbol or not re.fullmatch("-?[0-9]+", field):
            raise StudyError(f"{path} line {number}: {line[:60]!r} is not `<symbol> <count>`; fetch or make it again")
        if symbol in indices and not overwrite:
            raise StudyError(f"{path} line {number}: symbol {symbol!r} stands twice; fetch or make it again")
        indices[symbol] = len(symbols)
        symbols.append(symbol)
    if MASK not in indices:
        indices[MASK] = len(symbols)
        symbols.append(MASK)
    if len(indices) != len(symbols):
        raise StudyError(f"{path} overwrites a symbol (#fairseq:overwrite): Hugging Face's tokenizer cannot do that")
    return indices
