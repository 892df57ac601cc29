"""The page has two parts: a report of few screens, and an appendix with contents of its own."""

import random
import re

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from common.files import read_tsv, write_tsv
from report import sections
from report.asked import answered
from report.forest import forest
from report.numbers import Value
from support.report_study import make_study
from support.result_sets import check_page, make_page, make_rest, settings_of, simulated, write_tables

ARMS = [("fairseq", "pretrained"), ("fairseq", "random"), ("huggingface", "pretrained")]
ROW = {"answer": "open", "n_runs_then": "0", "n_failed": "0", "measure": "accuracy", "score_difference": "0.05"}
ROW |= {"equal_within": "", "texts_half_width": "0.01", "failure_high": "0.7", "seeds_planned": "6", "level": "0.95"}
ROW |= {"contrast": "a - b", "score_difference_low": "-0.02", "score_difference_high": "0.12", "ask": "Is it so?"}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """(folder, inputs, settings, page) of three arms."""
    folder = tmp_path_factory.mktemp("parts")
    labels, runs = simulated(random.Random(3), 200, ARMS, [1, 2, 3], [0.8, 0.66, 0.81])
    files, settings = write_tables(folder, labels, runs) | make_rest(folder, random.Random(3)), settings_of(runs)
    return folder, files, settings, make_page(folder, files, settings)


def of(**changes):
    """A question with these cells, as the page has it."""
    return answered({name: Value(text, "questions.tsv", 2, name) for name, text in (ROW | changes).items()})


def words_of(html):
    return " ".join(re.sub(r"<[^>]+>", "", re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL)).split())


def test_the_report_comes_first_and_all_else_is_in_the_appendix(page):
    main = page[3].partition('<main id="main">')[2]
    report, _, appendix = main.partition('<div class="appendix" id="appendix">')
    parts = [re.findall(r'<section id="([^"]*)"', part) for part in (report, appendix)]
    assert parts[0] == ["answer", "training", "hours"]
    assert {"test-accuracy", "audit", "protocol", "ledgers", "methods", "provenance"} <= set(parts[1])
    # The appendix's own contents lead to each of its sections, and the page's to both parts.
    own = appendix.partition("</nav>")[0]
    assert set(re.findall(r'href="#([^"]*)"', own)) == set(parts[1])
    side = page[3].partition('<nav class="side"')[2].partition("</nav>")[0]
    assert set(re.findall(r'href="#([^"]*)"', side)) == {*parts[0], *parts[1], "appendix"}


def test_a_section_without_a_part_is_in_the_appendix():
    found = {name: part for name, part, *_ in sections.sections()}
    assert {name for name, part in found.items() if part == sections.REPORT} == {"answer", "training", "hours"}
    assert found["audit"] == sections.APPENDIX and [*found.values()] == sorted(found.values(), reverse=True)


def test_the_first_question_is_the_title_and_a_line_says_what_was_studied(page):
    folder, files, settings, html = page
    (first, second) = [row["ask"] for row in read_tsv(files["questions"])]
    assert f"<title>{first}</title>" in html and words_of(re.search("<h1>.*?</h1>", html)[0]) == first
    line = words_of(re.search('<p class="study">.*?</p>', html, re.DOTALL)[0])
    assert line.startswith("Study simulated, 2 questions: one class for each review (negative or positive);")
    assert "1 800 training, 20 validation and 200 test reviews. 3 arms (ways of training) with 9 runs" in line
    assert "a checkpoint that this study pretrained" in line
    # Without questions the study's name is the title.
    without = {name: path for name, path in files.items() if name != "questions"}
    assert "<title>Study simulated: report</title>" in make_page(folder, without, settings)


def test_every_question_has_its_interval_and_the_simple_models_their_lines(page):
    folder, files, settings, html = page
    make_page(folder, files, settings)
    check_page(folder, files, settings)
    assert len(re.findall(r'<details class="finding ', html)) == len(read_tsv(files["questions"])) == 2
    answer = re.search(r'<section id="answer".*?</section>', html, re.DOTALL)[0]
    assert answer.count('data-at="x1=score_difference_low x2=score_difference_high"') == 2
    # The constant model has the dotted line, that of the largest class.
    lines = re.findall(r'<line [^>]*class="baseline"', answer)
    assert len(lines) == len([row for row in read_tsv(files["baselines"]) if row["baseline"] != "majority"]) == 2


