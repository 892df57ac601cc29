"""The claims checker: every published slip is flagged, every right statement passes, and the study checks itself."""

import pathlib

import numpy as np
import pytest
from scipy import stats

from check_claims import main, own_claims, read_claims
from common import claims
from common.errors import StudyError
from common.files import read_tsv, write_json, write_text, write_tsv

ROOT = pathlib.Path(__file__).parents[2] / "claims"

EXPECTED = {
    "count-positions": "holds",
    "count-encoder": "holds",
    "count-difference": "fails",  # 22 528 = 21 504 of biases and norms + 1 024 of two more positions
    "count-position-table": "holds",
    "count-slip": "fails",
    "count-position-table-again": "holds",
    "count-matrices": "holds",
    "spread-pretrained": "holds",
    "spread-random": "holds",
    "spread-huggingface": "holds",
    "spread-second": "fails",
    "headline-pretrained": "holds",
    "headline-validation": "fails",
    "pretraining-pays": "holds",
    "huggingface-better": "fails",
    "pretraining-always-ten": "cannot be decided",
    "random-varies-more": "cannot be decided",
    "pretraining-pays-again": "cannot be decided",
    "fairseq-does-not-learn": "cannot be decided",
    "huggingface-final": "cannot be decided",
    **{f"selected-{init}-{seed}": "holds" for init in ("pretrained", "random") for seed in (1, 2, 3)},
}


@pytest.fixture(scope="module")
def published():
    tables = {"published_runs.tsv": read_tsv(ROOT / "published_runs.tsv")}
    return {claim["id"]: claims.check(claim, tables) for claim in read_claims(ROOT / "published.yaml")}


def test_every_published_claim_has_its_verdict(published):
    assert {name: row["verdict"] for name, row in published.items()} == EXPECTED


def test_what_the_data_say(published):
    assert "79.93 ± 0.37 (ddof 0) or ± 0.45 (ddof 1), n = 3" in published["spread-second"]["data"]
    assert "0.71 (ddof 0) or ± 0.87 (ddof 1)" in published["spread-pretrained"]["data"]
    assert published["spread-pretrained"]["data"].endswith("printed with ddof 0")
    assert "forgets both feed-forward matrices" in published["count-slip"]["data"]
    assert "22675456" in published["count-slip"]["data"]
    assert "p = 0.29" in published["huggingface-better"]["data"] and "+0.72" in published["huggingface-better"]["data"]
    assert "p = 8.5e-05" in published["pretraining-pays"]["data"] and "+13.00" in published["pretraining-pays"]["data"]
    assert "which so few seeds keep at 0.1 or above" in published["pretraining-pays"]["data"]
    # (79.2 + 79.1 + 80.4) / 3 = 79.57
    assert (
        "79.57" in published["headline-validation"]["data"] and "validation" in published["headline-validation"]["data"]
    )
    assert "22528" in published["count-difference"]["data"] and "1024" in published["count-difference"]["data"]


def test_printed_as():
    assert claims.printed_as(79.93, "80") and not claims.printed_as(79.4, "80")
    assert claims.printed_as(0.8, "0.80") and not claims.printed_as(0.806, "0.80")
    assert claims.printed_as(8.53e-5, "8.5e-05") and not claims.printed_as(8.53e-5, "8.6e-05")
    assert claims.printed_as(-1.374, "\N{MINUS SIGN}1.37")


RUNS = [
    {"framework": "f", "init": init, "seed": str(s), "valid_accuracy": str(v), "test_accuracy": str(t)}
    for init, values in {"a": [(0.9, 0.8), (0.92, 0.82)], "b": [(0.7, 0.79), (0.7, 0.81)]}.items()
    for s, (v, t) in enumerate(values, 1)
]
CLAIM = {"id": "x", "sentence": "s", "source": "here", "table": "runs.tsv", "where": {"init": "a"}}


def verdict(assertion, **keys):
    claim = CLAIM | {"assertion": assertion} | keys
    claims.validate(claim, "here")
    return claims.check(claim, {"runs.tsv": RUNS})["verdict"]


def test_an_arm_that_the_study_has_not_is_told_from_one_whose_figures_are_not_published():
    unpublished = {"framework": "f", "init": "c", "seed": "1", "valid_accuracy": "0.9", "test_accuracy": ""}
    for arm, why in (("none", "there are no such runs"), ("c", "the figures of the single runs are not published")):
        claim = CLAIM | {"assertion": "better", "better": {"init": "a"}, "worse": {"init": arm}}
        assert claims.check(claim, {"runs.tsv": [*RUNS, unpublished]})["data"] == why


