"""The synthetic reviews: seeded, balanced, distinct, and as hard as the study needs them."""

import unicodedata

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from data import embedded_grammar, embedded_reviews

N_LABELLED, N_TEST, N_UNLABELLED, N_TRAIN = 200, 1000, 1500, 100


@pytest.fixture(scope="module")
def reviews():
    return embedded_reviews.generate(1, N_LABELLED, N_TEST, N_UNLABELLED)


def all_texts(reviews):
    return [text for text, _ in reviews["labelled"] + reviews["test"]] + reviews["unlabelled"]


def opinions(name, labelled):
    """The opinions of the reviews of a set, found again by number (none of these was a duplicate)."""
    vocabulary = embedded_grammar.Vocabulary()
    written = [embedded_reviews.compose(1, name, i, label, 0, vocabulary) for i, (_, label) in enumerate(labelled)]
    assert sum(text == wanted for (text, _), (wanted, _) in zip(written, labelled, strict=True)) > 0.98 * len(labelled)
    return [slots for _, slots in written]


def test_sizes_and_balance(reviews):
    assert [len(reviews[name]) for name in ("labelled", "test", "unlabelled")] == [N_LABELLED, N_TEST, N_UNLABELLED]
    assert sum(label for _, label in reviews["labelled"]) == N_LABELLED // 2
    assert sum(label for _, label in reviews["test"]) == N_TEST // 2
    # Shuffled: no half is of one label.
    assert 0.4 < sum(label for _, label in reviews["test"][: N_TEST // 2]) / (N_TEST // 2) < 0.6
    assert [label for _, label in embedded_reviews.generate(1, 3, 0, 0)["labelled"]].count(1) == 2


def test_the_seed_decides_everything():
    first, again, other = (embedded_reviews.generate(seed, 20, 10, 30) for seed in (1, 1, 2))
    assert again == first != other


def test_the_labelled_and_test_sets_do_not_depend_on_the_unlabelled_one(reviews):
    small = embedded_reviews.generate(1, N_LABELLED, N_TEST, 0)
    assert (small["labelled"], small["test"]) == (reviews["labelled"], reviews["test"])


def test_no_review_occurs_twice(reviews):
    texts = all_texts(reviews)
    assert len(set(texts)) == len(texts)


def test_texts_are_clean_lines(reviews):
    for text in all_texts(reviews):
        assert text and text == " ".join(text.split(" ")).strip() and "  " not in text
        assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") or c == "\N{NO-BREAK SPACE}"]
        assert unicodedata.is_normalized("NFC", text)
        assert text[0].isupper() or text[0] == "«"
        # No mark of the vocabulary's notation and no unmade elision or contraction is left.
        assert not set("*{}/_|") & set(text)
        padded = f" {text.lower()} "
        for wrong in (
            " de le ",
            " de les ",
            " à le ",
            " à les ",
            " le a",
            " le é",
            " la é",
            " que un",
            " de un",
            " me a",
        ):
            assert wrong not in padded, text


def test_length(reviews):
    lengths = [len(text.split()) for text in all_texts(reviews)]
    assert 15 < sum(lengths) / len(lengths) < 45
    assert max(lengths) < 90


@pytest.mark.parametrize(
    ("word", "feminine"),
    [
        ("touchant", "touchante"),
        ("agréable", "agréable"),
        ("ennuyeux", "ennuyeuse"),
        ("vif", "vive"),
        ("artificiel", "artificielle"),
        ("manichéen", "manichéenne"),
        ("léger", "légère"),
        ("mou/molle", "molle"),
        ("raté", "ratée"),
    ],
)
def test_adjectives_agree(word, feminine):
    assert embedded_grammar.forms_of(word)[1] == feminine


def test_phrases_agree_at_their_mark():
    adjective = embedded_grammar.Adjective("cousu* de fil blanc!")
    assert adjective.forms == {"m": "cousu de fil blanc", "f": "cousue de fil blanc"}
    assert not adjective.gradable
    assert embedded_grammar.Adjective("sans surprise").forms["f"] == "sans surprise"


def test_prepositions_contract():
    assert [embedded_grammar.of_phrase(p) for p in ("le jardinage", "les chats", "la musique", "Anna Morel")] == [
        "du jardinage",
        "des chats",
        "de la musique",
        "d'Anna Morel",
    ]
    assert embedded_grammar.to_phrase("le jardinage") == "au jardinage"


def test_the_vocabulary_is_large_and_of_two_sides():
    vocabulary = embedded_grammar.Vocabulary()
    lists = [(field.polarity, words) for field in vocabulary.fields for words in field.words.values()]
    lists += [pair for phrases in vocabulary.phrases.values() for pair in phrases.items()]
    n = {side: sum(len(words.entries) for polarity, words in lists if polarity == side) for side in (1, -1)}
    assert n[1] + n[-1] > 700
    assert 0.45 < n[1] / (n[1] + n[-1]) < 0.55


def test_the_training_reviews_do_not_cover_the_polarity_words(reviews):
    train = {slot[0] for slots in opinions("labelled", reviews["labelled"][:N_TRAIN]) for slot in slots}
    test = [slot[0] for slots in opinions("test", reviews["test"]) for slot in slots]
    unseen = len(set(test) - train) / len(set(test))
    assert 0.4 < unseen < 0.75
    assert 0.25 < sum(word not in train for word in test) / len(test) < 0.65


def test_who_knows_the_meaning_is_right_mostly_but_not_always(reviews):
    right = 0.0
    for slots, (_, label) in zip(opinions("test", reviews["test"]), reviews["test"], strict=True):
        balance = sum(meant for _, _, meant in slots) * (1 if label else -1)
        right += 1.0 if balance > 0 else 0.5 if balance == 0 else 0.0
    assert 0.85 < right / N_TEST < 0.99


@pytest.mark.parametrize("seed", [1, 2])
def test_a_bag_of_words_is_neither_lost_nor_perfect(seed):
    reviews = embedded_reviews.generate(seed, N_LABELLED, N_TEST, 0)
    (train, train_labels), (test, test_labels) = (
        zip(*part, strict=True) for part in (reviews["labelled"][:N_TRAIN], reviews["test"])
    )
    vectorizer = TfidfVectorizer()
    model = LogisticRegression(max_iter=1000).fit(vectorizer.fit_transform(train), train_labels)
    assert 0.64 < model.score(vectorizer.transform(test), test_labels) < 0.88
