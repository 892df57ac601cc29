"""The unit of lengths: words, or characters where most letters are of scripts that put no blanks between words."""

import pytest

from checkpoint.build_corpus import gather
from common.files import read_json, write_lines
from data.build_splits import main
from data.words import count_words, length_unit, measure_lengths, unit_of

CHINESE = ["這本書寫得非常好、我從頭到尾一口氣讀完了。", "普通的一本書", "不好看 浪費時間"]


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        (CHINESE, "characters"),
        (["この本はとても面白い", "ｺﾉﾎﾝﾊﾂﾏﾗﾅｲ"], "characters"),
        (["หนังสือเล่มนี้สนุกมาก"], "characters"),
        (["བོད་སྐད་ཀྱི་དེབ"], "characters"),
        (["ꦱꦸꦒꦼꦁꦫꦮꦸꦃ"], "characters"),
        # Korean has blanks, and a name in other letters decides nothing.
        (["이 책은 정말 재미있다"], "words"),
        (["Un livre sur la Chine (中国), à lire"], "words"),
        (["iPhone 手機的電池太差了完全不能用"], "characters"),
        # Nine letters of each: the majority decides.
        (["abcdefghi 一二三四五六七八九"], "words"),
        (["12 !! 👍"], "words"),
        ([], "words"),
    ],
)
def test_most_letters_decide(texts, unit):
    assert length_unit(texts) == unit


def test_lengths_by_hand():
    # 3 and 4 characters, the blank between them is none; pairs have a tab.
    texts = ["不好看 浪費時間", "一本書\t好"]
    assert measure_lengths(texts, "characters") == [7, 4]
    assert measure_lengths(texts, "words") == [2, 2]


def test_words_of_a_corpus(tmp_path):
    assert count_words(["deux mots", "un"]) == 3
    # 7 letters each; a comma ends none.
    assert count_words(["不好看 浪費時間", "一二三四五六七"]) == 14
    write_lines(tmp_path / "a.txt", ["不好看 浪費時間"])
    (entry,) = gather([("files", str(tmp_path / "a.txt"), 1)], 0.0)[2]
    assert entry["words"] == 7


@pytest.mark.parametrize(("texts", "unit"), [(CHINESE, "characters"), (["un livre", "deux pages", "trois"], "words")])
def test_the_manifest_records_the_unit_where_it_is_not_words(tmp_path, texts, unit):
    for split in ("train", "test"):
        rows = [f"{texts[k % len(texts)]}{split}{k},{k % 2}" for k in range(8)]
        write_lines(tmp_path / f"{split}.csv", ["text,label", *rows])
    names = {kind: [str(tmp_path / f"{split}.{kind}") for split in ("train", "valid", "test")] for kind in ("r", "l")}
    table = {"splits": ["train", "test"], "text": "text", "label": "label", "language": None, "licence": None}
    main(
        source="table", files=[str(tmp_path / "train.csv"), str(tmp_path / "test.csv")], addresses=["a", "b"],
        reviews=names["r"], labels=names["l"], unlabelled=str(tmp_path / "u"), pretraining=str(tmp_path / "p"),
        manifest=str(tmp_path / "manifest.json"), n_train=None, n_valid=None, n_test=None, split_seed=1, embedded=None,
        classes=["0", "1"], table=table,
    )  # fmt: skip
    manifest = read_json(tmp_path / "manifest.json")
    assert manifest.get("length_unit", "words") == unit_of(manifest) == unit
    assert ("length_unit" in manifest) == (unit == "characters")
