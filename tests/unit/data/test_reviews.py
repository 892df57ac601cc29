"""The canonical text and the readers of reviews, labels and archive items."""

import sys
import unicodedata

import pytest

from common.errors import StudyError
from data import reviews
from data.reviews import is_blank, normalise, pair, parse_items, parse_labels, parse_reviews, read_split


def test_normalise():
    assert normalise("\ufeff  Très\u00a0bon\r\n livre\t!\u2028Oui.\x00\x85 ") == "Très bon livre ! Oui."


def test_normalise_leaves_everything_else_alone():
    text = "e\u0301té ﬁn « œuvre » 100 % \u200b😀"  # decomposed, ligature, zero-width space, emoji
    assert normalise(text) == text


def test_every_blank_of_unicode_becomes_a_space():
    mark = "\ue000"
    characters = [chr(code) for code in range(sys.maxunicode + 1) if chr(code) != mark]
    texts = normalise(mark.join(f"a{character}b" for character in characters)).split(mark)
    for character, text in zip(characters, texts, strict=True):
        blank = unicodedata.category(character) in ("Cc", "Zs", "Zl", "Zp")
        assert text == ("a b" if blank else f"a{character}b"), hex(ord(character))


def test_is_blank():
    assert is_blank("") and is_blank("\u200b\ufeff") and not is_blank("\u200ba")


def test_files_of_other_systems_read_the_same():
    unix = "Bon.\nTrès mauvais.\n".encode()
    for content in (unix, unix[:-1], b"\xef\xbb\xbf" + unix, unix.replace(b"\n", b"\r\n")):
        assert parse_reviews(content, "f") == ["Bon.", "Très mauvais."]
    for content in (b"0\n1\n", b"0\n1", b"\xef\xbb\xbf0\r\n1\r\n", b" 0 \n1\t\n"):
        assert parse_labels(content, "f") == [0, 1]


def test_line_separators_do_not_cut_a_review():
    assert parse_reviews("un\u2028deux\x0btrois\x0cquatre\x85cinq\n".encode(), "f") == ["un deux trois quatre cinq"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "train.review is empty"),
        (b"\xef\xbb\xbf\r\n\n", "train.review is empty"),
        (b"bon\n\nmauvais\n", "train.review, line 2: the review is blank"),
        (b"bon\nmauvais\n\n", "train.review, line 3: the review is blank"),
        ("bon\n\u200b \u00a0\n".encode(), "train.review, line 2: the review is blank"),
        (b"bon\ntr\xe8s bon\n", r"train.review, line 2: character 3 \(byte 0xe8"),
    ],
)
def test_faulty_reviews(content, fault):
    with pytest.raises(StudyError, match=fault):
        parse_reviews(content, "train.review")


def test_a_review_without_end(monkeypatch):
    monkeypatch.setattr(reviews, "REVIEW_LIMIT", 10)
    assert parse_reviews(b"a" * 10, "f") == ["a" * 10]
    with pytest.raises(StudyError, match="f, line 2: a review of 11 characters"):
        parse_reviews(b"bon\n" + b"a" * 11, "f")


@pytest.mark.parametrize("label", ["2", "-1", "positif", "", "0 1", "1.0", "٠", "é"])
def test_faulty_labels(label):
    with pytest.raises(StudyError, match=r"train\.label, line 2: label .* is neither 0 \(negative\) nor 1"):
        parse_labels(f"0\n{label}\n1\n".encode(), "train.label")


def test_pair():
    assert pair(["a", "b"], [0, 1], "r", "l") == [("a", 0), ("b", 1)]
    with pytest.raises(StudyError, match="r has 2 reviews but l has 3 labels"):
        pair(["a", "b"], [0, 1, 1], "r", "l")
    with pytest.raises(StudyError, match="l has no review of class 0"):
        pair(["a", "b"], [1, 1], "r", "l")


def test_a_written_split_is_read_back(tmp_path):
    review, label = tmp_path / "test.review", tmp_path / "test.label"
    review.write_text("Bon.\nNul.\n")
    label.write_text("1\n0\n")
    assert read_split(review, label) == (["Bon.", "Nul."], [1, 0])
    label.write_text("1\n1\n")
    with pytest.raises(StudyError, match="test.label has no review of class 0"):
        read_split(review, label)
    label.unlink()
    with pytest.raises(StudyError, match="test.label is missing"):
        read_split(review, label)


def item(rating="4.0", text="Bon livre."):
    """One item as the archive writes it; the title stands after the text, and has a <text>-free summary."""
    return (
        f"<item><category>books</category><rating>{rating}</rating><asin>2070360423</asin><date>1 mai 2005</date>"
        f"<url>http://www.amazon.fr/review?a=1&amp;b=2</url><text>{text}</text><title>Un titre</title>"
        "<summary>Un résumé</summary><reviewer>X</reviewer></item>\n\n"
    )


def archive(*items):
    return ("<items>\n" + "".join(items) + "</items>\n").encode()


def test_items():
    content = archive(
        item("5.0", "Superbe &amp; drôle,\n\nà lire &lt;vite&gt; !"),
        item("1.0", "<![CDATA[Nul & <long>]]>"),
        item("3.0", "Moyen."),
        item("4.0", "Bon &#233;crit"),
        item("2", "Bof"),
    )
    assert parse_items(content, "f") == [
        ("Superbe & drôle, à lire <vite> !", 1),
        ("Nul & <long>", 0),
        ("Bon écrit", 1),
        ("Bof", 0),
    ]


def test_unlabelled_items_keep_every_rating_and_pass_over_blanks():
    content = archive(item("3.0", "Moyen."), item("none", "Sans note"), item("5.0", " \n "))
    assert parse_items(content, "f", labelled=False) == [("Moyen.", None), ("Sans note", None)]


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        (item("quatre"), "no <rating>"),
        (item("4.0").replace("rating>", "note>"), "no <rating>"),
        (item("7.0"), "7.0 stars"),
        (item("4.0").replace("text>", "body>"), "no <text>"),
        (item("4.0", " "), "blank"),
    ],
)
def test_faulty_items(second, fault):
    # The first line is <items>, the first item has one line and a blank one: the second stands on line 4.
    with pytest.raises(StudyError, match=fault) as caught:
        parse_items(archive(item(), second), "fr/books/train.review")
    assert "fr/books/train.review, item at line 4" in str(caught.value)


def test_something_else_than_items():
    with pytest.raises(StudyError, match="no reviews"):
        parse_items(b"bon\nmauvais\n", "f")
    with pytest.raises(StudyError, match="line 1: .* is not UTF-8"):
        parse_items(b"<item>\xe8</item>", "f")
