"""From every source to the canonical splits."""

import hashlib
import os
import types

import pytest
import sentencepiece

from common.errors import StudyError
from common.files import read_lines, sha256
from data import build_splits, raw_sources
from data.build_splits import overlaps, read_source, split_reviews, without_held_out
from data.reviews import SPLITS
from data.stratified import draw, shares
from study.addresses import pieces_addresses, source_addresses
from study.pins import mirror_path
from support import studies
from support.archives import make_tar, make_zip
from support.reviews import split_source

MIRROR = os.path.join(studies.ROOT, "..", "shared", "mirror")
PIECES_URL = (
    "https://raw.githubusercontent.com/moussaKam/transfer_learning_transformers/"
    "b14c34637f62e5c6ebf86401be0f6aba1099e8ba/"
)


def build(folder, source, files=(), **settings):
    """Run the rule's main into a folder; return the manifest."""
    addresses = [f"https://a.org/{k}" for k in range(len(files))]
    return split_source(folder, source, [str(path) for path in files], addresses, **settings)


def rows(folder, split):
    reviews = read_lines(folder / f"{split}.review")
    labels = read_lines(folder / f"{split}.label")
    assert len(reviews) == len(labels)
    return list(zip(reviews, labels, strict=True))


def balanced(name, n):
    """A source split of n reviews sorted by label, as the public mirror's are."""
    return [(f"{name} {k}", int(k >= n // 2)) for k in range(n)]


# --- drawing


@pytest.mark.parametrize(
    ("counts", "n", "expected"),
    [
        ([1000, 1000], 200, [100, 100]),
        ([1000, 1000], 201, [101, 100]),  # 100.5 each: the tie goes to the first class
        ([30, 10], 10, [8, 2]),  # 7.5 and 2.5: likewise
        ([2, 1], 2, [1, 1]),  # 1.33 and 0.67: the larger remainder
        ([5, 0], 3, [3, 0]),
        ([7, 3], 10, [7, 3]),
        ([7, 3], 0, [0, 0]),
        ([100, 2], 20, [19, 1]),  # 19.6 and 0.4 would leave the second class out: the largest gives one
        ([98, 1, 1], 3, [1, 1, 1]),
        ([98, 1, 1], 2, [2, 0, 0]),  # not enough for all
    ],
)
def test_shares(counts, n, expected):
    assert shares(counts, n) == expected


def test_shares_never_ask_for_more_than_there_is():
    for a in range(12):
        for b in range(1, 12):
            for n in range(a + b + 1):
                taken = shares([a, b], n)
                assert sum(taken) == n and 0 <= taken[0] <= a and 0 <= taken[1] <= b


def test_draw_is_disjoint_stratified_shuffled_and_seeded():
    labels = [0] * 1000 + [1] * 1000
    valid, train = draw(labels, [200, 1800], seed=1)
    assert sorted(valid + train) == list(range(2000))
    assert sum(labels[i] for i in valid) == 100 and sum(labels[i] for i in train) == 900
    # Shuffled: about half of the first hundred are positive (sd 5).
    assert 25 < sum(labels[i] for i in train[:100]) < 75
    assert draw(labels, [200, 1800], seed=1) == [valid, train]
    assert draw(labels, [200, 1800], seed=2)[0] != valid


def test_a_small_training_set_lies_in_the_larger_ones():
    labels = [0, 1] * 500
    draws = {n: draw(labels, [100, n], seed=3) for n in (50, 200, 900)}
    assert set(draws[50][1]) < set(draws[200][1]) < set(draws[900][1])
    assert sorted(draws[50][0]) == sorted(draws[900][0])


def source(n_train=20, n_valid=10, n_test=12):
    return {"train": balanced("t", n_train), "valid": balanced("v", n_valid), "test": balanced("e", n_test)}


def test_own_split_is_kept_as_it_is():
    assert split_reviews(source(), None, None, None, 1) == source()


def test_pool_is_split_anew():
    splits = split_reviews(source(), 22, 8, None, 1)
    assert sorted(splits["train"] + splits["valid"]) == sorted(source()["train"] + source()["valid"])
    assert [sum(label for _, label in splits[split]) for split in SPLITS] == [11, 4, 6]
    assert splits["test"] == source()["test"]


def test_some_test_reviews_stay_in_order():
    test = split_reviews(source(), 10, 4, 6, 1)["test"]
    assert sum(label for _, label in test) == 3
    assert test == [row for row in source()["test"] if row in test]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ((25, 6, None), r"data\.n_train \(25\) and data\.n_valid \(6\) ask for 31 .* the source has 30"),
        ((10, 4, 13), r"data\.n_test \(13\)"),
        ((10, None, None), "set both"),
        ((None, 10, None), "set both"),
        ((10, 1, None), r"valid split has no review of class 1: raise data\.n_valid"),
    ],
)
def test_impossible_sizes(arguments, fault):
    with pytest.raises(StudyError, match=fault):
        split_reviews(source(), *arguments, 1)


def test_a_source_without_valid_needs_sizes():
    with pytest.raises(StudyError, match="no split into train and valid"):
        split_reviews({"train": balanced("t", 10), "test": balanced("e", 10)}, None, None, None, 1)


def test_held_out_text_never_reaches_pretraining():
    splits = {"train": [("a", 0)], "valid": [("b", 1), ("c", 0)], "test": [("d", 1), ("a", 0)]}
    assert without_held_out(["d", "x", "b", "y", "x"], splits) == ["x", "y", "x"]
    assert overlaps(splits) == {"train_valid": 0, "train_test": 1, "valid_test": 0}


def test_neither_text_of_a_held_out_pair_reaches_pretraining():
    splits = {"valid": [("a\tb", 1)], "test": [("c\td", 0)]}
    pairs = ["x\ty", "a\ty", "x\tc", "d\tb", "b c\tab"]
    # Each text alone counts, as a whole, and on either side; of the fourth pair nothing is left.
    assert without_held_out(pairs, splits) == ["x y", "y", "x", "b c ab"]


# --- the course's zip


def zip_files(**changes):
    """The course's layout: six train, two valid, four test reviews."""
    files = {}
    for split, n in (("train", 6), ("valid", 2), ("test", 4)):
        files[f"{split}.review"] = "".join(f"Avis {split}\u00a0{k}.\r\n" for k in range(n)).encode()
        files[f"{split}.label"] = "".join(f"{k % 2}\n" for k in range(n)).encode()
    return files | {name.replace("_", "."): content for name, content in changes.items()}


@pytest.fixture
def course(tmp_path):
    """Write the course's zip: with changed files, in any folder."""

    def write(prefix="cls.books/", **changes):
        files = {prefix + name: content for name, content in zip_files(**changes).items() if content is not None}
        return make_zip(tmp_path / "cls.books.zip", files)

    return write


@pytest.mark.parametrize("prefix", ["cls.books/", "", "download/cls.books/"])
def test_zip_keeps_its_own_split(tmp_path, course, prefix):
    path = course(prefix)
    manifest = build(tmp_path / "data", "cls_books_zip", [path])
    assert rows(tmp_path / "data", "train") == [(f"Avis train {k}.", str(k % 2)) for k in range(6)]
    assert rows(tmp_path / "data", "valid") == [("Avis valid 0.", "0"), ("Avis valid 1.", "1")]
    assert (tmp_path / "data" / "unlabelled.review").read_bytes() == b""
    assert manifest["source"] == "cls_books_zip" and manifest["synthetic"] is False and manifest["own_split"] is True
    assert manifest["files"] == {"https://a.org/0": sha256(path)}
    test = manifest["splits"]["test"]
    assert (test["n"], test["n_positive"]) == (4, 2)
    for kind in ("review", "label"):
        assert test[f"sha256_{kind}"] == sha256(tmp_path / "data" / f"test.{kind}")
    assert manifest["unlabelled"]["n"] == 0
    assert manifest["unlabelled"]["sha256"] == hashlib.sha256(b"").hexdigest()


def test_zip_split_again(tmp_path, course):
    manifest = build(tmp_path / "data", "cls_books_zip", [course()], n_train=4, n_valid=4, n_test=2)
    assert [manifest["splits"][split]["n"] for split in SPLITS] == [4, 4, 2]
    assert [manifest["splits"][split]["n_positive"] for split in SPLITS] == [2, 2, 1]
    assert manifest["own_split"] is False


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"train_review": b""}, "cls.books/train.review is empty"),
        ({"valid_label": b"0\n1\n1\n"}, "cls.books/valid.review has 2 reviews but .*cls.books/valid.label has 3"),
        ({"test_label": b"0\n1\n2\n1\n"}, "cls.books/test.label, line 3: label '2'"),
        ({"test_label": b"1\n1\n1\n1\n"}, "cls.books/test.label has no review of class 0"),
        ({"train_review": b"a\nb\n\nd\ne\nf\n"}, "cls.books/train.review, line 3: the review is blank"),
        ({"train_review": b"a\nb\n\xe9\nd\ne\nf\n"}, "cls.books/train.review, line 3: .* is not UTF-8"),
        ({"test_review": None, "test_label": None}, "cls.books/test.review, cls.books/test.label; it holds"),
    ],
)
def test_faulty_zip_leaves_nothing(tmp_path, course, changes, fault):
    path = course(**changes)
    with pytest.raises(StudyError, match=fault) as caught:
        build(tmp_path / "data", "cls_books_zip", [path])
    assert str(path) in str(caught.value)
    assert not (tmp_path / "data").exists()


