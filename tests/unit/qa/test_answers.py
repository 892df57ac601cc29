"""The measures of an answer: overlap with its reference, repetition."""

import pytest

from qa.answers import chrf, repeats_itself, rouge_l


def test_chrf_of_hand_counted_texts():
    # One bigram text against itself, and against nothing in common.
    assert chrf(["abc"], ["abc"])[0] == 100
    assert chrf(["abc"], ["xyz"])[0] == 0
    # "ab" and "abc" in runs of 1 and 2 (the answer has no longer ones): precision 1 and 1, recall 2/3 and 1/2;
    # means P = 1, R = 7/12; with recall counting twice F = 5·P·R / (4·P + R) = (35/12) / (55/12) = 7/11.
    assert chrf(["ab"], ["abc"])[0] == pytest.approx(100 * 7 / 11)
    assert "|nc:6|nw:0|" in chrf(["a"], ["a"])[1]


def test_rouge_l_of_hand_counted_texts():
    # "le colis part" against "le colis part demain": the subsequence has 3 words; P = 3/3, R = 3/4, F1 = 6/7.
    assert rouge_l(["Le colis part."], ["le colis part demain"]) == pytest.approx(6 / 7)
    # Order counts: of "b a" only one word stands in the order of "a b".
    assert rouge_l(["b a"], ["a b"]) == 0.5
    # The mean over answers; an empty one has nothing in common.
    assert rouge_l(["a", ""], ["a", "b"]) == 0.5


def test_accents_count_as_letters():
    # rouge-score's own tokenizer makes "t" of both.
    assert rouge_l(["été"], ["ôtè"]) == 0
    assert rouge_l(["Été"], ["été"]) == 1


@pytest.mark.parametrize(
    "text, repeats",
    [
        ("Vous pouvez suivre votre colis. Vous pouvez suivre votre commande.", True),  # four words twice
        ("Vous pouvez suivre le colis. Vous pouvez suivre votre commande.", False),  # three words twice
        ("oui oui oui oui oui", True),
        ("Oui oui oui oui", False),
        ("", False),
    ],
)
def test_repeats_itself(text, repeats):
    assert repeats_itself(text) is repeats
