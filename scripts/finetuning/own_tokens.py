"""Check that the tokenizer loaded by Transformers gives the ids that the model's files define.

Transformers 5 rebuilds many tokenizers from the class that tokenizer_config.json names and then takes only the
vocabulary of tokenizer.json. Words become letters, or a normal form is lost, without a message.
"""

import os

from tokenizers import Tokenizer

from common.errors import StudyError

CLASS = "PreTrainedTokenizerFast"
# These texts differ in normal forms, scripts and classes of characters.
SAMPLE = (
    "a b",
    "The quick brown fox, aged 12, didn't jump.",
    "ÉCOLE Straße İstanbul naïve coöperate",
    "un café déjà-vu, l'été à Noël",
    "e\u0301te\u0301 n\u0303andu\u0301",
    "ﬁn ½ ① ™ ﷺ",
    "ＦＵＬＬ ｗｉｄｔｈ １２３",
    "“quoted” ‘so’ … – — «là» `x` ''y''",
    "soft\u00adhyphen zero\u200bwidth e\u200dmoji",
    "😀 👍🏽 ❤️ ☂",
    "漢字かな カタカナ 한국어 ไทย",
    "Привет мир Ελληνικά עברית العربية हिन्दी",
    "9,000.50 $5 50% a_b c@d.e http://x.y/z?q=1 #tag",
    "xqzvkj Donaudampfschifffahrtsgesellschaft",
)
# Words of the vocabulary that are checked as well, and words per text.
N_WORDS, WORDS_A_TEXT = 400, 20
BATCH = 1000


class JsonReference:
    """tokenizer.json, read without the class that a configuration names."""

    def __init__(self, path):
        """Read the file, without its truncation and padding, which the study decides."""
        self.file, self.tokenizer = os.path.basename(path), Tokenizer.from_file(path)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        added = self.tokenizer.get_added_tokens_decoder().values()
        self.special = {token.content for token in added if token.special}
        # A file without a post-processor leaves special tokens to the class.
        self.frames = self.tokenizer.post_processor is not None
        self.words = sorted(self.tokenizer.get_vocab(with_added_tokens=False))

    def prepare(self, tokenizer):
        """Do nothing: the file says all."""

    def ids(self, first, second=None):
        """Return the ids of texts or pairs."""
        texts = first if second is None else list(zip(first, second, strict=True))
        return [found.ids for found in self.tokenizer.encode_batch(texts, add_special_tokens=self.frames)]

    def of_loaded(self, tokenizer, first, second=None):
        """Return the ids that the loaded tokenizer gives, to compare with `ids`."""
        return tokenizer(first, second, add_special_tokens=self.frames, truncation=False, verbose=False)["input_ids"]


def words_of(reference):
    """Return texts made of words of the vocabulary, spread over all of it."""
    words = [word.strip("▁Ġ#") for word in reference.words]
    words = [word for word in words if word.isalpha()]
    words = words[:: max(1, len(words) // N_WORDS)]
    return [" ".join(words[k : k + WORDS_A_TEXT]) for k in range(0, len(words), WORDS_A_TEXT)]


def first_difference(tokenizer, reference, first, second=None):
    """Return the first text (or pair's first text) that gets other ids, with both ids, or None.

    Special tokens that a text spells out are left out of the comparison.

    Args:
        tokenizer: as loaded.
        reference: a `JsonReference`, or a `PiecesReference` (`finetuning.sentencepiece_tokens`).
        first: texts.
        second: the other texts of pairs, or None.
    """
    reference.prepare(tokenizer)
    special = sorted({*reference.special, *tokenizer.all_special_tokens}, key=len, reverse=True)

    def bare(text):
        for token in special:
            text = text.replace(token, " ") if token in text else text
        return text

    for start in range(0, len(first), BATCH):
        parts = [list(map(bare, side[start : start + BATCH])) for side in (first, second) if side is not None]
        theirs = reference.ids(*parts)
        try:
            ours = reference.of_loaded(tokenizer, *parts)
        except Exception:  # noqa: BLE001 - tokenizers raises this very class, such as for an unknown token that it lacks
            return parts[0][0], [], theirs[0]
        for text, one, two in zip(parts[0], ours, theirs, strict=True):
            if list(one) != list(two):
                return text, list(one), list(two)
    return None


def refusal(tokenizer, reference, found, remedy):
    """Return the message for a text that gets other ids; see `first_difference`."""
    text, ours, theirs = found
    return (
        f"Transformers loads its tokenizer as {type(tokenizer).__name__}, which gives {text[:40]!r} {len(ours)} tokens "
        f"where {reference.file} gives {len(theirs)}, or other ones; {remedy}"
    )


def check_ids(tokenizer, folder):
    """Compare the ids that a loaded tokenizer gives `SAMPLE` with those of the tokenizer.json beside it.

    Special tokens around a text are left out: for a question-answering model they are requested one by one.

    Args:
        tokenizer: as loaded from the folder.
        folder: folder of a model.

    Raises:
        StudyError: a text gets other ids.
    """
    path = os.path.join(folder, "tokenizer.json")
    if not os.path.exists(path):
        return
    reference = JsonReference(path)
    reference.frames = False
    found = first_difference(tokenizer, reference, [*SAMPLE, *words_of(reference)])
    if found:
        remedy = f'write "tokenizer_class": "{CLASS}" into tokenizer_config.json'
        raise StudyError(f"{folder}: {refusal(tokenizer, reference, found, remedy)}")
