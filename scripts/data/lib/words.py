"""A text's words as two texts are compared: without case, punctuation and forms of letters."""

import re
import unicodedata

_NOT_WORD = re.compile(r"[\W_]+")
# Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han. Each letter counts as a word there:
# else a whole text would be one, and no run of words could show what two texts share.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)


def folded(text):
    """Return a text in compatibility form, case folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def letters_of(text):
    """Return a text folded, with one space for everything but letters and digits, and none at its ends."""
    return _NOT_WORD.sub(" ", folded(text)).strip()


def split_words(letters):
    """Return the words of what `letters_of` returns; where a script has no spaces, its letters one by one."""
    return _UNSPACED.sub(r" \1 ", letters).split()


def words_of(text):
    """Return a text's words, folded and without punctuation."""
    return split_words(letters_of(text))