def test_full_disk_leaves_nothing(tmp_path, course, monkeypatch):
    """The last file cannot be written: none of the others appears."""

    def opened(path, mode):
        if "manifest.json" in path:
            raise OSError(28, "No space left on device")
        return open(path, mode)

    monkeypatch.setattr(build_splits, "open", opened, raising=False)
    with pytest.raises(StudyError, match="disk is full"):
        build(tmp_path / "data", "cls_books_zip", [course()])
    assert os.listdir(tmp_path / "data") == []


# --- pieces


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """The mirror's seven files, in small: a piece model of its own, and reviews cut by it."""
    folder = tmp_path_factory.mktemp("pieces")
    words = "un beau livre qui se lit vite mais la fin est triste et longue les héros sont bons".split()
    texts = {
        split: [" ".join(words[(k * 5 + j * 3) % len(words)] for j in range(8)) + f" {split} {k}" for k in range(n)]
        for split, n in (("train", 12), ("valid", 4), ("test", 6))
    }
    with open(folder / "model", "wb") as handle:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sum(texts.values(), [])),
            model_writer=handle,
            vocab_size=60,
            hard_vocab_limit=False,
            minloglevel=2,
        )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "model"))
    files = []
    for split in SPLITS:
        (folder / f"{split}.review.spm").write_text(
            "".join(" ".join(processor.encode(text, out_type=str)) + "\n" for text in texts[split]), encoding="utf-8"
        )
        n = len(texts[split])
        (folder / f"{split}.label").write_text("".join(f"{int(k >= n // 2)}\n" for k in range(n)))
        files += [folder / f"{split}.review.spm", folder / f"{split}.label"]
    return types.SimpleNamespace(files=[*files, folder / "model"], texts=texts)


