"""The section on the spread by source: its sentences, its numbers against the files, and no other section changed."""

import re

import pytest

from common.files import read_tsv
from support.result_sets import check_page, make_page, write_tables
from support.spread_study import make_spread, settings_of

ARM = {"arm": "fairseq-pretrained", "vary": ["initialisation", "order", "split"], "runs": 5}
GAP = {"compare": ["fairseq-pretrained", "fairseq-random"], "vary": ["order", "split"], "runs": 20}


def made(folder, sources, **options):
    config = settings_of(sources)
    files = make_spread(folder, config, **options)
    html = make_page(folder, files, config)
    check_page(folder, files, config)
    return files, html, words_of(html)


def words_of(html):
    section = re.search('<section id="spread".*?</section>', html, re.DOTALL)
    text = re.sub(r"<svg.*?</svg>", "", section[0] if section else "", flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", "", text).replace("&nbsp;", " ").split())


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spread")
    return folder, *made(folder, [ARM])


def points(row, column):
    return f"{100 * float(row[column]):.2f}"


def test_the_sentences_say_what_the_table_has(arm):
    _, files, html, words = arm
    rows = {row["varied"]: row for row in read_tsv(files["spread_sources"])}
    whole, split = rows["all"], rows["split"]
    for row in (whole, split, rows["texts"]):
        assert (
            f"{points(row, 'spread_sd')} ({points(row, 'spread_sd_low')} to {points(row, 'spread_sd_high')})" in words
        )
    drawn = f"all of these {points(whole, 'spread_sd')}, test reviews {points(rows['texts'], 'spread_sd')}"
    assert drawn in re.search('alt="(Bars of [^"]*)"', html)[1]
    share = float(split["variance_share"])
    said = "as much as all of them together" if share >= 1 else f"{100 * share:.0f} % of the variance with all of them"
    assert f"Split alone: {points(split, 'spread_sd')}" in words and said in words
    assert "5 runs say little of a standard deviation" in words
    assert "own seeds hold the split fixed: the interval of fairseq, pretrained leaves that out" in words
    assert "20 runs beside those of the study" in words and "did not learn" not in words


def test_no_other_table_has_the_runs(arm):
    folder, files, html, _ = arm
    assert {row["arm"] for row in read_tsv(files["runs"])} == {"fairseq-pretrained", "fairseq-random"}
    assert {row["arm"] for row in read_tsv(files["spread_runs"])} == {
        f"fairseq-pretrained--{way}" for way in ("initialisation", "order", "split", "all")
    }
    outside = re.sub('<section id="spread".*?</section>', "", html, flags=re.DOTALL)
    assert "--split" not in re.sub(r"<script.*?</script>|<style.*?</style>", "", outside, flags=re.DOTALL)


def test_a_difference_is_of_pairs_of_seeds_and_failures_are_said(tmp_path):
    _, _, words = made(tmp_path, [GAP], n_right=11)
    assert "Both arms have these runs, and a seed gives one difference" in words
    assert "the difference of two runs has a standard deviation" in words
    # 11 of 20 is no more than chance gives: 2 arms, 3 ways, 20 runs.
    assert "120 of 120 runs did not learn" in words
    assert "fairseq, pretrained − fairseq, random" in words and "20 runs say little" not in words


def test_each_entry_is_a_part_of_the_section(tmp_path):
    entries = [{**ARM, "runs": 2}, {**ARM, "arm": "fairseq-random", "runs": 2}]
    _, html, _ = made(tmp_path, entries)
    assert len(re.findall("<caption[^>]*><span>Spread of fairseq, ", html)) == 2


def test_a_study_that_does_not_ask_has_no_section(tmp_path):
    config = settings_of([])
    labels = [0, 1] * 30
    own = {("fairseq", "pretrained"): dict.fromkeys((1, 2), (labels, 15))}
    files = write_tables(tmp_path, labels, own)
    assert 'id="spread"' not in make_page(tmp_path, files, config)