def test_headline_recognises_a_validation_figure_by_its_value():
    assert verdict("headline", value="81.0") == "holds"
    assert verdict("headline", value="91.0") == "fails"  # (90 + 92) / 2 on validation
    assert verdict("headline", value="85.0") == "fails"


def test_mean_sd_with_a_stated_ddof():
    # 80, 82: sd 1 with ddof 0, 1.41 with ddof 1
    assert verdict("mean_sd", mean="81.0", sd="1.41", ddof=1) == "holds"
    assert verdict("mean_sd", mean="81.0", sd="1.41", ddof=0) == "fails"
    assert verdict("mean_sd", mean="81.0", sd="1.00") == "holds"
    assert verdict("mean_sd", mean="81.5", sd="1.00") == "fails"
    assert verdict("mean_sd", mean="81.0", sd="1.00", where={"init": "c"}) == "cannot be decided"


def test_cell_run_and_better():
    one = {"init": "a", "seed": 1}
    assert verdict("cell", where=one, column="test_accuracy", value="80.0") == "holds"
    assert verdict("cell", where=one, column="test_accuracy", value="80.1") == "fails"
    assert verdict("cell", column="test_accuracy", value="80.0") == "cannot be decided"  # two rows
    assert verdict("run", where=one, values={"valid_accuracy": "90", "test_accuracy": "80"}) == "holds"
    assert verdict("run", where=one, values={"valid_accuracy": "91"}) == "fails"
    assert verdict("better", better={"init": "a"}, worse={"init": "b"}) == "fails"  # one point, sd 1.4
    assert verdict("better", better={"init": "a"}, worse={"init": "c"}) == "cannot be decided"
    assert verdict("better", better={"init": "a", "seed": 1}, worse={"init": "b"}) == "cannot be decided"


def answer(assertion, tables, **claim):
    claim = {"id": "c", "sentence": "s", "source": "s", "assertion": assertion} | claim
    claims.validate(claim, "claims.yaml")
    row = claims.check(claim, {"runs.tsv": tables})
    return row["verdict"], row["data"]


def history(**runs):
    """Rows of history.tsv: each run (init_seed) with its validation accuracies at updates 10, 20, ..."""
    return [
        {"framework": "f", "init": name[0], "seed": name[1], "update": str(10 * k), "split": split, "metric": metric}
        | {"value": str(value if (split, metric) == ("valid", "accuracy") else 9)}
        for name, values in runs.items()
        for k, value in enumerate(values, start=1)
        for split in ("train", "valid")
        for metric in ("loss", "accuracy")
    ]


def test_curves_are_asked():
    rows = history(a1=[0.70, 0.80], a2=[0.72, 0.82], b1=[0.60, 0.68, 0.1])
    arms = {"table": "runs.tsv", "better": {"init": "a"}, "worse": {"init": "b"}, "value": "12"}
    # Means 71 and 81 against 60 and 68: ahead by 11 and 13; the third update has no other side.
    held = ("holds", "validation, ahead by 11.0 to 13.0 points at 2 updates")
    assert answer("ahead_throughout", rows, **arms, within="1") == held
    assert answer("ahead_throughout", rows, **arms, within="0.5")[0] == "fails"
    assert answer("ahead_throughout", rows, **{**arms, "worse": {"init": "c"}}, within="1")[0] == "cannot be decided"
    rises = {"table": "runs.tsv", "where": {"init": "a"}}
    assert answer("rises", rows, **rises)[0] == "holds"
    fallen = ("fails", "validation rises in 3 of 4 steps from epoch to epoch, n = 3")
    assert answer("rises", rows, table="runs.tsv", where={}) == fallen
    assert answer("rises", history(a1=[0.7]), **rises)[0] == "cannot be decided"


