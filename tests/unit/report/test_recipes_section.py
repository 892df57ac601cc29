"""A grid of recipes on the page: the first screen, its charts against the files, and when it is there at all."""

import re

import pytest

from analysis import plot_recipes
from common.arms import percent
from common.errors import StudyError
from common.files import read_json, read_tsv, write_json, write_tsv
from support.recipe_study import finetuning, make_recipes, make_whole_study, parts
from support.result_sets import check_page, make_page
from support.settings import defaults


def page_of(folder, section, make=None, **options):
    if make:
        files, settings = make(folder, section)
    else:
        files = make_recipes(folder, section, n_test=200, **options)
        settings = defaults() | {"study": "simulated", "finetuning": section}
    if "recipe_differences" in files:
        figure = [str(folder / "figures" / f"recipes.{ending}") for ending in ("svg", "png")]
        tables = [files[name] for name in ("recipes", "recipe_differences", "recipe_runs")]
        plot_recipes.main(*tables, files["manifest"], *figure)
        files["recipe_figure"] = figure[0]
    return files, settings, make_page(folder, files, settings)


def section_of(html, name="answer"):
    return re.search(f'<section id="{name}".*?</section>', html, re.DOTALL)[0]


def charts_of(html):
    figures = re.search('<div class="figures">.*?</div>', section_of(html), re.DOTALL)[0]
    return re.findall(r'<svg class="chart".*?</svg>', figures, re.DOTALL)


def words_of(html, name="answer"):
    text = re.sub(r"<svg.*?</svg>", "", section_of(html, name), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", "", text).replace("&nbsp;", " ").split())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    return folder, *page_of(folder, finetuning(), make_whole_study)


def test_the_page_with_its_charts_is_borne_out_by_the_files(made):
    folder, files, settings, html = made
    check_page(folder, files, settings)
    # Two numbers of epochs; on each panel two lines, 2 + 2 means, 2 starts x 2 rates x 3 seeds, 2 x 3 of differences.
    charts = charts_of(html)
    assert len(charts) == 2
    assert [len(re.findall("data-row", chart)) for chart in charts] == [4 + 12 + 6] * 2


def test_the_dots_of_a_rate_lie_at_its_tick(made):
    """The axis is logarithmic for both; the two starts stand 4 units aside."""
    chart = charts_of(made[3])[0]
    ticks = [float(x) for x in re.findall(r'<text class="tick" x="([\d.]+)" y="204">', chart)]
    dots = {float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="4.4" data-row', chart)}
    beside = {round(tick + side, 2) for tick in ticks for side in (-4, 0, 4)}
    assert len(ticks) == 2 and sorted(dots) == pytest.approx(sorted(beside), abs=0.011)


def test_the_first_screen_leads_with_what_validation_chose(made):
    """The highest of many test means would be read as the answer."""
    _, files, _, html = made
    best = {row["init"]: row for row in read_tsv(files["recipes"]) if row["best"] == "true"}
    lead = "With the learning rate and number of epochs that validation chose for each start, pretrained weights get {}"
    text = words_of(html)
    assert lead.format(percent(best["pretrained"]["mean"])) in text.partition("Does ")[0]
    assert f"random ones {percent(best['random']['mean'])} %" in text and "has the highest mean" not in text
    assert re.search("<details>\n<summary>Every pair of arms", html)
    chart = re.search("<details>\n<summary>Test accuracy of every seed, by arm.*?</details>", html, re.DOTALL)[0]
    assert "<svg" in chart
    assert "so a chosen mean on test is a little too high" in words_of(html, "recipes")


def test_a_simple_model_that_is_ahead_of_what_validation_chose_is_named(made, tmp_path):
    folder, files, settings, _ = made
    rows, found = read_tsv(files["baselines"]), []
    for score in ("0.01", "0.99"):
        for row in rows:
            row["test_accuracy"] = "0.01"
        rows[-1]["test_accuracy"] = score
        write_tsv(tmp_path / "changed.tsv", rows, tuple(rows[0]))
        html = make_page(folder, files | {"baselines": str(tmp_path / "changed.tsv")}, settings)
        found.append(re.search('<p class="lead">.*?</p>', html, re.DOTALL)[0])
    assert "imple model" not in found[0]
    assert "A simple model is ahead" in found[1] and rows[-1]["features"] in found[1]


def test_many_arms_to_choose_from_are_folded(made, tmp_path):
    """Eight stand open; twelve would push the answer off a phone's first screen."""
    choice = r'<details>\n<summary>Arms shown</summary>\n<fieldset class="arms" aria-label="Arms shown">'
    assert not re.search(choice, made[3]) and made[3].count('id="show-arm-') == 8
    *_, html = page_of(tmp_path, finetuning(epochs=(5, 10, 15)))
    assert re.search(choice, html) and html.count('id="show-arm-') == 12


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    return folder, *page_of(folder, parts(), make_whole_study)


def test_starts_that_share_no_recipe_have_one_each_by_validation(several):
    """The choice leads the page; no arm that validation left out is told ahead of another start's."""
    folder, files, settings, html = several
    check_page(folder, files, settings)
    rows, text = read_tsv(files["recipes"]), words_of(html)
    best = {row["start"]: row for row in rows if row["best"] == "true"}
    assert len(rows) == 4 and len(best) == 2 and "recipe_differences" not in files
    kept = {"all", *(row["arm"] for row in best.values())}
    means = {row["arm"]: float(row["mean"]) for row in read_tsv(files["test_accuracy"])}
    highest = max(kept, key=means.get)
    lead = f"Each start with the settings that validation chose: {highest} has the highest mean test accuracy"
    assert lead in text.partition("Does ")[0]
    assert "first screen draws them all" not in words_of(html, "recipes")
    # There is no other figure to look at first.
    assert "<details>\n<summary>Test accuracy of every seed, by arm" not in html
    assert re.search('<div class="evidence">.*<svg', section_of(html), re.DOTALL)


def test_the_best_on_test_leads_only_where_validation_chose_it(several):
    """In this draw an arm that was not chosen is above its start's choice on test."""
    rows = read_tsv(several[1]["recipes"])
    chosen = {row["start"]: float(row["mean"]) for row in rows if row["best"] == "true"}
    assert any(float(row["mean"]) > chosen[row["start"]] for row in rows)


def test_one_start_of_several_recipes_has_no_rival(tmp_path):
    section = parts()
    section["arms"] = {name: arm for name, arm in section["arms"].items() if name.startswith("frozen")}
    files, settings, html = page_of(tmp_path, section, make_whole_study)
    assert "All arms have one start. With the settings that validation chose, mean test accuracy of frozen" in words_of(
        html
    )
    check_page(tmp_path, files, settings)


def test_one_seed_and_one_rate_are_drawn(tmp_path):
    files, settings, html = page_of(tmp_path, finetuning(rates=(3.0e-4,)) | {"seeds": [1]}, seeds=(1,))
    assert len(charts_of(html)) == 2
    check_page(tmp_path, files, settings)


def test_a_study_without_several_recipes_has_no_such_section(made, tmp_path):
    files = {name: path for name, path in made[1].items() if not name.startswith("recipe")}
    assert '<section id="recipes"' not in make_page(made[0], files, made[2])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        # A seed's dot, a bound of an interval, a rate's tick on the logarithmic axis.
        (r'(<circle cx="[\d.]+" cy=")([\d.]+)(" r="4.4" data-row="3")', "the chart of recipes/runs.tsv"),
        (r'(<line x1="[\d.]+" x2="[\d.]+" y1=")([\d.]+)(" y2="[\d.]+" class="joint")', "recipes/differences.tsv"),
        (r'(<text class="tick" x=")([\d.]+)(" y="204">3e-4)', "the axis of a chart"),
        # A printed rate in the table.
        (r'( data-of="[^"]+">)(3)(e-4</td>)', "it should be 3e-4"),
    ],
)
def test_a_mark_that_is_moved_is_found(made, tmp_path, pattern, words):
    folder, files, settings, html = made
    place = html.index('<div class="figures">')
    changed = re.sub(pattern, lambda m: f"{m[1]}{float(m[2]) + 1:g}{m[3]}", html[place:], count=1)
    assert changed != html[place:]
    (folder / "report.html").write_text(html[:place] + changed, encoding="utf-8", newline="")
    with pytest.raises(StudyError, match=words):
        check_page(folder, files, settings)
    (folder / "report.html").write_text(html, encoding="utf-8", newline="")


