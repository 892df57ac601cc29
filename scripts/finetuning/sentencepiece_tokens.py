"""The pieces of a text by its SentencePiece model, for external models without tokenizer.json."""

import os

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

# A family puts these ids before those of its SentencePiece model.
SHIFTS = {"xlm-roberta": 1, "xlm-roberta-xl": 1, "xmod": 1, "camembert": 4, "deberta-v2": 0, "albert": 0}
SHIFTS |= {"big_bird": 0, "rembert": 0, "xlnet": 0}
UNKNOWN = None


class PiecesReference:
    """A SentencePiece model without tokenizer.json: its pieces, with each run of unknown ones as one."""

    special, frames = frozenset(), False

    def __init__(self, path, model_type):
        """Read the model.

        Args:
            path: path of the file.
            model_type: model type of config.json.
        """
        import sentencepiece

        self.file, self.shift, self.steps = os.path.basename(path), SHIFTS.get(model_type), None
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=path)
        with open(path, "rb") as handle:
            self.proto = handle.read()
        self.words = [self.pieces.id_to_piece(k) for k in range(self.pieces.get_piece_size())]

    def ids(self, first, second=None):
        """Return the numbers of texts' pieces; for pairs, those of both texts in sequence."""
        texts = first if second is None else [f"{a} {b}" for a, b in zip(first, second, strict=True)]
        texts = [normalizers.Sequence(self.steps or []).normalize_str(text) for text in texts]
        unknown = self.pieces.unk_id()
        found = self.pieces.encode(texts)
        return [once([UNKNOWN if number == unknown else number for number in each]) for each in found]

    def of_loaded(self, tokenizer, first, second=None):
        """Return the numbers that the loaded tokenizer's pieces have in the SentencePiece model."""
        texts = first if second is None else [f"{a} {b}" for a, b in zip(first, second, strict=True)]
        rows = tokenizer(texts, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        return [once([self.number(tokenizer, number) for number in row]) for row in rows]

    def prepare(self, tokenizer):
        """Apply what the model's class does to a text before cutting it: lower case, no accents, one form of quotes.

        Args:
            tokenizer: as loaded first, of the model's class.
        """
        if self.steps is not None:
            return
        self.steps = []
        if hasattr(tokenizer, "keep_accents"):
            self.steps += [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
            self.steps += [] if tokenizer.keep_accents else [normalizers.NFKD(), normalizers.StripAccents()]
        if getattr(tokenizer, "do_lower_case", False):
            self.steps.append(normalizers.Lowercase())

    def number(self, tokenizer, number):
        """Return a piece's number by its loaded id, less the family's shift, or by name where no shift is known."""
        if number == tokenizer.unk_token_id:
            return UNKNOWN
        if self.shift is not None:
            return number - self.shift
        return self.pieces.piece_to_id(tokenizer.convert_ids_to_tokens(number))


def once(numbers):
    """Return numbers with each run of unknown pieces as one."""
    return [n for k, n in enumerate(numbers) if n is not UNKNOWN or k == 0 or numbers[k - 1] is not UNKNOWN]


def with_pieces(tokenizer, reference):
    """Return a copy of a tokenizer's backend that brings texts into the normal form of its SentencePiece model."""
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(reference.proto)
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    steps = list(reference.steps)
    if proto.normalizer_spec.precompiled_charsmap:
        steps.append(normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap))
    if proto.normalizer_spec.remove_extra_whitespaces:
        steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    backend.normalizer = normalizers.Sequence(steps)
    scheme = "always" if proto.normalizer_spec.add_dummy_prefix else "never"
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme)
    return backend
