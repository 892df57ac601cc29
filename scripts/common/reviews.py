"""Reviews and labels: the canonical text, the readers of the sources' formats, and their faults."""

import html
import re
import unicodedata

from common.errors import StudyError

# No review of the study comes near it; beyond it the file is something else.
REVIEW_LIMIT = 1_000_000
SPLITS = ("train", "valid", "test")
PIECES_MODEL = "sentencepiece.french.model"
PIECES_FILES = tuple(f"cls-books/{split}.{kind}" for split in SPLITS for kind in ("review.spm", "label"))
ZIP_FILES = tuple(f"cls.books/{split}.{kind}" for split in SPLITS for kind in ("review", "label"))
ARCHIVE_FILES = tuple(f"fr/books/{name}.review" for name in ("train", "test", "unlabeled"))
# `\s` holds every Unicode space and line separator (Zs, Zl, Zp); the rest is category Cc.
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def normalise(text):
    """Return the canonical form: every run of whitespace or control characters one space, none at the ends.

    A byte order mark at the start goes. No Unicode normal form is applied: SentencePiece applies its own.
    """
    return _BLANKS.sub(" ", text.removeprefix("\ufeff")).strip(" ")


def is_blank(text):
    """Say whether a canonical text shows nothing: empty, or invisible format characters only."""
    return all(unicodedata.category(character) in ("Cf", "Zs") for character in text)


def decode_lines(content, name):
    """Return the lines of a UTF-8 file, split at the line feed only; byte order mark and CR are removed.

    Args:
        content: the file's bytes.
        name: how messages call the file.

    Raises:
        StudyError: empty, or not UTF-8 (with the line).
    """
    if not content.strip(b"\xef\xbb\xbf\r\n\t "):
        raise StudyError(f"{name} is empty")
    text = decode(content, name).removesuffix("\n")
    return [line.removesuffix("\r") for line in text.split("\n")]


def decode(content, name):
    """Return UTF-8 bytes as text without a byte order mark.

    Raises:
        StudyError: not UTF-8; the message names the line.
    """
    nul = content.find(b"\0")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise StudyError(f"{name}, line {line}: not UTF-8 text; convert the file, for instance with iconv") from error
    if nul >= 0:
        # Plain letters in UTF-16 are valid UTF-8, with a NUL at every other place.
        line = content.count(b"\n", 0, nul) + 1
        raise StudyError(f"{name}, line {line}: a NUL character, so no UTF-8 text (UTF-16?); convert it with iconv")
    return text.removeprefix("\ufeff")


def clean_review(text, place):
    """Return the canonical form of one review.

    Args:
        text: the review as it was found.
        place: file and line, for messages.

    Raises:
        StudyError: blank, or longer than `REVIEW_LIMIT` characters.
    """
    if len(text) > REVIEW_LIMIT:
        raise StudyError(f"{place}: a review of {len(text)} characters (at most {REVIEW_LIMIT}): one review a line?")
    text = normalise(text)
    if is_blank(text):
        raise StudyError(f"{place}: the review is blank; remove it together with its label")
    return text


def parse_reviews(content, name):
    """Return the canonical reviews of a file with one review a line.

    Raises:
        StudyError: see `decode_lines` and `clean_review`.
    """
    return [clean_review(line, f"{name}, line {n}") for n, line in enumerate(decode_lines(content, name), start=1)]


def parse_labels(content, name):
    """Return the labels, ints 0 or 1, of a file with one label a line.

    Raises:
        StudyError: a line is neither `0` nor `1`.
    """
    labels = []
    for number, line in enumerate(decode_lines(content, name), start=1):
        if line.strip() not in ("0", "1"):
            raise StudyError(f"{name}, line {number}: label {line[:40]!r} is neither 0 (negative) nor 1 (positive)")
        labels.append(int(line))
    return labels


def pair(reviews, labels, review_name, label_name):
    """Return the split as a list of (review, label).

    Raises:
        StudyError: different numbers of reviews and labels, or a class is missing.
    """
    if len(reviews) != len(labels):
        raise StudyError(
            f"{review_name} has {len(reviews)} reviews but {label_name} has {len(labels)} labels: they must have one "
            "line each per review"
        )
    for label in (0, 1):
        if label not in labels:
            raise StudyError(f"{label_name} has no review of class {label}: both classes are needed")
    return list(zip(reviews, labels, strict=True))


def decode_pieces(lines, model, name):
    """Return the text behind lines of space-separated SentencePiece pieces, and how many encode back identically.

    Args:
        lines: pieces as the public mirror stores them.
        model: bytes of the SentencePiece model that cut them.
        name: how messages call the file.

    Returns:
        tuple[list[str], int]: canonical texts and the number of identical re-encodings.

    Raises:
        StudyError: the model cannot be read, or a line is blank or longer than `REVIEW_LIMIT`.
    """
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except (RuntimeError, OSError) as error:
        raise StudyError(f"{PIECES_MODEL} is not a SentencePiece model: download it again") from error
    texts, identical = [], 0
    for number, line in enumerate(lines, start=1):
        pieces = line.split(" ")
        text = processor.decode(pieces)
        texts.append(clean_review(text, f"{name}, line {number}"))
        identical += processor.encode(text, out_type=str) == pieces
    return texts, identical


def parse_items(content, name, labelled=True):
    """Return the reviews of one file of the complete CLS archive.

    The files are XML with one `<item>` a review; `<rating>` holds 1.0 to 5.0, `<text>` the body. Fields are
    found one by one, since some items of the archive are not well-formed. A rating above 3 is positive;
    reviews with 3 stars are left out.

    Args:
        content: the file's bytes.
        name: how messages call the file.
        labelled: whether ratings matter. If not, every review is kept, its rating is not read, and blank
            ones are passed over.

    Returns:
        list[tuple[str, int | None]]: canonical review and label (None when not `labelled`).

    Raises:
        StudyError: no items, or an item without rating or text; the message names the line.

    Source: Prettenhofer and Stein (2010), the archive's README; FLUE's extract_split_cls.py for the layout.
    """
    text = decode(content, name)
    rows = []
    position, line = 0, 1
    for item in re.finditer(r"<item>(.*?)</item>", text, re.DOTALL):
        line += text.count("\n", position, item.start())
        position = item.start()
        place = f"{name}, item at line {line}"
        body = re.search(r"<text>(.*?)</text>", item[1], re.DOTALL)
        if body is None:
            raise StudyError(f"{place}: no <text> element")
        review = re.sub(r"<!\[CDATA\[(.*?)\]\]>", lambda match: html.escape(match[1]), body[1], flags=re.DOTALL)
        try:
            review = html.unescape(review)
        except ValueError as error:  # Python reads no number of more than 4300 digits
            raise StudyError(f"{place}: a character reference (&#...;) that is no character; correct it") from error
        if not labelled:
            review = normalise(review)
            if not is_blank(review) and len(review) <= REVIEW_LIMIT:
                rows.append((review, None))
            continue
        rating = re.search(r"<rating>\s*([0-9.]+)\s*</rating>", item[1])
        try:
            stars = float(rating[1])
        except (TypeError, ValueError) as error:
            raise StudyError(f"{place}: no <rating> element with a number of stars") from error
        if not 1 <= stars <= 5:
            raise StudyError(f"{place}: a rating of {rating[1]} stars (1 to 5 expected)")
        if stars != 3:
            rows.append((clean_review(review, place), int(stars > 3)))
    if not rows:
        raise StudyError(f"{name} holds no reviews (<item> elements): is it a file of the CLS archive?")
    return rows
