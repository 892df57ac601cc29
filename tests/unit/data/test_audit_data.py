"""The data audit: planted duplicates and leaks are found, and the fast search equals the plain one."""

import random
import time

import pytest
import sentencepiece

from common.errors import StudyError
from common.files import read_json, read_tsv, write_lines
from data import duplicates as of_texts
from data import near
from data.audit_data import describe_splits, find_in_corpus, main
from data.duplicates import find_duplicates, normalised
from data.near import near_pairs
from data.reviews import SPLITS

WORDS = (
    "le livre roman auteur histoire page style lecture récit intrigue héros plume fin début chapitre émotion".split()
)


def reviews(n, seed, length=30):
    """n different reviews: every fourth word is of a large invented vocabulary, so that none are alike by chance."""
    generator = random.Random(seed)
    return [
        " ".join(
            "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=7)) if i % 4 == 0 else generator.choice(WORDS)
            for i in range(length)
        )
        for _ in range(n)
    ]


def test_normalised():
    assert normalised("  L’Été, « SUPERBE »…\tlu_2 fois ! ") == "l été superbe lu 2 fois"
    assert normalised("ﬁn") == "fin"  # the ligature
    # Without letters or digits the signs are all there is to compare.
    assert normalised("... ") == normalised("…") == "..." and normalised("👍  👍") == "👍 👍" and normalised(" ") == ""


def near_duplicates(texts, **settings):
    """The pairs of `near_pairs` in order: (i, j, similarity)."""
    found = [zip(*map(list, arrays), strict=True) for arrays in near_pairs(texts, **settings)]
    return sorted((i, j, round(float(similarity), 4)) for arrays in found for i, j, similarity in arrays)


@pytest.fixture(scope="module")
def alike():
    """Texts, some of them alike, and the Jaccard similarity of every pair, found the plain way."""
    generator, texts = random.Random(3), ["", "a", "oui", "oui oui"]
    for base in reviews(60, 1):
        texts.append(base)
        for n_changes in (1, 3, 6):
            words = base.split()
            for _ in range(n_changes):
                words[generator.randrange(len(words))] = generator.choice(WORDS)
            texts.append(" ".join(words))
    sets = [{text[i : i + 5] for i in range(max(1, len(text) - 4))} for text in texts]
    return texts, {(i, j): len(sets[i] & sets[j]) / len(sets[i] | sets[j]) for j in range(len(sets)) for i in range(j)}


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("tile", [(256, 8192), (7, 16)])
def test_near_duplicates_against_every_pair(alike, threshold, tile, monkeypatch):
    monkeypatch.setattr(near, "LEFT", tile[0])
    monkeypatch.setattr(near, "RIGHT", tile[1])
    texts, similarities = alike
    expected = sorted(pair for pair, similarity in similarities.items() if similarity >= threshold)
    assert expected
    assert [(i, j) for i, j, _ in near_duplicates(texts, threshold=threshold)] == expected
    queries = near_duplicates(texts, n_queries=50, threshold=threshold)
    assert [(i, j) for i, j, _ in queries] == [(i, j) for i, j in expected if i < 50]


def sets_of(texts):
    return [{text[i : i + 5] for i in range(max(1, len(text) - 4))} for text in texts]


def from_templates(n, seed, length=25):
    """n different texts from two templates that differ by their end, with names and numbers in their slots."""
    generator, texts = random.Random(seed), []
    template = reviews(1, seed, length)[0]
    for k in range(n):
        end = " et voilà la toute dernière page" if k % 2 else ""
        texts.append(f"{generator.choice(WORDS)} {template} {generator.choice(WORDS)} {k:05d}{end}")
    return texts


@pytest.mark.parametrize("heavy", [0, 4, 1000])
def test_pairs_of_templates_against_every_pair(heavy, monkeypatch):
    monkeypatch.setattr(near, "LEFT", 50)
    monkeypatch.setattr(near, "RIGHT", 120)
    monkeypatch.setattr(near, "HEAVY", heavy)
    texts = [*from_templates(150, 1), *reviews(40, 2), *from_templates(110, 3)]
    random.Random(4).shuffle(texts)
    texts = [normalised(text) for text in texts]
    sets = sets_of(texts)
    expected = {
        (i, j): len(sets[i] & sets[j]) / len(sets[i] | sets[j])
        for j in range(len(texts)) for i in range(j) if len(sets[i] & sets[j]) >= 0.8 * len(sets[i] | sets[j])
    }  # fmt: skip
    assert len(expected) > 5000
    assert near_duplicates(texts) == sorted((*pair, round(similarity, 4)) for pair, similarity in expected.items())