def test_single_runs_are_asked():
    arms = {"a": [0.1, 0.9, 0.5, 0.4, 0.6], "b": [0.5, 0.51, 0.5, 0.49, 0.5], "c": [0.5], "d": [0.5, 0.5]}
    rows = [{"init": k, "test_accuracy": str(v), "low": "1", "high": "2"} for k, values in arms.items() for v in values]
    # Brown and Forsythe's test is analysis of variance of the distances from the arm's median.
    distances = [[abs(v - np.median(arms[k])) for v in arms[k]] for k in "ab"]
    p = stats.f_oneway(*distances).pvalue
    assert p < 0.05
    sides = {"table": "runs.tsv", "more": {"init": "a"}, "less": {"init": "b"}}
    verdict, told = answer("varies_more", rows, **sides)
    assert verdict == "holds" and told.endswith(f"5 against 5 seeds; Brown-Forsythe p = {p:.2g}")
    assert answer("varies_more", rows, **{**sides, "more": {"init": "b"}, "less": {"init": "a"}})[0] == "fails"
    for few in ("c", "e"):
        assert answer("varies_more", rows, **{**sides, "less": {"init": few}})[0] == "cannot be decided"
    assert answer("varies_more", rows, **{**sides, "more": {"init": "d"}, "less": {"init": "d"}})[0] == (
        "cannot be decided"
    )
    one = {"table": "runs.tsv", "where": {"init": "b"}, "column": "test_accuracy"}
    assert answer("near", rows, **one, value="50", within="1") == ("holds", "test_accuracy 49.00 to 51.00, n = 5")
    assert answer("near", rows, **one, value="50", within="0.9")[0] == "fails"
    assert answer("every", rows, **one, cell="0.5") == ("fails", "test_accuracy is 0.5 in 3 of 5 runs")
    assert answer("every", rows, **{**one, "where": {"init": "d"}}, cell="0.5")[0] == "holds"
    for assertion, needs in (("near", {"value": "1", "within": "1"}), ("every", {"cell": "1"})):
        assert answer(assertion, rows, **{**one, "where": {"init": "e"}}, **needs)[0] == "cannot be decided"
    assert answer("below", rows[:1], table="runs.tsv", lower="low", higher="high") == (
        "holds",
        "low against high: 1 against 2",
    )
    assert answer("below", rows, table="runs.tsv", lower="high", higher="low")[0] == "fails"
    assert answer("below", rows, table="runs.tsv", lower="low", higher="low")[0] == "fails"
    assert answer("below", [], table="runs.tsv", lower="low", higher="high")[0] == "cannot be decided"


def test_a_typed_number_is_found():
    # 80.0 is in the table in per cent, 0.92 as it stands, 3 seeds and 95 % are not
    assert claims.unproduced_numbers("80.0 and 0.92, 3 seeds, 95% interval", [0.8, 0.92]) == ["3", "95"]
    assert claims.unproduced_numbers("p = 8.5e-05, \N{MINUS SIGN}1.37 points, mC4", [8.533e-5, -0.013704]) == []
    assert verdict("produced", sentence="It reached 82.0 on test.") == "holds"
    assert verdict("produced", sentence="It reached 83.0 on test.") == "fails"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"assertion": "proved"}, "unknown assertion 'proved'"),
        ({"assertion": "mean_sd", "mean": "1"}, "lacks 'sd'"),
        ({"assertion": "headline", "value": 80.0}, "quote value as printed"),
        ({"source": ""}, "lacks 'source'"),
        ({"id": None}, "mapping with an id"),
    ],
)
def test_faulty_claims_are_named(change, message):
    with pytest.raises(StudyError, match=message):
        claims.validate(CLAIM | {"assertion": "headline", "value": "1"} | change, "claims.yaml")


def test_unknown_table_and_column_are_named():
    with pytest.raises(StudyError, match="table 'run.tsv' is not at hand"):
        verdict("headline", value="1", table="run.tsv")
    with pytest.raises(StudyError, match="no column 'arm'"):
        verdict("headline", value="1", where={"arm": "a"})


def test_faulty_files_are_named(tmp_path):
    path = tmp_path / "claims.yaml"
    for content, message in (
        ("claims: [", "not valid YAML"),
        ("a: 1", "one key, claims"),
        ("claims: [1]", "with an id"),
    ):
        write_text(path, content)
        with pytest.raises(StudyError, match=message):
            read_claims(path)
    twice = "{id: a, sentence: s, source: t, assertion: not_published, needs: n}"
    write_text(path, f"claims: [{twice}, {twice}]")
    with pytest.raises(StudyError, match="two claims have the id a"):
        read_claims(path)
    with pytest.raises(StudyError, match="is missing"):
        read_claims(tmp_path / "none.yaml")