def test_pieces_are_decoded_and_split_again(tmp_path, pieces):
    manifest = build(tmp_path / "data", "cls_books_pieces", pieces.files, n_train=12, n_valid=4)
    pool = [review for split in ("train", "valid") for review, _ in rows(tmp_path / "data", split)]
    assert sorted(pool) == sorted(pieces.texts["train"] + pieces.texts["valid"])
    assert read_lines(tmp_path / "data" / "test.review") == pieces.texts["test"]
    assert manifest["pieces"] == {"n": 22, "n_identical": 22}
    assert [manifest["splits"][split]["n_positive"] for split in SPLITS] == [6, 2, 3]


def test_pieces_that_encode_differently_are_counted(tmp_path, pieces):
    changed = tmp_path / "test.review.spm"
    lines = pieces.files[4].read_text(encoding="utf-8").splitlines()
    # The same text, cut into single characters: it decodes, but no model cuts it so.
    lines[2] = " ".join("▁" + pieces.texts["test"][2].replace(" ", "▁"))
    changed.write_text("\n".join(lines) + "\n", encoding="utf-8")
    manifest = build(tmp_path / "data", "cls_books_pieces", [*pieces.files[:4], changed, *pieces.files[5:]])
    assert manifest["pieces"] == {"n": 22, "n_identical": 21}
    assert read_lines(tmp_path / "data" / "test.review") == pieces.texts["test"]


def test_pieces_without_their_model(tmp_path, pieces):
    (tmp_path / "model").write_bytes(b"not a model")
    with pytest.raises(StudyError, match="not a SentencePiece model"):
        build(tmp_path / "data", "cls_books_pieces", [*pieces.files[:6], tmp_path / "model"])


@pytest.mark.skipif(not os.path.isdir(MIRROR), reason="no mirror of the open study's files at ../shared/mirror")
def test_the_real_pieces():
    """The public mirror of CLS-Books, as PROTOCOL says: 1 800/200/2 000, balanced, 4 000 identical."""
    files = [os.path.join(MIRROR, mirror_path(url)) for url in pieces_addresses(PIECES_URL)]
    source, _, details = read_source("cls_books_pieces", files, None)
    assert details == {"pieces": {"n": 4000, "n_identical": 4000}}
    splits = split_reviews(source, 1800, 200, None, 1)
    assert [len(splits[split]) for split in SPLITS] == [1800, 200, 2000]
    assert [sum(label for _, label in splits[split]) for split in SPLITS] == [900, 100, 1000]
    # Shuffled: the source's first 800 training reviews are all of one class.
    assert 300 < sum(label for _, label in splits["train"][:800]) < 500
    own = split_reviews(source, None, None, None, 1)
    assert [len(own[split]) for split in SPLITS] == [1600, 400, 2000]
    assert own["test"] == splits["test"]


