"""Texts of public tables: what enters the corpus, and what never does."""

import json
from pathlib import Path

import pytest

from checkpoint.filter_corpus_tables import COLUMNS, common_address, main
from checkpoint.opinions import read_column, runs_of
from common.errors import StudyError
from common.files import read_lines, read_tsv
from data.words import words_of
from study.tables import columns_of

SHARED = Path(__file__).resolve().parents[3].parent / "shared" / "mirror" / "raw.githubusercontent.com"
TEST_REVIEW = "Un livre que l'on ne lâche pas avant la toute dernière page, et que l'on offre."


def table(path, rows):
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return str(path)


def filtered(folder, tables, held_out=(TEST_REVIEW,)):
    """Return the texts of each table and the rows of the counts; `tables`: (paths, column, repeat)."""
    (folder / "test.review").write_text("".join(f"{line}\n" for line in held_out), encoding="utf-8")
    entries = [
        {"urls": [f"https://a.org/{Path(path).name}" for path in paths], "column": column, "repeat": repeat}
        for paths, column, repeat in tables
    ]
    entries = [entry | {"licence": "MIT"} for entry in entries]
    files = [path for paths, _, _ in tables for path in paths]
    counts = str(folder / "counts.tsv")
    main(files, [str(folder / "test.review")], str(folder / "texts"), counts, entries)
    return [read_lines(str(folder / "texts" / f"{n}.txt")) for n in range(1, len(tables) + 1)], read_tsv(counts)


def test_columns_are_those_of_the_dictionary():
    assert COLUMNS == columns_of("corpus_tables")


def test_a_text_that_shares_ten_words_with_a_held_out_review_never_enters(tmp_path):
    words = TEST_REVIEW.split()
    rows = [
        "note,avis,auteur",
        f'5,"{TEST_REVIEW}",anne',
        # Other case and punctuation, in the middle of a longer text: ten of its words in a row.
        f'4,"Bref ! {" ".join(words[2:13]).upper()} ; et voilà tout.",paul',
        # Nine words in a row are an idiom.
        f'3,"Bref, {" ".join(words[:7])} et rien de plus ici.",luc',
        '2,"Une intrigue que l\'on devine, hélas.",zoé',
        '2,"une intrigue que l\'on devine hélas",zoé encore',
        "1,Bof,max",
    ]
    (texts,), (counts,) = filtered(tmp_path, [([table(tmp_path / "avis.csv", rows)], "avis", 3)])
    assert texts == [f"Bref, {' '.join(words[:7])} et rien de plus ici.", "Une intrigue que l'on devine, hélas."]
    kinds = ("n_texts", "n_short", "n_repeated", "n_overlapping", "n_kept", "repeats")
    assert [counts[kind] for kind in kinds] == ["6", "1", "1", "2", "2", "3"]
    assert counts["licence"] == "MIT" and counts["address"] == "https://a.org/avis.csv"
    # The names of the people who wrote them stay where they are.
    assert "anne" not in " ".join(texts)


def test_ten_letters_in_a_row_count_where_a_script_has_no_spaces(tmp_path):
    review = "這本書寫得非常好、我從頭到尾一口氣讀完了"
    rows = ["avis", f"有人說{review}、我也同意他說的話", f"{review[:9]}、別的人完全不喜歡它、也不想再讀"]
    (texts,), (counts,) = filtered(tmp_path, [([table(tmp_path / "a.tsv", rows)], "avis", 1)], [review])
    assert texts == rows[2:] and counts["n_overlapping"] == "1"


def test_a_review_of_fewer_than_ten_words_is_kept_out_by_itself_only(tmp_path):
    rows = ["avis", "Un très bon livre.", "Un très bon livre pour l'été."]
    (texts,), (counts,) = filtered(tmp_path, [([table(tmp_path / "a.csv", rows)], "avis", 1)], ["un très bon livre !"])
    assert texts == ["Un très bon livre pour l'été."] and counts["n_overlapping"] == "1"


def test_tags_and_references_in_a_held_out_review_hide_no_copy_of_it(tmp_path):
    # Eight words around tags, and a reference in every ten: as they stand, no run of words is the same.
    short = "Un très bon livre !<br /><br />Il plaira à tous."
    long = "Lu d&#39;une traite &amp; relu, " + "&quot;bien&quot; écrit et tendre &amp; drôle, " * 4 + "voilà."
    rows = [json.dumps({"avis": text}) for text in (short, f"Bref : {long}", "Un livre qui plaira")]
    (texts,), (counts,) = filtered(tmp_path, [([table(tmp_path / "a.jsonl", rows)], "avis", 1)], [short, long])
    assert texts == ["Un livre qui plaira"] and counts["n_overlapping"] == "2"