def study(tmp_path, mean="0.81"):
    """The tables of a study of two arms, written by the study's own statistics."""
    pytest.importorskip("scipy")
    from test_statistics import OPTIONS, arm

    from compute_statistics import ARMS, LEARNED, MCNEMAR, PAIRS, compute

    arms = {("f", "a"): arm([0.8, 0.82], valid=[0.9, 0.9]), ("f", "b"): arm([0.6, 0.5, 0.5], 1, valid=[0.7, 0.5, 0.5])}
    learned, arm_rows, pairs, mcnemar = compute(arms, 0.5, OPTIONS)
    for name, rows, columns in (
        ("learned.tsv", learned, LEARNED), ("arms.tsv", arm_rows, ARMS), ("pairs.tsv", pairs, PAIRS),
        ("mcnemar.tsv", mcnemar, MCNEMAR),
    ):  # fmt: skip
        write_tsv(tmp_path / name, rows, columns)
    runs = [
        {"framework": "f", "init": init, "seed": run["seed"]}
        | {key: run[key] for key in ("valid_accuracy", "test_accuracy")}
        for (_, init), runs in arms.items()
        for run in runs
    ]
    write_tsv(tmp_path / "runs.tsv", runs, list(runs[0]))
    table = [{"framework": row["framework"], "init": row["init"], "mean": row["mean"], "sd_ddof1": row["sd_ddof1"]}
             for row in arm_rows]  # fmt: skip
    table[0]["mean"] = float(mean)
    write_tsv(tmp_path / "test_accuracy.tsv", table, list(table[0]))
    write_json(tmp_path / "method.json", {"level": 0.95})
    names = ("runs.tsv", "test_accuracy.tsv", "arms.tsv", "pairs.tsv", "mcnemar.tsv", "learned.tsv")
    return {name: str(tmp_path / name) for name in names} | {"published_runs.tsv": str(ROOT / "published_runs.tsv")}


def test_the_study_checks_its_own_text(tmp_path):
    tables = study(tmp_path)
    main(str(ROOT / "published.yaml"), [], tables, str(tmp_path / "method.json"), str(tmp_path / "claims.tsv"))
    rows = {row["id"]: row for row in read_tsv(tmp_path / "claims.tsv")}
    assert len(rows) == len(EXPECTED) + 5  # two arms: table and headline each; one pair: a verdict
    assert (
        rows["verdict f a f b"]["verdict"] == rows["table f a"]["verdict"] == rows["headline f b"]["verdict"] == "holds"
    )
    assert "2 of 3 runs of f b did not learn" in rows["verdict f a f b"]["sentence"]


def test_a_table_that_is_not_what_the_runs_say_stops_the_study(tmp_path):
    tables = study(tmp_path, mean="0.9")  # the validation figure
    with pytest.raises(StudyError, match="headline f a.*is the validation figure"):
        main(str(ROOT / "published.yaml"), [], tables, str(tmp_path / "method.json"), str(tmp_path / "claims.tsv"))
    assert not (tmp_path / "claims.tsv").exists()


def test_a_claims_file_of_the_study_is_checked(tmp_path):
    tables = study(tmp_path)
    own = "claims:\n- {id: own, sentence: a reaches SD., source: README, assertion: mean_sd, table: runs.tsv,"
    own += " where: {init: a}, mean: '81.0', sd: 'SD'}\n"
    arguments = (tables, str(tmp_path / "method.json"), str(tmp_path / "claims.tsv"))
    write_text(tmp_path / "own.yaml", own.replace("SD", "1.41"))
    main(str(ROOT / "published.yaml"), [str(tmp_path / "own.yaml")], *arguments)
    write_text(tmp_path / "own.yaml", own.replace("SD", "0.80"))
    with pytest.raises(StudyError, match="own: a reaches 0.80"):
        main(str(ROOT / "published.yaml"), [str(tmp_path / "own.yaml")], *arguments)


def test_a_verdict_with_a_typed_number_is_found(tmp_path):
    content = {name: read_tsv(path) for name, path in study(tmp_path).items()}
    content["pairs.tsv"][0]["verdict"] += " That is 17.3 times more."
    results = [claims.check(claim, content) for claim in own_claims(content, {"level": 0.95})]
    assert [row["data"] for row in results if row["verdict"] == "fails"] == ["not in pairs.tsv: 17.3"]
