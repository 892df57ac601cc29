"""The text to pretrain on."""

import pytest

from checkpoint.build_corpus import hold_out, main
from common.errors import StudyError
from common.files import read_json, read_lines

REPEATS = {"files": 1, "unlabelled": 1, "train": 1}


def build(folder, novels, unlabelled, training, repeats=REPEATS, valid_fraction=0.25):
    paths = []
    for number, lines in enumerate(novels):
        paths.append(str(folder / f"novel{number}.txt"))
        (folder / f"novel{number}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, lines in (("unlabelled", unlabelled), ("training", training)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    outputs = [str(folder / name) for name in ("train.txt", "valid.txt", "manifest.json")]
    main(paths, str(folder / "unlabelled"), str(folder / "training"), *outputs, repeats, valid_fraction)
    return read_lines(outputs[0]), read_lines(outputs[1]), read_json(outputs[2])


def test_a_sources_end_is_held_out():
    # A quarter of eight lines is two.
    assert hold_out(list("abcdefgh"), 0.25) == (list("abcdef"), list("gh"))
    assert hold_out(["a"], 0.5) == (["a"], [])
    assert hold_out(["a", "b", "c"], 0.01) == (["a", "b"], ["c"])


def test_what_is_held_out_is_not_trained_on(tmp_path):
    train, valid, manifest = build(
        tmp_path, [["un", "deux", "trois", "quatre"]], ["libre 1", "libre 2"], ["critique 1", "critique 2"]
    )
    assert train == ["un", "deux", "trois", "libre 1", "critique 1"]
    assert valid == ["quatre", "libre 2", "critique 2"]
    assert [(s["kind"], s["lines"], s["lines_held_out"]) for s in manifest["sources"]] == [
        ("files", 4, 1),
        ("unlabelled", 2, 1),
        ("train", 2, 1),
    ]


def test_a_source_is_repeated_in_training_only_and_0_leaves_it_out(tmp_path):
    train, valid, _ = build(
        tmp_path, [["un", "deux"]], ["libre 1", "libre 2"], ["a", "b"], {"files": 0, "unlabelled": 2, "train": 1}
    )
    assert train == ["libre 1", "libre 1", "a"]
    assert valid == ["libre 2", "b"]


def test_each_table_has_repeats_of_its_own(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    for number, lines in ((1, "avis a\navis b\n"), (2, "avis c\navis d\n")):
        (folder / f"{number}.txt").write_text(lines, encoding="utf-8")
    for name in ("unlabelled", "training"):
        (tmp_path / name).write_text("", encoding="utf-8")
    inputs = [[], str(tmp_path / "unlabelled"), str(tmp_path / "training")]
    outputs = [str(tmp_path / name) for name in ("train.txt", "valid.txt", "manifest.json")]
    main(*inputs, *outputs, REPEATS | {"tables": [2, 1]}, 0.5, tables=str(folder))
    assert read_lines(outputs[0]) == ["avis a", "avis a", "avis c"]
    assert read_lines(outputs[1]) == ["avis b", "avis d"]
    kinds = [(source["kind"], source["repeats"]) for source in read_json(outputs[2])["sources"]]
    assert kinds == [("tables", 2), ("tables", 1)]


def test_blank_lines_and_odd_blanks_go(tmp_path):
    train, _, _ = build(tmp_path, [["\ufeffun\u00a0mot", "", "   ", "fin"]], [], [], valid_fraction=0.25)
    assert train == ["un mot"]


def test_no_text_at_all_names_the_keys(tmp_path):
    with pytest.raises(StudyError, match="checkpoint.corpus.files"):
        build(tmp_path, [], [], [])