def test_the_figure_is_the_same_bytes_and_says_what_it_holds(tmp_path):
    files = make_recipes(tmp_path, finetuning())
    made = []
    for place in ("a", "b"):
        figure = [str(tmp_path / f"{place}.{ending}") for ending in ("svg", "png")]
        tables = [files[name] for name in ("recipes", "recipe_differences", "recipe_runs")]
        plot_recipes.main(*tables, files["manifest"], *figure)
        made.append([open(path, "rb").read() for path in figure])
    assert made[0] == made[1]
    text = made[0][0].decode()
    for words in ("5 epochs", "10 epochs", "1e-5", "3e-4", "learning rate (logarithmic)", "pretrained minus"):
        assert words in text


def test_texts_of_ones_own_are_not_called_reviews(tmp_path):
    files, settings, _ = page_of(tmp_path, finetuning(), make_whole_study)
    manifest = read_json(files["manifest"])
    write_json(files["manifest"], manifest | {"source": "table", "language": "fr", "licence": "none"})
    html = make_page(tmp_path, files, settings)
    headings = re.findall("<th scope=.col.*?</th>", section_of(html, "recipes"))
    assert "Interval over seeds and texts" in " ".join(re.sub("<[^>]+>", "", heading) for heading in headings)
    assert "review" not in words_of(html, "recipes")


def test_the_pairs_of_arms_are_folded_once_and_exploratory(tmp_path):
    files, settings = make_whole_study(tmp_path, finetuning((1.0e-5, 3.0e-4), (2, 5, 10)))
    files = {name: path for name, path in files.items() if not name.startswith("recipe")}
    answer = section_of(make_page(tmp_path, files, settings))
    assert answer.count('<table class="matrix">') == 1
    (folded,) = re.findall("<details>\n<summary>Every pair of arms.*?</details>", answer, re.DOTALL)
    assert '<table class="matrix">' in folded and "Exploratory" in folded
    check_page(tmp_path, files, settings)


@pytest.mark.parametrize(
    ("rates", "epochs", "varied"),
    [
        ((1e-5, 3e-4), (5,), "learning rate"),
        ((1e-5,), (5, 10), "number of epochs"),
        ((1e-5, 3e-4), (5, 10), "learning rate and number of epochs"),
    ],
    ids=["rates", "epochs", "both"],
)
def test_what_validation_chose_is_what_was_varied(tmp_path, rates, epochs, varied):
    _, _, html = page_of(tmp_path, finetuning(rates, epochs), make_whole_study)
    assert f"With the {varied} that validation chose for each start, pretrained weights get" in words_of(html)
