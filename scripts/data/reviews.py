"""Reviews and labels: the canonical text, the readers of the sources' formats, and their faults."""

import html
import re
import unicodedata

import tasks
from common.errors import StudyError
from common.files import read_lines, reading
from data.words import visible

# No review of the study comes near this length; a longer line means another kind of file.
REVIEW_LIMIT = 1_000_000
SPLITS = ("train", "valid", "test")
# The classes of the reviews, and of the sources that the workflow knows.
POLARITY = ("negative", "positive")
ZIP_FILES = tuple(f"cls.books/{split}.{kind}" for split in SPLITS for kind in ("review", "label"))
ARCHIVE_FILES = tuple(f"fr/books/{name}.review" for name in ("train", "test", "unlabeled"))
# `\s` holds every Unicode space and line separator (Zs, Zl, Zp); the rest is category Cc.
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


# The separator of the two texts of a pair, which no canonical text contains.
BETWEEN = "\t"


def pairs_of(lines):
    """Return what a tokenizer takes of a split's lines: (texts, None), or of pairs (first texts, second texts)."""
    first, found, second = zip(*(line.partition(BETWEEN) for line in lines), strict=True)
    return list(first), list(second) if any(found) else None


def noun_of(manifest):
    """Return what people read that the study's texts are: {one, many}, of the manifest's source."""
    one = "review" if manifest["source"] != "table" else "pair" if manifest.get("pairs") else "text"
    return {"one": one, "many": f"{one}s"}


def normalise(text):
    """Return the canonical form: every run of whitespace or control characters one space, none at the ends.

    A byte order mark at the start goes. No Unicode normal form is applied: SentencePiece applies its own.
    """
    return _BLANKS.sub(" ", text.removeprefix("\ufeff")).strip(" ")


def is_blank(text):
    """Return whether a canonical text shows nothing: empty, or invisible characters only."""
    return all(unicodedata.category(character) in ("Cf", "Zs") for character in visible(text))


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
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise StudyError(f"{name}: this is UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8")
    nul = content.find(b"\0")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(f"{name}, {foreign_bytes(content, error.start)}") from error
    if nul >= 0:
        # Plain letters in UTF-16 are valid UTF-8, with a NUL in every other place.
        line = content.count(b"\n", 0, nul) + 1
        raise StudyError(f"{name}, line {line}: a NUL character, so no UTF-8 text (UTF-16?); convert it with iconv")
    return text.removeprefix("\ufeff")


# The first byte of a whole UTF-8 character of several bytes.
SEVERAL_BYTES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
# Windows-1252 has characters where Latin-1 has control characters, which no text contains.
WINDOWS_1252 = re.compile(rb"[\x80-\x9f]")


def foreign_bytes(content, start):
    """Return where a file is not UTF-8 and what to do, in words: `line 3: …`.

    A file with whole UTF-8 characters elsewhere is UTF-8 with a spoilt place, and converting it would spoil the rest. A
    file of another alphabet has an encoding that its bytes do not tell.

    Args:
        content: the file's bytes.
        start: place of the first byte that is no UTF-8.
    """
    line = content.count(b"\n", 0, start) + 1
    place = start - (content.rfind(b"\n", 0, start) + 1)
    before = content[start - place : start].decode("utf-8")
    there = f"line {line}: character {len(before) + 1} (byte 0x{content[start]:02x}, after {before[-20:]!r})"
    whole, spoilt = len(SEVERAL_BYTES.findall(content)), 0
    rest = content
    while True:
        try:
            rest.decode("utf-8")
            break
        except UnicodeDecodeError as error:
            spoilt, rest = spoilt + 1, rest[error.start + 1 :]
            if spoilt > whole:
                break
    if whole >= spoilt:
        more = f", like {spoilt - 1} more" if spoilt > 1 else ""
        return f"{there} is cut or damaged{more}; the rest of the file is UTF-8: correct these lines, or delete them"
    # Few Latin letters have an accent, but every byte of Cyrillic, Chinese and other scripts is a high one.
    words = re.findall(rb"[A-Za-z\x80-\xff]+", b"".join(line for line in content.split(b"\n") if not line.isascii()))
    if 2 * sum(byte > 0x7F for word in words for byte in word) > sum(map(len, words)):
        return (
            f"{there} is not UTF-8, and no Latin alphabet; convert the file from the encoding that it was saved in, "
            "such as iconv -f WINDOWS-1251, GB18030 or SHIFT_JIS -t UTF-8, and look at the result"
        )
    encoding = "WINDOWS-1252" if WINDOWS_1252.search(content) else "LATIN1"
    return f"{there} is not UTF-8; convert the file: iconv -f {encoding} -t UTF-8"


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


def parse_labels(content, name, classes=POLARITY, task=tasks.DEFAULT):
    """Return the labels, of classes ints from 0, of a file with one label a line.

    Args:
        content: the file's bytes.
        name: how messages call the file.
        classes: names of the classes in order (`data.labels`).
        task: kind of the labels (`data.task`).

    Raises:
        StudyError: a line is no label of that kind.
    """
    read, labels = tasks.load(task).reader(classes), []
    for number, line in enumerate(decode_lines(content, name), start=1):
        try:
            labels.append(read(line.strip()))
        except ValueError as error:
            raise StudyError(f"{name}, line {number}: label {line[:40]!r} is {error}") from error
    return labels


def pair(reviews, labels, review_name, label_name, classes=POLARITY, task=tasks.DEFAULT):
    """Return the split as a list of (review, label).

    Raises:
        StudyError: different numbers of reviews and labels, or a class is missing.
    """
    if len(reviews) != len(labels):
        raise StudyError(
            f"{review_name} has {len(reviews)} reviews but {label_name} has {len(labels)} labels: they must have one "
            "line each per review"
        )
    for label in tasks.load(task).lacking(labels, len(classes)) if task == tasks.DEFAULT else ():
        wanted = "both classes are" if len(classes) == 2 else f"every class is ({classes[label]} has number {label})"
        raise StudyError(f"{label_name} has no review of class {label}: {wanted} needed")
    return list(zip(reviews, labels, strict=True))


def read_split(reviews, labels, classes=POLARITY, task=tasks.DEFAULT):
    """Return the texts and the labels, of classes ints from 0, of a split that build_splits wrote.

    Args:
        reviews: path of its reviews.
        labels: path of its labels.
        classes: names of the classes in order (`data.labels`).
        task: kind of the labels (`data.task`).

    Raises:
        StudyError: a file is missing or broken, or see `parse_labels` and `pair`.
    """
    with reading(labels), open(labels, "rb") as handle:
        content = handle.read()
    rows = pair(read_lines(reviews), parse_labels(content, labels, classes, task), reviews, labels, classes, task)
    return tuple(map(list, zip(*rows, strict=True)))


def read_splits(reviews, labels, classes=POLARITY, task=tasks.DEFAULT):
    """Return {split: what `read_split` returns} of the files of train, valid and test, in this order."""
    return {split: read_split(*paths, classes, task) for split, *paths in zip(SPLITS, reviews, labels, strict=True)}


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