def test_half_a_character_of_json_is_a_blank(tmp_path):
    rows = [json.dumps({"avis": "Un livre qui plaira \ud83d"}), json.dumps({"avis": "Un autre\udc4d livre, vraiment"})]
    (texts,), _ = filtered(tmp_path, [([table(tmp_path / "a.jsonl", rows)], "avis", 1)])
    assert texts == ["Un livre qui plaira", "Un autre livre, vraiment"]


def test_a_reference_to_no_character_stays_as_it_is(tmp_path):
    text = f"Un livre &amp; &#{'9' * 5000}; pages"
    (texts,), _ = filtered(tmp_path, [([table(tmp_path / "a.csv", ["avis", text])], "avis", 1)], [f"Autre {text}"])
    assert texts == [text]


def test_neither_text_of_a_held_out_pair_enters(tmp_path):
    first, second = "Un très bon livre", "Il plaira à tous, même aux autres"
    # Four and seven words are no run of ten, and both texts in a row are one.
    rows = ["avis", "un très bon livre !", second.upper(), f"Bref : {first} ; {second}", "Un livre qui plaira"]
    tables = [([table(tmp_path / "a.tsv", rows)], "avis", 1)]
    (texts,), (counts,) = filtered(tmp_path, tables, [f"{first}\t{second}"])
    assert texts == ["Un livre qui plaira"] and counts["n_overlapping"] == "3"


def test_tables_without_a_header_json_lines_and_tags(tmp_path):
    plain = table(tmp_path / "a.tsv", ["0\tUn texte sur un livre", "1\tUn autre texte, deux fois"])
    lines = table(
        tmp_path / "b.jsonl", [json.dumps({"avis": "<p>Drôle&nbsp;et <b>tendre</b>, vraiment</p>"}), "", "{}"]
    )
    again = table(tmp_path / "c.jsonl", [json.dumps({"avis": "un AUTRE texte deux fois"})])
    texts, counts = filtered(tmp_path, [([plain], 2, 1), ([lines, again], "avis", 0)])
    assert texts == [["Un texte sur un livre", "Un autre texte, deux fois"], ["Drôle et tendre , vraiment"]]
    # A text of an earlier table is there once.
    assert [row["n_repeated"] for row in counts] == ["0", "1"]
    assert [row["n_tables"] for row in counts] == ["1", "2"] and counts[1]["address"] == "https://a.org"


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("a.csv", b"note,texte\n1,oui\n", "avis", "a.csv has no column 'avis'; its columns are 'note', 'texte'"),
        ("a.csv", b"1,oui\n", 3, "a.csv has no column 3; its columns are 1, 2"),
        ("a.csv", b"avis\ncaf\xe9\n", "avis", "a.csv, line 2: character 4 (byte 0xe9, after 'caf') is not UTF-8"),
        ("a.jsonl", b'{"avis": "oui"}\n{"avis":\n', "avis", "a.jsonl: row 2 (line 2) is not valid JSON"),
        ("a.jsonl", b"[1]\n", "avis", "a.jsonl: row 1 (line 1) is '[1]', not an object"),
        ("a.xlsx", b"PK", "avis", "a.xlsx: a table's name ends in .csv, .tsv, .jsonl, .ndjson"),
        ("a.csv", b"avis\nbof\n", "avis", "checkpoint.corpus.tables, entry 1: no text is left of 1"),
    ],
)
def test_a_faulty_table_is_told(tmp_path, name, content, column, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StudyError) as caught:
        filtered(tmp_path, [([str(tmp_path / name)], column, 1)])
    assert message in str(caught.value)
    assert not (tmp_path / "texts").exists()


def test_addresses_are_told_by_what_they_share():
    assert common_address(["https://a.org/x/1.csv", "https://a.org/x/y/2.csv"]) == "https://a.org/x"
    # Several hosts share nothing that would say where the texts came from.
    for urls in (["https://a.org/1.csv", "https://b.org/2.csv"], ["https://a.org/1.csv", "http://a.org/2.csv"]):
        assert common_address(urls) == " ".join(urls)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared mirror is not here")
def test_the_table_that_holds_test_reviews_is_found_out():
    """PROTOCOL, section 5: 16 reviews word for word in test, 2 in valid."""
    reviews = {}
    base = next(SHARED.glob("moussaKam/transfer_learning_transformers/*/cls-books"))
    for split in ("valid", "test"):
        pieces = (base / f"{split}.review.spm").read_text(encoding="utf-8").splitlines()
        reviews[split] = {" ".join(words_of("".join(line.split()).replace("▁", " "))) for line in pieces}
    path = next(SHARED.glob("clips/pattern/*/test/corpora/polarity-fr-amazon.csv"))
    texts = {" ".join(words_of(text)) for text in read_column(str(path), 1)}
    assert len(texts & reviews["test"]) >= 16 and len(texts & reviews["valid"]) >= 2
    held_out = {run for split in reviews.values() for review in split for run in runs_of(review.split())}
    overlapping = sum(not held_out.isdisjoint(runs_of(text.split())) for text in texts)
    assert 18 <= overlapping < len(texts) / 4
