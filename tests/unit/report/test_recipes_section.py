"""A grid of recipes on the page: the first screen, its charts against the files, and when it is there at all."""

import random
import re

import pytest

from analysis import plot_recipes
from common.arms import percent
from common.errors import StudyError
from common.files import read_json, read_tsv, write_json, write_tsv
from report.sections.recipes.facts import judge
from support.recipe_study import CHANCES, finetuning, make_recipes, make_whole_study, parts
from support.result_sets import check_page, make_page, make_rest
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


def test_it_answers_with_the_two_recipes_that_differ(made):
    text = words_of(made[3])
    assert "Does the answer depend on the recipe? Yes With learning rate 1e-5 and" in text
    assert "with learning rate 3e-4 and" in text and "points apart (joint 95 % interval" in text
    assert "they leave out that other seeds might have chosen others" in words_of(made[3], "recipes")


def test_the_first_screen_leads_with_what_validation_chose_and_tells_no_pairs_of_the_grid(made):
    """The highest of many test means, and a question for each pair of arms, would be read as the answer."""
    _, files, _, html = made
    best = {row["init"]: row for row in read_tsv(files["recipes"]) if row["best"] == "true"}
    lead = "With the learning rate and the epochs that validation chose for each start, pretrained weights get {} % on"
    text = words_of(html)
    assert text.startswith(f"The answer {lead.format(percent(best['pretrained']['mean']))}")
    assert f"random ones {percent(best['random']['mean'])} %" in text
    assert "Does pretraining help, each start with its own recipe? " in text
    told_alone = "Which learning rate, how many epochs?", "Do learning rate and epochs matter?"
    for words in ("Does pretraining help? ", "own settings matter", "has the highest mean", *told_alone):
        assert words not in text
    assert text.index("pretrained minus random is") < text.index("Do the arms beat a simple model?")
    (simple,) = re.findall("Do the arms beat a simple model.*?takes part with its own recipe", text)
    named = set(re.findall(r"[a-z]+-lr[0-9.e-]+-epochs[0-9]+", simple))
    assert named == {row["arm"] for row in best.values()}
    assert re.search("<details>\n<summary>Every pair of arms", html)
    chart = re.search("<details>\n<summary>Test accuracy of every seed, by arm.*?</details>", html, re.DOTALL)[0]
    assert "<svg" in chart


def test_many_arms_to_choose_from_are_folded(made, tmp_path):
    """Eight stand open; twelve would push the answer off a phone's first screen."""
    choice = r'<details>\n<summary>Arms shown</summary>\n<fieldset class="arms" aria-label="Arms shown">'
    assert not re.search(choice, made[3]) and made[3].count('id="show-arm-') == 8
    *_, html = page_of(tmp_path, finetuning(epochs=(5, 10, 15)))
    assert re.search(choice, html) and html.count('id="show-arm-') == 12


@pytest.mark.parametrize(
    ("chances", "short", "kind"),
    [((0.75, 0.75), "Not shown", "open"), ((0.95, 0.5), "Yes", "shown"), ((0.5, 0.95), "No, it harms", "against")],
)
def test_own_recipes_are_told_with_their_sign(tmp_path, chances, short, kind):
    by_start = dict(zip(("pretrained", "random"), chances, strict=True))
    files, settings, html = page_of(tmp_path, finetuning(), chances={key: by_start[key[0]] for key in CHANCES})
    own = re.search('<div class="finding ([a-z]+)">\n<h3>[^<]*own recipe[^<]*<span class="verdict">([^<]+)<', html)
    assert (own[2], own[1]) in ((short, kind), (f"{short}, assuming normality", "partly"))
    check_page(tmp_path, files, settings)


def test_arms_beside_a_grid_keep_their_questions(tmp_path):
    """Of a grid in one framework and a pair in the other, the pair is told."""
    section = finetuning(epochs=(5,))
    training = {"lr": 1.0e-5, "epochs": 5}
    section["arms"] |= {
        f"f-{init}": {"framework": "fairseq", "model": "checkpoint", "init": init, "training": training}
        for init in ("pretrained", "random")
    }
    files, settings, html = page_of(tmp_path, section, make_whole_study)
    text = words_of(html)
    assert "Does pretraining help, each start with its own recipe?" in text and "Does pretraining help? " in text
    check_page(tmp_path, files, settings)


