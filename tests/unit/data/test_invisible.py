"""Characters that show nothing hide no leak from the audit, and stay in the texts that training reads."""

import unicodedata

import pytest

from data.reviews import is_blank, normalise
from data.words import letters_of, words_of


@pytest.mark.parametrize(
    "sign", ["\u00ad", "\u200b", "\u200d", "\u2060", "\ufeff", "\u200e", "\ufe0f", "\u061c", "\u3164", "\u115f"]
)
def test_a_text_is_the_same_with_and_without_them(sign):
    hidden = f"une mai{sign}son{sign} {sign}bleue"
    assert letters_of(hidden) == letters_of("une maison bleue") == "une maison bleue"
    assert words_of(hidden) == ["une", "maison", "bleue"]


def test_every_format_character_is_left_out():
    letters = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"]
    assert len(letters) > 40 and not [hex(ord(sign)) for sign in letters if letters_of(f"a{sign}b") != "ab"]


def test_what_training_reads_keeps_them():
    assert normalise("mai\u00adson") == "mai\u00adson"


@pytest.mark.parametrize("text", ["\u3164\u3164", "\u115f", "\u2800 \u2800", "\u200b\u00ad"])
def test_a_text_of_invisible_characters_alone_is_blank(text):
    assert is_blank(text) and not is_blank(text + "a")