def test_texts_of_more_signs_than_64_bits_hold():
    # 8,000 different characters: the fifth power of their number is above 2^64.
    generator, signs = random.Random(5), [chr(code) for code in range(0x4E00, 0x4E00 + 8000)]
    texts = ["".join(signs[start : start + 100]) for start in range(0, 8000, 100)]
    # One character changed in the middle: 91 of 101 shingles are shared.
    texts += [text[:50] + generator.choice(signs[:40]) + text[51:] for text in texts[1:5]]
    assert near_duplicates(texts) == [(k, 79 + k, 0.901) for k in range(1, 5)]


def test_counts_of_copies_by_hand():
    base = "un livre que je recommande vivement à tous ceux qui aiment les longues histoires de famille"
    splits = {
        "train": [base, f"{base} !", f"{base} 1", f"{base} 2"],
        "valid": [f"{base} 2"],
        "test": [f"{base} 3", "autre chose", f"{base} 1"],
        "unlabelled": [f"{base} 4", f"{base} 5"],
    }
    labels = {"train": [0, 1, 0, 1], "valid": [0], "test": [0, 1, 1]}
    found = find_duplicates(splits, labels)
    assert found.counts == {
        # The exclamation mark is not compared.
        ("train", "train", "exact"): (1, 1),
        ("train", "valid", "exact"): (1, 1),
        ("train", "test", "exact"): (1, 1),
        # base, base !, 1 and 2 in train: 6 pairs less the exact one; of labels 0 1 0 1: (0, 3),
        # (1, 2) and (2, 3) differ, (0, 2) and (1, 3) do not.
        ("train", "train", "near"): (5, 3),
        ("train", "valid", "near"): (3, 1),
        # Each of 4 with "3", and all but "1" with "1": labels 0 1 0 1 against 0, and 0 1 1 against 1.
        ("train", "test", "near"): (7, 3),
        ("valid", "test", "near"): (2, 1),
        ("test", "test", "near"): (1, 1),
        ("train", "unlabelled", "near"): (8, 8),
        ("valid", "unlabelled", "near"): (2, 2),
        ("test", "unlabelled", "near"): (4, 4),
    }
    assert found.n_test_seen == 2 and found.n == len(found.listed) == 35


def test_what_is_kept_of_pairs_is_bounded(monkeypatch):
    monkeypatch.setattr(of_texts, "LISTED", 10)
    texts = from_templates(300, 1)
    splits = {"train": texts[:200], "valid": [], "test": texts[200:], "unlabelled": []}
    sets = sets_of([normalised(text) for text in texts])
    pairs = [
        (i, j)
        for j in range(300) for i in range(j) if len(sets[i] & sets[j]) >= 0.8 * len(sets[i] | sets[j])
    ]  # fmt: skip
    found = find_duplicates(splits, {"train": [0] * 200, "test": [1] * 100})
    inner, outer = [pair for pair in pairs if pair[1] < 200], [pair for pair in pairs if pair[0] < 200 <= pair[1]]
    assert found.counts["train", "train", "near"] == (len(inner), 0)
    assert found.counts["train", "test", "near"] == (len(outer), len(outer))
    assert found.n == len(pairs) > 10000
    listed = [(e["line"], e["other_line"]) for e in found.listed if (e["split"], e["other"]) == ("train", "test")]
    assert listed == [(i, j - 200) for i, j in sorted(outer)[:10]] and len(found.listed) == 30
    assert found.n_test_seen == 100


def test_many_copies_are_read_once(monkeypatch):
    # Each copy against all before it would be 450 million steps.
    monkeypatch.setattr(of_texts, "LISTED", 10)
    copies = ["le même livre encore une fois"] * 30000
    found = find_duplicates({"train": copies, "valid": [], "test": copies[:5], "unlabelled": []})
    assert found.counts["train", "train", "exact"] == (29999, 0) and found.counts["train", "test", "exact"] == (5, 0)
    assert [e["other_line"] for e in found.listed] == [*range(1, 11), *range(5), *range(1, 5)]


def test_similarity_by_hand():
    # "abcdefghi": 5 shingles; "abcdefghij": 6, 5 shared: 5 / 6 = 0.8333
    assert near_duplicates(["abcdefghi", "abcdefghij"]) == [(0, 1, 0.8333)]
    assert near_duplicates(["abcdefgh", "abcdefghij"]) == []  # 4 of 6


