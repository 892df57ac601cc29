"""A text's words as two texts are compared: without case, punctuation and forms of letters."""

import re
import unicodedata

_NOT_WORD = re.compile(r"[\W_]+")
# Scripts that put no spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Tai Le, New Tai Lue, Tai Tham, Balinese,
# Javanese, kana, Han. Each letter counts as a word there. Otherwise a whole text would be one word, and no run of words
# could show that two texts share some.
_UNSPACED = re.compile(
    "([\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\u3040-\u30ff\u3400-\u9fff"
    "\ua980-\ua9df\uf900-\ufaff\U00020000-\U0003ffff])"
)


# Invisible format characters: soft hyphens, zero-width spaces and joiners, marks of direction, variation selectors,
# fillers of Hangul and Khmer. Inside a word they would hide that two texts are the same.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e01ef\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)


def visible(text):
    """Return a text without the characters that show nothing."""
    return _INVISIBLE.sub("", text)


def folded(text):
    """Return a text in compatibility form, case folded, without characters that show nothing."""
    return unicodedata.normalize("NFKC", visible(text)).casefold()


def letters_of(text):
    """Return a text folded, with one space for everything but letters and digits, and none at its ends."""
    return _NOT_WORD.sub(" ", folded(text)).strip()


def split_words(letters):
    """Return the words of what `letters_of` returns; where a script has no spaces, its letters one by one."""
    return _UNSPACED.sub(r" \1 ", letters).split()


def words_of(text):
    """Return a text's words, folded and without punctuation."""
    return split_words(letters_of(text))


def length_unit(texts):
    """Return what a study's texts are measured in: `characters`, where most letters are of scripts without blanks.

    Args:
        texts: list of str, those of train.

    Returns:
        str: `words`, or `characters`, where more letters are of the scripts of `_UNSPACED` than of all others: split
        at blanks, such a text would be one word or a few.
    """
    n_unspaced = n_others = 0
    for text in map(folded, texts):
        n_unspaced += len(_UNSPACED.findall(text))
        n_others += sum(map(str.isalpha, _UNSPACED.sub("", text)))
    return "characters" if n_unspaced > n_others else "words"


def measure_lengths(texts, unit):
    """Return the length of each text: its words, which blanks separate, or its characters without blanks."""
    return [sum(map(len, text.split())) if unit == "characters" else len(text.split()) for text in texts]


def count_words(texts):
    """Return the words of all texts, which blanks separate; in scripts without blanks each letter counts as one.

    The first thousand texts decide, so that a corpus is not read twice.
    """
    unspaced = length_unit(texts[:1000]) == "characters"
    return sum(len(split_words(text) if unspaced else text.split()) for text in texts)


def unit_of(manifest):
    """Return the unit of lengths that a study's manifest records (`length_unit`); without a record, words."""
    return manifest.get("length_unit", "words")