def test_two_starts_with_a_recipe_each_name_the_seeds_that_would_settle_their_difference(tmp_path):
    """As studies/best-recipes.yaml has them: no grid, but what the grid chose."""
    section = finetuning(epochs=(5,))
    section["arms"] = {
        name: section["arms"][name] for name in ("pretrained-lr1e-05-epochs5", "random-lr0.0003-epochs5")
    }
    files = make_recipes(tmp_path, section, n_test=200)
    files |= make_rest(tmp_path, random.Random(1), list(section["arms"]))
    assert "recipes" not in files
    settings = defaults() | {"study": "simulated", "finetuning": section}
    text = words_of(make_page(tmp_path, files, settings))
    (pair,) = read_tsv(files["pairs"])
    many, left = pair["margin_seeds"], percent(pair["items_margin"])
    assert (f"± 1.5 points would take about {many} seeds per" if many else "No number of seeds makes it ± 1.5") in text
    assert (f"these {pair['n_test']} reviews would still leave ± {left} open" in text) == (left != "0.00")
    check_page(tmp_path, files, settings)


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
    lead = f"Each start with the recipe that validation chose: {highest} has the highest mean test accuracy"
    assert text.startswith(f"The answer {lead}")
    for start, row in best.items():
        told = f"of 2 recipes ({percent(row['valid_mean'])} % on validation, {percent(row['mean'])} % on test)."
        assert re.search(f"{re.escape(start)}: learning rate [^ ]+ and [0-9]+ epochs, {re.escape(told)}", text)
    arm = "(all|frozen-lr[^ ]+|low-rank-lr[^ ]+)"
    (own,) = re.findall(r"own settings matter\?.*?Do learning rate", text)
    assert set(re.findall(f"\\b{arm}", own)) == kept
    # What is told of two starts is of the table that is corrected for them alone.
    starts = read_tsv(files["recipe_starts"])
    assert len(starts) == 3 and all(f"{percent(abs(float(row['difference'])))}" in own for row in starts)
    assert "correction is over the pairs of this file (3)" in words_of(html, "recipes")
    assert text.count("Starts by their own recipes are corrected for their pairs alone.") == 2
    (simple,) = re.findall("Do the arms beat a simple model.*?takes part with its own recipe", text)
    assert set(re.findall(arm, simple)) == kept
    assert "first screen draws them all" not in words_of(html, "recipes")
    # There is no other figure to look at first.
    assert "<details>\n<summary>Test accuracy of every seed, by arm" not in html
    assert re.search('<div class="evidence">.*<svg', section_of(html), re.DOTALL)


def test_the_best_on_test_leads_only_where_validation_chose_it(several):
    """In this draw an arm that was not chosen is above its start's choice on test."""
    rows = read_tsv(several[1]["recipes"])
    chosen = {row["start"]: float(row["mean"]) for row in rows if row["best"] == "true"}
    assert any(float(row["mean"]) > chosen[row["start"]] for row in rows)


def test_the_pairs_of_starts_are_told_as_corrected_for_themselves(several, tmp_path):
    """What holds among three pairs may not hold among ten: here the file says so of one of them."""
    folder, files, settings, html = several
    rows = read_tsv(files["recipe_starts"])
    assert {row["claim"] for row in rows} == {"none"} and "scores" not in words_of(html)
    write_tsv(tmp_path / "starts.tsv", [rows[0] | {"claim": "difference"}, *rows[1:]], tuple(rows[0]))
    text = words_of(make_page(folder, files | {"recipe_starts": str(tmp_path / "starts.tsv")}, settings))
    (folder / "report.html").write_text(html, encoding="utf-8", newline="")
    assert text.count("scores") == 1 and "Do the arms’ own settings matter? Shown for some pairs" in text


def test_one_start_of_several_recipes_has_no_rival(tmp_path):
    section = parts()
    section["arms"] = {name: arm for name, arm in section["arms"].items() if name.startswith("frozen")}
    files, settings, html = page_of(tmp_path, section, make_whole_study)
    assert read_tsv(files["recipe_starts"]) == []
    assert "The study has one start. With the recipe that validation chose, mean test accuracy of frozen" in words_of(
        html
    )
    check_page(tmp_path, files, settings)