def test_a_planted_duplicate_across_splits_is_found():
    splits = {"train": reviews(50, 1), "valid": reviews(20, 2), "test": reviews(50, 3), "unlabelled": reviews(200, 4)}
    splits["test"][7] = "  " + splits["train"][11].upper() + " !!"
    splits["test"][9] = splits["valid"][3] + " fin"
    splits["unlabelled"][100] = splits["test"][20]
    splits["train"][40] = splits["train"][11]
    found = {(e["split"], e["line"], e["other"], e["other_line"], e["kind"]) for e in find_duplicates(splits).listed}
    assert found == {
        ("train", 11, "train", 40, "exact"),
        ("train", 40, "test", 7, "exact"),
        ("valid", 3, "test", 9, "near"),
        ("test", 20, "unlabelled", 100, "exact"),
    }


def test_texts_without_letters_are_alike_only_where_their_signs_are(tmp_path):
    splits = {"train": ["👍", "!!!", "👍 👍"], "valid": ["..."], "test": ["👎", "👍", ":("], "unlabelled": []}
    found = [(e["split"], e["line"], e["other"], e["other_line"], e["kind"]) for e in find_duplicates(splits).listed]
    assert found == [("train", 0, "test", 1, "exact")]
    write_lines(tmp_path / "corpus.txt", ["* * *", "Un livre", ":("])
    assert [e["line"] for e in find_in_corpus(splits["test"], [str(tmp_path / "corpus.txt")])] == [2]


def test_clean_splits_have_no_duplicate():
    assert find_duplicates({"train": reviews(50, 1), "valid": [], "test": reviews(50, 3), "unlabelled": []}).n == 0


def test_test_text_in_the_corpus_is_found(tmp_path):
    test = [*reviews(20, 1, length=40), "très court"]
    corpus = reviews(100, 2, length=40)
    corpus[3] = test[5]  # the line itself
    corpus[8] = "avant " + corpus[8] + " " + test[6] + " puis la suite"  # inside a longer line
    corpus[9] = " ".join(test[7].split()[:20])  # half of it: 8 of its 28 runs of 13 words
    corpus[10] = "Très court !"
    write_lines(tmp_path / "corpus.txt", corpus + corpus)
    found = find_in_corpus(test, [str(tmp_path / "corpus.txt")])
    assert [(e["line"], e["kind"]) for e in found] == [(5, "line"), (6, "contained"), (20, "line")]
    assert find_in_corpus(test[8:20], [str(tmp_path / "corpus.txt")]) == []


def test_text_of_a_script_without_spaces_is_found_in_the_corpus(tmp_path):
    test = [
        "這本書寫得非常好、我從頭到尾一口氣讀完了、推薦給每一個朋友。",
        "หนังสือเล่มนี้สนุกมากและอ่านง่ายเหมาะสำหรับทุกคน",
        "普通的一本書",
    ]
    write_lines(tmp_path / "corpus.txt", [f"有人說{test[0]}我也同意", f"เขาบอกว่า{test[1]}จริงๆ", "普通"])
    found = find_in_corpus(test, [str(tmp_path / "corpus.txt")])
    assert [(e["line"], e["kind"]) for e in found] == [(0, "contained"), (1, "contained")]


def test_the_search_is_quick():
    splits = {"train": reviews(450, 1, 80), "valid": reviews(50, 2, 80), "test": reviews(500, 3, 80)}
    splits["unlabelled"] = reviews(1500, 4, 80)
    started = time.process_time()
    assert find_duplicates(splits).n == 0
    # 3.1 million pairs, of some 10 microseconds each when compared one by one.
    assert time.process_time() - started < 8


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """A SentencePiece model and a dictionary that lacks one of its pieces."""
    folder = tmp_path_factory.mktemp("pieces")
    write_lines(folder / "text.txt", reviews(100, 9))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text.txt"), model_prefix=str(folder / "model"), vocab_size=120, num_threads=1,
        minloglevel=2,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "model.model"))
    lost = processor.encode("le livre", out_type=str)[0]
    kept = [processor.id_to_piece(i) for i in range(3, 120) if processor.id_to_piece(i) != lost]
    write_lines(folder / "dict.txt", [f"{piece} 1" for piece in kept])
    return folder, processor, lost


