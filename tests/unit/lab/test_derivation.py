"""The parameter count derived: each step by hand, each published count beside its step, a picture to scale."""

from pathlib import Path

import pytest

from analysis import build_parameter_ledger
from common.errors import StudyError
from common.files import read_tsv, write_tsv
from lab import derive_parameters, plot_parameters
from study.rule_parameters import PUBLISHED_SIZE, terms

CLAIMS = Path(__file__).resolve().parents[3] / "claims" / "published.yaml"
# V = 10, D = 4, F = 6, L = 2, P = 5.
SMALL = {"vocab_size": 10, "width": 4, "ffn_width": 6, "layers": 2, "max_positions": 5, "classes": 2}


def derived(folder, size, claims=CLAIMS):
    rows = build_parameter_ledger.analytic_rows(size) + build_parameter_ledger.published_rows()
    write_tsv(folder / "ledger.tsv", rows, tuple(rows[0]))
    derive_parameters.main(folder / "ledger.tsv", claims, folder / "derivation.tsv", folder / "symbols.tsv")
    return read_tsv(folder / "derivation.tsv"), read_tsv(folder / "symbols.tsv")


def test_the_reports_model_is_derived_with_every_published_count_at_its_step(tmp_path):
    rows, symbols = derived(tmp_path, PUBLISHED_SIZE)
    assert {row["model"] for row in rows} == {"study"}
    of = {row["part"]: row for row in rows}
    tokens = of["token embeddings"]
    assert (tokens["substituted"], tokens["count"]) == ("32\u202f000 · 512", "16384000")
    # A layer: 4 · 512² + 2 · 512 · 512 = 1 572 864, the figure of report 4; four of them 6 291 456.
    assert of["matrices of one layer"]["count"] == "1572864"
    assert of["matrices of all layers"]["count"] == "6291456"
    parts = [row for row in rows[1:] if row["scope"] == "layer" and row["substituted"].count("512") == 2]
    assert sum(int(row["count"]) for row in parts if not row["part"].endswith("together")) == 1572864
    # Report 4's subtotals: 3 · 512² = 786 432, 2 · 512 · 512 = 524 288, 16 384 000 + 258 · 512 = 16 516 096.
    subtotals = {part: (of[part]["count"], of[part]["published"], of[part]["source"], of[part]["total"]) for part in (
        "query, key and value matrices together", "both feed-forward matrices together",
        "matrices of one layer", "token and position embeddings together",
    )}  # fmt: skip
    four = "report 4, question 1"
    assert [*subtotals.values()] == [
        (number, number, four, "") for number in ("786432", "524288", "1572864", "16516096")
    ]
    # Question 1 of reports 1 to 5: who gave which count, and after which step.
    published = {
        row["part"]: (row["published"], row["source"]) for row in rows if row["source"] and row["part"] not in subtotals
    }
    assert published == {
        "output projection W_o": ("20578304", "report 3, question 1"),
        "matrices of all layers": ("22675456", "report 5, question 1"),
        "positions": ("22806528", "report 1, question 1"),
        "two further rows of the position table": ("22807552", "report 2, section 1; report 4, question 1"),
        "biases and LayerNorms of all layers, LayerNorm of the embeddings": ("22829056", "report 1, question 1"),
    }
    assert [row["published"] for row in rows if row["published"] and row["part"] not in subtotals] == [
        *("20578304", "22675456", "22806528", "22807552", "22829056", "23092738", "23093250", "23388418")
    ]
    totals = [row for row in rows if row["published"] and row["scope"] == "model" and row["part"] not in subtotals]
    assert len(totals) == 7 and all(row["total"] == row["published"] for row in totals)
    assert of["output projection W_o"]["note"].startswith("wrong: ")
    assert [(row["symbol"], row["study_value"]) for row in symbols] == [
        *(("V", "32000"), ("D", "512"), ("F", "512"), ("L", "4"), ("P", "256"))
    ]


def test_where_the_reports_do_not_matter_neither_their_model_nor_their_counts_appear(tmp_path):
    for size in (SMALL, PUBLISHED_SIZE):
        rows, _ = derived(tmp_path, size, claims=[])
        assert {row["model"] for row in rows} == {"study"} and not any(row["published"] for row in rows)


def test_another_size_by_hand_has_the_reports_model_beside_it(tmp_path):
    rows, symbols = derived(tmp_path, SMALL)
    study = [row for row in rows if row["model"] == "study"]
    assert not any(row["published"] for row in study) and any(row["published"] for row in rows)
    # 10·4 = 40; three 4·4, together 48; 4·4, 4·6, 6·4, together 48; one layer 112, two 224; 5·4 = 20; 2·4 = 8; 40 + 20
    # + 8 = 68; biases 4·4 + 6 + 4 = 26, LayerNorms 16; 2·(26 + 16) + 2·4 = 92; head 16 + 4 + 8 + 2 = 30; 4; 38.
    assert [int(row["count"]) for row in study] == [
        *(40, 16, 16, 16, 48, 16, 24, 24, 48, 112, 224, 20, 8, 68, 26, 16, 92, 30, 4, 38)
    ]
    # 40, + 224, + 20, + 8, + 92, + 30, then + 4 in Hugging Face or + 38 in fairseq.
    assert [int(row["total"]) for row in study if row["total"]] == [40, 264, 284, 292, 384, 414, 418, 452]
    assert study[10]["substituted"] == "2 · (4 · 4 · 4 + 2 · 4 · 6)"
    assert symbols[0] == {
        "symbol": "V",
        "meaning": "entries of the vocabulary",
        "study_value": "10",
        "reports_value": "32000",
    }


def test_sizes_are_those_of_the_ledgers_terms(tmp_path):
    rows = [{"section": "term", "item": name, "count": count} for name, (_, count) in terms(**SMALL).items()]
    assert derive_parameters.sizes(rows) == SMALL
    wrong = [row | {"count": row["count"] + 1} if row["item"] == "vectors" else row for row in rows]
    with pytest.raises(StudyError, match="vectors do not fit"):
        derive_parameters.sizes(wrong)
    with pytest.raises(StudyError, match="lacks a term"):
        derive_parameters.sizes([row for row in rows if row["item"] != "shift"])


def test_the_picture_is_to_scale_and_the_same_bytes_again(tmp_path):
    rows, _ = derived(tmp_path, SMALL)
    above, below = plot_parameters.draw(rows).axes
    # Tokens 40, positions 20 + 8, matrices 224, biases and LayerNorms 92, head 30.
    assert [bar.get_width() for bar in above.patches] == [40, 28, 224, 92, 30]
    assert [bar.get_width() for bar in below.patches] == [16, 16, 16, 16, 24, 24, 42]
    assert above.get_title(loc="left") == "The classifier: 414 parameters"
    made = [[tmp_path / f"{name}.{ending}" for ending in ("svg", "png")] for name in "ab"]
    for paths in made:
        plot_parameters.main(tmp_path / "derivation.tsv", *paths)
    assert [path.read_bytes() for path in made[0]] == [path.read_bytes() for path in made[1]]
    write_tsv(tmp_path / "derivation.tsv", rows[:3], tuple(rows[0]))
    with pytest.raises(KeyError):
        plot_parameters.main(tmp_path / "derivation.tsv", *made[0])