# --- the complete archive


def items(*reviews):
    body = "".join(
        f"<item><category>books</category><rating>{rating}</rating><url>http://a</url><text>{text}</text>"
        "<title>t</title><summary>s</summary></item>\n\n"
        for text, rating in reviews
    )
    return f"<items>\n{body}</items>\n".encode()


def make_archive(path, **changes):
    """A stand-in of cls-acl10-unprocessed.tar.gz: other languages and translations included."""
    train = items(("Beau &amp; bon", 5.0), ("Nul", 1.0), ("Moyen", 3.0), ("Bien", 4.0), ("Bof", 2.0))
    test = items(("Superbe", 4.0), ("Affreux", 1.0))
    unlabelled = items(("Entre deux", 3.0), ("Superbe", 5.0), ("Un livre de plus", 2.0))
    files = {
        "de/books/train.review": items(("Gut", 5.0), ("Schlecht", 1.0)),
        "fr/books/train.review": train,
        "fr/books/test.review": test,
        "fr/books/unlabeled.review": unlabelled,
        "fr/books/trans/en/books/test.review": items(("Superb", 4.0)),
        "fr/music/test.review": items(("Un disque", 4.0)),
    }
    return make_tar(path, {f"cls-acl10-unprocessed/{name}": content for name, content in (files | changes).items()})


def test_archive(tmp_path):
    path = make_archive(tmp_path / "cls.tar.gz")
    manifest = build(tmp_path / "data", "cls_archive", [path], n_train=2, n_valid=2)
    pool = rows(tmp_path / "data", "train") + rows(tmp_path / "data", "valid")
    assert sorted(pool) == [("Beau & bon", "1"), ("Bien", "1"), ("Bof", "0"), ("Nul", "0")]
    assert rows(tmp_path / "data", "test") == [("Superbe", "1"), ("Affreux", "0")]
    # Every rating is text to pretrain on, but not the review that is also a test review.
    assert read_lines(tmp_path / "data" / "unlabelled.review") == ["Entre deux", "Un livre de plus"]
    assert manifest["unlabelled"]["n"] == 2 and manifest["unlabelled"]["n_removed_as_held_out"] == 1


def test_faulty_archive_names_member_and_line(tmp_path):
    path = make_archive(tmp_path / "cls.tar.gz", **{"fr/books/test.review": items(("Bon", 4.0), ("Nul", "zero"))})
    with pytest.raises(StudyError, match="fr/books/test.review, item at line 4: no <rating>"):
        build(tmp_path / "data", "cls_archive", [path], n_train=2, n_valid=2)
    assert not (tmp_path / "data").exists()


# --- the embedded generator


def test_embedded_is_marked_synthetic(tmp_path, monkeypatch):
    """With a stand-in generator: the settings reach it, and its sets become the splits."""
    seen = {}

    def generate(**settings):
        seen.update(settings)
        return {
            "labelled": [(f"avis  {k}", k % 2) for k in range(10)],
            "test": [(f"test {k}", k % 2) for k in range(6)],
            "unlabelled": ["du texte", "test 3"],
        }

    monkeypatch.setattr(raw_sources, "generate", generate)
    embedded = {"seed": 5, "n_labelled": 10, "n_test": 6, "n_unlabelled": 2}
    manifest = build(tmp_path / "data", "embedded", n_train=6, n_valid=4, embedded=embedded)
    assert seen == embedded
    assert manifest["synthetic"] is True and manifest["files"] == {}
    assert {review for review, _ in rows(tmp_path / "data", "train")} < {f"avis {k}" for k in range(10)}
    assert read_lines(tmp_path / "data" / "unlabelled.review") == ["du texte"]


def test_embedded_generator_fits(tmp_path):
    embedded = {"seed": 1, "n_labelled": 20, "n_test": 10, "n_unlabelled": 15}
    manifest = build(tmp_path / "data", "embedded", n_train=12, n_valid=8, embedded=embedded)
    assert [manifest["splits"][split]["n_positive"] for split in SPLITS] == [6, 4, 5]
    assert manifest["unlabelled"]["n"] == 15


def test_unknown_source(tmp_path):
    with pytest.raises(StudyError, match=r"data\.source 'imdb'"):
        build(tmp_path / "data", "imdb")
    assert source_addresses({"source": "embedded"}) == []