def run_main(tmp_path, pieces, splits, labels, corpora=()):
    folder = pieces[0]
    for name, lines in splits.items():
        write_lines(tmp_path / f"{name}.review", lines)
    for name, lines in labels.items():
        write_lines(tmp_path / f"{name}.label", lines)
    main(
        reviews=[str(tmp_path / f"{split}.review") for split in SPLITS],
        labels=[str(tmp_path / f"{split}.label") for split in SPLITS],
        unlabelled=str(tmp_path / "unlabelled.review"),
        model=str(folder / "model.model"),
        dictionary=str(folder / "dict.txt"),
        corpora=list(corpora),
        table=str(tmp_path / "audit.tsv"),
        details=str(tmp_path / "audit.json"),
        max_positions=22,
    )
    rows = {(row["check"], row["split"], row["other"]): row for row in read_tsv(tmp_path / "audit.tsv")}
    return rows, read_json(tmp_path / "audit.json")


def test_audit_files(tmp_path, pieces):
    _, processor, lost = pieces
    splits = {"train": reviews(8, 1), "valid": reviews(4, 2), "test": reviews(6, 3), "unlabelled": []}
    splits["test"][0] = splits["train"][0]
    labels = {"train": list("11110000"), "valid": list("1100"), "test": list("010101")}
    rows, report = run_main(tmp_path, pieces, splits, labels)
    assert float(rows[("share positive", "test", "")]["value"]) == 0.5
    encoded = processor.encode(splits["train"], out_type=str)
    unknown, n = sum(p == lost for x in encoded for p in x), sum(len(x) for x in encoded)
    assert unknown > 0 and float(rows[("unknown-piece rate", "train", "")]["value"]) == pytest.approx(unknown / n)
    assert float(rows[("share truncated", "train", "")]["value"]) == sum(len(x) > 20 for x in encoded) / 8
    assert float(rows[("mean pieces", "train", "")]["value"]) == pytest.approx(n / 8)
    leak = rows[("exact duplicates, pairs", "train", "test")]
    assert (leak["value"], leak["status"], leak["note"]) == ("1", "leak", "1 with different labels")
    assert rows[("exact duplicates, pairs", "valid", "test")]["status"] == "ok"
    assert rows[("test reviews in training or validation", "test", "train, valid")]["value"] == "1"
    assert rows[("test reviews in the pretraining corpus", "test", "corpus")]["status"] == "not checked"
    assert report["n_leaks"] == 2 and report["duplicates"][0]["line"] == 0
    assert sum(report["lengths"]["test"]["histogram"].values()) == 6
    # No text of a review may leave the data folder: every fourth word is invented and would be recognised.
    assert not any(word in (tmp_path / "audit.json").read_text() for word in splits["train"][0].split()[::4])


def test_audit_of_the_corpus(tmp_path, pieces):
    splits = {"train": reviews(8, 1), "valid": reviews(4, 2), "test": reviews(6, 3), "unlabelled": reviews(9, 4)}
    labels = {"train": list("11110000"), "valid": list("1100"), "test": list("010101")}
    key = ("test reviews in the pretraining corpus", "test", "corpus")
    write_lines(tmp_path / "corpus.txt", splits["train"] + splits["unlabelled"])
    rows, _ = run_main(tmp_path, pieces, splits, labels, [str(tmp_path / "corpus.txt")])
    assert (rows[key]["status"], rows[key]["value"]) == ("ok", "0")
    write_lines(tmp_path / "corpus.txt", splits["train"] + splits["test"][2:3])
    rows, report = run_main(tmp_path, pieces, splits, labels, [str(tmp_path / "corpus.txt")])
    assert (rows[key]["status"], rows[key]["value"]) == ("leak", "1")
    assert report["test_in_corpus"] == [{"kind": "line", "line": 2, "share": 1.0}]


def test_unequal_files_are_named(tmp_path, pieces):
    splits = {"train": reviews(8, 1), "valid": reviews(4, 2), "test": reviews(6, 3), "unlabelled": []}
    with pytest.raises(StudyError, match="valid.review has 4 reviews.*3 labels"):
        run_main(tmp_path, pieces, splits, {"train": list("11110000"), "valid": list("110"), "test": list("010101")})


@pytest.mark.parametrize("part", ["first", "last"])
def test_the_note_says_which_tokens_a_model_of_others_reads(part):
    found = {"n": 2, "n_pieces": 9, "mean": 4.5, "quantiles": {"0.5": 4, "1.0": 7}, "n_truncated": 1, "n_unknown": 0}
    tokens = [{"model": "mine", "limit": 6, "reads": part, "splits": {"test": found}}]
    rows = list(describe_splits({"test": [0, 1]}, {}, tokens=tokens))
    (row,) = [row for row in rows if row["check"] == "mine: share truncated"]
    assert row["note"] == f"by the model's own tokenizer; it reads the {part} 6 tokens"
