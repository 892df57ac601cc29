"""The invented shop: pairs are whole and distinct, the corpus is seeded and quotes none of them."""

import hashlib
import unicodedata

import pytest

from qa import embedded_faq


def digest(texts):
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def assert_clean(text):
    assert text == text.strip() and text
    assert "  " not in text
    assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
    assert unicodedata.is_normalized("NFC", text)
    # Nothing of the grammar is left over.
    assert not set("<>|*{}") & set(text)


def test_pairs_are_about_eighty_and_distinct():
    pairs = embedded_faq.pairs()
    assert 78 <= len(pairs) <= 90
    assert len({pair["question"] for pair in pairs}) == len(pairs)
    assert len({pair["answer"] for pair in pairs}) == len(pairs)


def test_pairs_have_the_two_keys_and_clean_text():
    for pair in embedded_faq.pairs():
        assert set(pair) == {"question", "answer"}
        assert_clean(pair["question"])
        assert_clean(pair["answer"])
        assert pair["answer"].endswith((".", "!"))


@pytest.mark.parametrize("word", ["livr", "retour", "payer", "compte", "carte cadeau", "taille", "garanti"])
def test_every_theme_is_asked_about(word):
    assert any(word in pair["question"].lower() for pair in embedded_faq.pairs())


def test_corpus_depends_on_the_seed_alone():
    assert digest(embedded_faq.corpus(1, 300)) == digest(embedded_faq.corpus(1, 300))
    assert digest(embedded_faq.corpus(1, 300)) != digest(embedded_faq.corpus(2, 300))
    # A longer corpus begins with the shorter one.
    assert embedded_faq.corpus(1, 300)[:100] == embedded_faq.corpus(1, 100)


def test_corpus_is_clean_and_varied():
    texts = embedded_faq.corpus(1, 2000)
    for text in texts:
        assert_clean(text)
        assert text[0].isupper() or text[0] in "«"
        assert text.endswith((".", "?"))
        for wrong in (" de un", " de a", " de le ", " de les ", " à le ", " que un"):
            assert wrong not in text
    assert len(set(texts)) > 1400


def test_corpus_quotes_no_pair():
    texts = " ".join(embedded_faq.corpus(1, 3000))
    assert not [pair for pair in embedded_faq.pairs() if pair["answer"] in texts]


def test_every_rule_of_the_grammar_is_reached():
    reached, waiting = set(), ["text"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [part.split(">")[0] for part in embedded_faq.GRAMMAR[name].split("<")[1:]]
    assert reached == set(embedded_faq.GRAMMAR)
