"""Learning curves on the page: the first screen, its charts against the files, and when they are there at all."""

import re

import pytest

from common.errors import StudyError
from common.files import read_tsv
from support.learning_study import finetuning, make_curves
from support.result_sets import check_page, make_page


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curves")
    files, settings = make_curves(folder, finetuning())
    return folder, files, settings, make_page(folder, files, settings)


def charts_of(html):
    answer = re.search(r'<section id="answer".*?</section>', html, re.DOTALL)[0]
    section = re.search('<div class="figures">.*?</div>', answer, re.DOTALL)[0]
    return answer, re.findall(r'<svg class="chart".*?</svg>', section, re.DOTALL)


def test_the_page_with_its_curves_is_borne_out_by_the_files(made):
    folder, files, settings, html = made
    check_page(folder, files, settings)
    _, charts = charts_of(html)
    # Reviews: 2 starts x 3 amounts x (1 mean + 3 seeds), and two simple models at 3 amounts.
    # Updates: 4 amounts x (1 + 3), and the two simple models across.
    assert [len(re.findall("data-row", chart)) for chart in charts] == [24 + 6, 16 + 2]
    section = re.search(r'<section id="learning-curves".*?</section>', html, re.DOTALL)[0]
    text = " ".join(re.sub(r"<[^>]+>", "", section).split())
    assert "Mean test accuracy by labelled reviews. Hugging Face, pretrained:" in text
    assert re.search(r"tfidf_words: [\d.]+&nbsp;% at 100, [\d.]+&nbsp;% at 1 800; words of tfidf_char", text)
    assert "Zero updates is the start from random weights." in html


def test_a_curve_is_in_the_order_of_its_amounts(made):
    rows = read_tsv(made[1]["learning_curve_means"])
    assert [(row["start"], int(row["amount"])) for row in rows] == [
        *(("Hugging Face, pretrained", n) for n in (100, 300, 1800)),
        *(("Hugging Face, random", n) for n in (100, 300, 1800)),
        *(("Hugging Face", n) for n in (0, 500, 1000, 9000)),
    ]
    assert all(float(row["low"]) < float(row["mean"]) < float(row["high"]) for row in rows)


def test_a_study_without_curves_has_no_such_section(made):
    files = {name: path for name, path in made[1].items() if not name.startswith("learning_curve")}
    assert '<section id="learning-curves"' not in make_page(made[0], files, made[2])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r'(<circle cx=")([\d.]+)(" cy="[\d.]+" r="4.4" data-row="5")', "the chart of learning_curves/runs.tsv"),
        (r'(<line x1="44" x2="406" y1=")([\d.]+)(")', "the chart of baselines.tsv"),
        (r'(<text class="tick" x=")([\d.]+)(" y="214">1800)', "the axis of a chart"),
    ],
)
def test_a_mark_that_is_moved_is_found(made, pattern, words):
    folder, files, settings, html = made
    place = html.index('<div class="figures">')
    changed = re.sub(pattern, lambda m: f"{m[1]}{float(m[2]) + 1:.2f}{m[3]}", html[place:], count=1)
    assert changed != html[place:]
    (folder / "report.html").write_text(html[:place] + changed, encoding="utf-8", newline="")
    with pytest.raises(StudyError, match=words):
        check_page(folder, files, settings)
