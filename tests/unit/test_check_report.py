"""Every number of the report's prose is traced to the file that has it."""

import json

import pytest

import check_report
from common.errors import StudyError
from common.files import read_tsv, study_path, write_json, write_text, write_tsv

PAGE = """<!doctype html><html><head><title>1234</title><style>p {{ margin: 77px }}</style></head><body>
<p>The mean is <b>79.50</b>&nbsp;% over 3 seeds, on 2\u202f000 reviews; {typed}</p>
<table><caption>Of 4 rows</caption><tr><td>5555</td></tr></table><svg><text>6666</text></svg>
<p>Set <code>lr=0.125</code>; sd \u22120.0087.</p></body></html>"""


@pytest.fixture
def study(tmp_path):
    write_tsv(tmp_path / "runs.tsv", [{"arm": "a", "mean": 0.795, "sd": 0.0087}] * 4, ("arm", "mean", "sd"))
    write_json(tmp_path / "manifest.json", {"n_test": 2000, "seeds": [7, 8, 9]})
    return tmp_path


def run(study, typed="so says SHA-256.", settings=None):
    write_text(study / "report.html", PAGE.format(typed=typed))
    tables = [str(study / "runs.tsv"), str(study / "manifest.json")]
    check_report.main(str(study / "report.html"), tables, settings or {}, str(study / "numbers.tsv"))
    return read_tsv(study / "numbers.tsv")


def test_numbers_are_found_where_they_stand(study):
    rows = {row["number"]: row for row in run(study)}
    # Tables, drawings and code show their files themselves.
    assert rows.keys() == {"79.50", "3", "2000", "\u22120.0087"}
    assert (rows["79.50"]["file"], rows["79.50"]["place"]) == (str(study / "runs.tsv"), "line 2, mean")
    assert rows["2000"]["place"] == "n_test"
    assert rows["3"]["place"] == "entries of seeds"
    assert rows["2000"]["text"].startswith("The mean is 79.50 % over 3 seeds, on 2000 reviews")


@pytest.mark.parametrize("typed", ["it is 79.51 %.", "p = 0.04.", "41 of them."])
def test_a_typed_number_is_an_error_that_names_it(study, typed):
    with pytest.raises(StudyError, match=r"report.html: 1 numbers are in no file of the study: [\d.]+ in 'The mean"):
        run(study, typed)
    assert not (study / "numbers.tsv").exists()


def test_settings_may_be_quoted(study):
    rows = run(study, "p < 0.04.", {"statistics": {"level": 0.04}})
    assert {"config"} == {row["file"] for row in rows if row["number"] == "0.04"}


def test_of_a_long_table_only_counts_may_be_quoted(study):
    long = [{"id": i, "outcome": "wrong" if i < 31 else "right"} for i in range(check_report.LONG + 1)]
    write_tsv(study / "errors.tsv", long, ("id", "outcome"))
    found = dict(check_report.numbers_of(str(study / "errors.tsv")))
    assert found == {201: "distinct values of id", 2: "distinct values of outcome", 31: "rows with outcome wrong"} | {
        170: "rows with outcome right"
    }


def test_settings_are_walked():
    found = list(check_report.walk(json.loads('{"a": {"b": [1, true, "2 of x"]}}'), ""))
    assert found == [(3, "entries of a.b"), (1, "a.b[0]"), (2.0, "a.b[2]")]


@pytest.mark.parametrize(
    "path, stated",
    [
        ("results/tiny/runs.tsv", "results/tiny/runs.tsv"),
        (".snakemake/storage/s3/bucket/folder/results/tiny/runs.tsv", "results/tiny/runs.tsv"),
        ("/scratch/job-1/s3/bucket/resources/host/results/a.txt", "resources/host/results/a.txt"),
        ("./novel.txt", "novel.txt"),
        ("my-results/novel.txt", "my-results/novel.txt"),
    ],
)
def test_records_name_files_as_the_rules_do(path, stated):
    assert study_path(path) == stated