def test_where_the_rate_changes_nothing_it_says_so(tmp_path):
    chances = dict.fromkeys(CHANCES, 0.75)
    files, settings, html = page_of(tmp_path, finetuning(), chances=chances)
    assert "depend on the recipe? Not shown" in words_of(html) and "includes zero" in words_of(html)
    check_page(tmp_path, files, settings)


def test_one_seed_and_one_rate_decide_nothing(tmp_path):
    files, settings, html = page_of(tmp_path, finetuning(rates=(3.0e-4,)) | {"seeds": [1]}, seeds=(1,))
    assert "Cannot be decided" in words_of(html) and "one seed has no interval" in words_of(html)
    check_page(tmp_path, files, settings)


def test_both_frameworks_have_an_answer_each(tmp_path):
    section = finetuning(epochs=(5,))
    section["arms"] |= {
        f"f-{name}": arm | {"framework": "fairseq"} for name, arm in section["arms"].items()
    }  # fmt: skip
    files, settings, html = page_of(tmp_path, section)
    assert words_of(html).count("depend on the recipe?") == words_of(html).count("with its own recipe?") == 2
    assert "fairseq: does the answer depend" in words_of(html)
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
        (r'(\|peak_lr\)">)(3)(e-4</td>)', "it should be 0.0003 as a digit and a power of ten"),
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


def test_it_depends_where_two_differences_are_shown_to_differ():
    def row(interaction, low, high):
        return {"interaction": str(interaction), "joint_low": str(low), "joint_high": str(high)}

    assert judge([row(0.1, -0.01, 0.2), row(-0.1, -0.2, 0.0)])["name"] == "not_shown"
    found = judge([row(0.05, 0.01, 0.09), row(-0.1, -0.19, -0.01), row(0.2, -0.1, 0.5)])
    assert found["name"] == "depends" and found["two"]["interaction"] == "-0.1"
    assert judge([row(0.1, 0.05, 0.15), {"joint_low": "", "joint_high": ""}])["name"] == "undecided"
    assert judge([])["name"] == "single"


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


def test_a_condition_that_several_pairs_share_is_said_once(made):
    files = {name: path for name, path in made[1].items() if not name.startswith("recipe")}
    answer = section_of(make_page(made[0], files, made[2]))
    told = re.findall('<div class="finding .*?</div>', answer, re.DOTALL)
    assert "These differences take the seeds’ accuracies as normally distributed" in re.sub("<[^>]+>", "", answer)
    assert max(finding.count("confirm") for finding in told) == 1


def test_texts_of_ones_own_are_not_called_reviews(tmp_path):
    files, settings, _ = page_of(tmp_path, finetuning(), make_whole_study)
    manifest = read_json(files["manifest"])
    write_json(files["manifest"], manifest | {"source": "table", "language": "fr", "licence": "none"})
    html = make_page(tmp_path, files, settings)
    headings = re.findall("<th scope=.col.*?</th>", section_of(html, "recipes"))
    assert "Interval over seeds and texts" in " ".join(re.sub("<[^>]+>", "", heading) for heading in headings)
    assert "review" not in words_of(html, "recipes")


def division(html, opening):
    """Return the text of the div that opens so."""
    depth, start = 0, html.index(opening)
    for tag in re.finditer("<(/?)div", html[start:]):
        depth += -1 if tag[1] else 1
        if not depth:
            return html[start : start + tag.start()]


@pytest.mark.parametrize(
    ("rates", "epochs", "place"),
    [((1.0e-5,), (5, 10), "beside"), ((1.0e-5, 3.0e-4), (5, 10), "below"), ((1.0e-5, 3.0e-4), (2, 5, 10), "folded")],
)
def test_the_pairs_of_arms_stand_where_they_have_room(tmp_path, rates, epochs, place):
    """Four arms, eight, and twelve, whose table no screen holds."""
    files, settings = make_whole_study(tmp_path, finetuning(rates, epochs))
    files = {name: path for name, path in files.items() if not name.startswith("recipe")}
    html = make_page(tmp_path, files, settings)
    answer = re.search(r'<section id="answer".*?</section>', html, re.DOTALL)[0]
    matrix = '<table class="matrix">'
    assert answer.count(matrix) == 1
    assert (matrix in division(answer, '<div class="first-screen">')) == (place == "beside")
    folded = re.search("<details>\n<summary>Every pair of arms.*?</details>", answer, re.DOTALL)
    assert (folded is not None and matrix in folded[0]) == (place == "folded")
    check_page(tmp_path, files, settings)