def test_a_simple_model_that_is_ahead_is_named_beside_the_leading_arm(page):
    folder, files, settings, _ = page
    rows, found = read_tsv(files["baselines"]), []
    for score in ("0.51", "0.91"):
        for row in rows:
            row["test_accuracy"] = "0.5"
        rows[-1]["test_accuracy"] = score
        write_tsv(folder / "changed.tsv", rows, tuple(rows[0]))
        html = make_page(folder, files | {"baselines": str(folder / "changed.tsv")}, settings)
        found.append(words_of(re.search('<p class="lead">.*?</p>', html, re.DOTALL)[0]))
    assert all(lead.startswith("Hugging Face, pretrained has the highest mean test accuracy") for lead in found)
    assert "imple model" not in found[0]
    assert found[1].endswith(f"A simple model is ahead: {rows[-1]['features']} with 91.00&nbsp;%.")


@pytest.mark.parametrize(
    ("changes", "axes"),
    [([{}, {}], [False, True]), ([{}, {"measure": "mcc"}, {}], [False, True, True])],
)
def test_questions_of_one_unit_share_an_axis_whose_numbers_are_below_the_last(changes, axes):
    drawn = forest([of(**change) for change in changes], "label")
    assert ["data-ticks" in str(chart) for chart in drawn] == axes


def test_a_question_of_one_seed_has_a_dot_alone_and_a_margin_is_drawn_around_zero():
    (alone,) = forest([of(score_difference_low="", score_difference_high="")], "label")
    assert alone.count("<circle") == 1 and 'class="mean"' not in alone
    (margin,) = forest([of(equal_within="0.03")], "label")
    left, right = map(float, re.search(r'<line x1="([\d.]+)" x2="([\d.]+)"[^>]*class="margin"', str(margin)).groups())
    zero = float(re.search(r'class="majority" x1="([\d.]+)"', str(margin))[1])
    assert zero - left == pytest.approx(right - zero, abs=0.02) and left < zero


def test_an_arm_has_a_panel_of_its_own_and_all_share_one_pair_of_axes(tmp_path):
    files, settings = make_study(tmp_path), {"study": "published"}
    html = make_page(tmp_path, files, settings)
    training = re.search(r'<section id="training".*?</section>', html, re.DOTALL)[0]
    panels = re.findall(r'<figure data-arm="(\d)">.*?</figure>', training, re.DOTALL)
    # Three arms, twice: accuracy and loss.
    assert panels == ["0", "1", "2"] * 2
    for row in training.split('<div class="multiples">')[1:]:
        axes = set(re.findall(r'data-ticks="y" data-unit="\d+" data-y="([^"]*)"', row))
        assert len(axes) == 1
    check_page(tmp_path, files, settings)


def test_time_is_in_hours_where_it_took_an_hour(page, tmp_path):
    folder, files, settings, html = page
    # Seeds 1 to 3 of three arms: 3 * (11.25 + 12.25 + 13.25) s = 110.25 s.
    assert "All 9 runs trained for 1.8 minutes together" in words_of(html)
    rows = [row | {"train_seconds": "7200"} for row in read_tsv(files["runs"])]
    write_tsv(tmp_path / "runs.tsv", rows, tuple(rows[0]))
    long = make_page(tmp_path, files | {"runs": str(tmp_path / "runs.tsv")}, settings)
    assert "All 9 runs trained for 18.0 hours together" in words_of(long)


def test_a_folded_table_of_very_many_rows_is_a_file_beside_the_page(page, tmp_path):
    folder, files, settings, html = page
    rows = read_tsv(files["learned"])
    assert "its rows are in the file" not in html
    for n, there in ((200, True), (201, False)):
        write_tsv(tmp_path / "learned.tsv", [rows[0] | {"seed": str(k)} for k in range(n)], tuple(rows[0]))
        section = make_page(tmp_path, files | {"learned": str(tmp_path / "learned.tsv")}, settings)
        section = re.search(r'<section id="learned".*?</section>', section, re.DOTALL)[0]
        assert section.count("<tr") > n if there else "its rows are in the file" in section and section.count("<tr") < 9
        assert 'href="learned.tsv"' in section
