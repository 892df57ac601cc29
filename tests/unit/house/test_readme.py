"""The results that README, published/README.md and the page on performance show are the generated ones."""

import glob
import os
import re

import pytest
import yaml

import publish
from common.arms import percent
from common.errors import StudyError
from common.files import read_tsv
from lab.claims import check_together, read_claims
from study.configuration import load_study
from support import studies
from support.environments import rules as known_rules
from tools.compare import Side, have_common_arms
from tools.publish import (
    CONCLUSIONS,
    FILES,
    block,
    conclusions,
    finished,
    is_asked,
    links,
    marks,
    planned,
    said,
    studies_on,
    summary,
    with_block,
)

ROOT = studies.ROOT
LAB = os.path.join(ROOT, "claims", "published_runs.tsv:published")


def page(*name):
    with open(os.path.join(ROOT, *name), encoding="utf-8") as handle:
        return handle.read()


README = page("README.md")
RESULTS = page("published", "README.md")
# The studies whose results are shown.
PUBLISHED = studies_on(RESULTS)


def docs(study):
    return os.path.join(ROOT, "published", study)


@pytest.mark.parametrize("study", PUBLISHED)
def test_the_results_of_a_published_study_are_its_files(study):
    assert with_block(RESULTS, block(docs(study), study), *marks(study)) == RESULTS
    assert all(os.path.exists(os.path.join(docs(study), name)) for name in FILES)


ASKED = [study for study in PUBLISHED if is_asked(docs(study))]


def test_the_page_of_results_tells_which_conclusions_hold_under_which_recipe():
    asked = conclusions([docs(study) for study in PUBLISHED])
    assert with_block(RESULTS, asked, *CONCLUSIONS) == RESULTS
    rows = [line.strip("| ").split(" | ") for line in asked.splitlines() if line.startswith("| ")]
    assert len({len(row) for row in rows}) == 1 and len(rows[0]) == 3 + len(ASKED)
    (pays,) = (row for row in rows if "gap in performance" in row[0])
    assert pays[2:] == ["holds"] * (1 + len(ASKED))
    assert {"open", "open-published"} <= set(ASKED)


def test_the_readme_shows_the_open_study_in_short():
    shown = re.findall(r"<!-- ([a-z-]+)-summary -->", README)
    assert shown == ["open"] and "open" in PUBLISHED
    between = marks("open", "summary")
    assert with_block(README, summary(docs("open"), "published/open"), *between) == README


def beside(study):
    """Rows of the differences from the simple model that validation prefers, by arm."""
    simple = [row for row in read_tsv(os.path.join(docs(study), "baselines.tsv")) if row["baseline"] != "majority"]
    best = max(simple, key=lambda row: float(row["valid_accuracy"]))["baseline"]
    rows = read_tsv(os.path.join(docs(study), "statistics", "baselines.tsv"))
    return {row["arm"]: row for row in rows if row["baseline"] == best}


def test_the_pages_say_of_the_linear_model_what_was_tested():
    """Text by text: that two intervals overlap is no test."""
    for text in (README, RESULTS, page("published", "open", "report.html")):
        assert "cannot be told apart from it" not in text.lower() and "since the intervals overlap" not in text
    rows = beside("open")
    # "ahead of every arm in this recipe, and that is shown for each"
    assert len(rows) == 4 and all(float(row["high"]) < 0 and row["claim"] == "difference" for row in rows.values())
    assert "ahead of every arm in this recipe, and that is shown for each" in " ".join(RESULTS.split())
    for name, gap in (("fairseq", "2.09 points more than fairseq"), ("huggingface", "2.23 points more than Hugging")):
        row = rows[f"{name}-pretrained"]
        assert gap in README and f"{-100 * float(row['difference']):.2f}" == gap[:4]


def test_what_the_pages_say_of_the_recipes_is_in_the_tables():
    home = docs("recipes")
    rows = {row["arm"]: row for row in read_tsv(os.path.join(home, "recipes.tsv"))}
    rows_of = {
        (row["peak_lr"], row["epochs"]): row for row in read_tsv(os.path.join(home, "recipes", "differences.tsv"))
    }
    gaps = {cell: f"{100 * float(row['difference']):.2f}" for cell, row in rows_of.items()}
    said = " ".join(README.split())

    def shown(cell):
        low, high = (f"{100 * float(rows_of[cell][name]):.2f}" for name in ("joint_low", "joint_high"))
        return low.replace("-", "\N{MINUS SIGN}"), high

    low, high = shown(("1e-05", "5"))
    assert f": {gaps['1e-05', '5']} points (joint 95 % interval {low} to {high}) with the lab's;" in said
    # Nothing is shown, and what remains possible is said.
    low, high = shown(("0.0003", "10"))
    none = gaps["0.0003", "10"].replace("-", "\N{MINUS SIGN}")
    assert f"; {none} ({low} to {high}) with thirty times its rate and ten epochs, which settles nothing." in said
    assert f"no difference is shown, and {low} to +{high} points remain possible" in " ".join(RESULTS.split())
    # The page's own words, of the interactions.
    (apart,) = (
        row
        for row in read_tsv(os.path.join(home, "recipes", "interactions.tsv"))
        if (row["epochs_a"], row["peak_lr_a"], row["epochs_b"], row["peak_lr_b"]) == ("5", "1e-05", "10", "0.0003")
    )
    assert (
        f"{100 * float(apart['interaction']):.1f} points apart, by the joint interval at least "
        f"{100 * float(apart['joint_low']):.1f}."
    ) in " ".join(RESULTS.split())
    own, low, high = (f"{100 * float(rows_of['', ''][name]):.1f}" for name in ("difference", "low", "high"))
    assert f"chose for it: {own} points, with three seeds somewhere between {low} and {high}," in " ".join(
        RESULTS.split()
    )
    assert rows_of["", ""]["n_seeds_a"] == rows_of["", ""]["n_seeds_b"] == "3"
    # "No arm's mean reaches TF-IDF's 83.1 %."
    (best,) = (r for r in read_tsv(os.path.join(home, "baselines.tsv")) if r["baseline"] == "tfidf_characters")
    near = max(rows.values(), key=lambda row: float(row["mean"]))
    assert float(near["mean"]) < 0.831 == float(best["test_accuracy"])
    assert (near["init"], near["peak_lr"], near["epochs"]) == ("pretrained", "0.0001", "10")


def test_what_the_pages_say_of_each_start_with_its_own_recipe_is_in_the_tables():
    home = docs("best-recipes")
    rows = read_tsv(os.path.join(home, "statistics", "pairs.tsv"))
    fairseq, huggingface = (
        next(r for r in rows if (r["arm_a"], r["arm_b"]) == (f"{name}-pretrained", f"{name}-random"))
        for name in ("fairseq", "huggingface")
    )

    def told(row):
        difference, low, high = (f"{100 * float(row[name]):.2f}" for name in ("difference", "low", "high"))
        return f"{difference} ({low} to {high})"

    assert f"five seeds: {told(fairseq)} in fairseq, {told(huggingface)} in Hugging Face." in " ".join(README.split())
    assert {row[f"n_seeds_{side}"] for row in (fairseq, huggingface) for side in "ab"} == {"5"}
    _, _, section = RESULTS.partition("<!-- /best-recipes-study -->")
    section = " ".join(section.split())
    # "In Hugging Face every pretrained seed is ahead of every random one, and a difference is shown."
    assert float(huggingface["probability_better_seeds"]) == 1 and huggingface["claim"] == "difference"
    accuracies = {}
    for row in read_tsv(os.path.join(home, "runs.tsv")):
        accuracies.setdefault(row["arm"], []).append(float(row["test_accuracy"]))
    behind = [sum(other > one for other in accuracies["fairseq-random"]) for one in accuracies["fairseq-pretrained"]]
    assert sorted(behind) == [0, 0, 0, 0, 2] and "one pretrained seed is behind two random ones" in section
    assert f"for six pairs p = {float(fairseq['welch_p_holm']):.3f}" in section and fairseq["claim"] == "none"
    assert float(fairseq["low"]) > 0 and f"without correction (p = {float(fairseq['welch_p']):.3f})" in section
    assert (
        f"about {huggingface['margin_seeds']} seeds a side in Hugging Face and {fairseq['margin_seeds']} in fairseq"
    ) in section
    left = [f"{100 * float(row['items_margin']):.1f}" for row in (fairseq, huggingface)]
    assert f"alone leave ± {left[0]} to {left[1]}." in section
    # After the last epoch against the chosen one; in every arm the seeds lie closer together there.
    curve = read_tsv(os.path.join(home, "figures", "arms_by_epoch", "accuracy.tsv"))
    last = {r["arm"]: 100 * float(r["sd_ddof1"]) for r in curve if (r["split"], r["epoch"]) == ("test", "5")}
    chosen = {r["arm"]: 100 * float(r["sd_ddof1"]) for r in read_tsv(os.path.join(home, "test_accuracy.tsv"))}
    assert last.keys() == chosen.keys() and all(last[arm] < chosen[arm] for arm in chosen)
    ends = [f"{end(of.values()):.1f}" for of in (last, chosen) for end in (min, max)]
    assert "SDs of {} to {} points, at the chosen epochs of {} to {}.".format(*ends) in section
    # "A quarter of what the lab's recipe shows."
    (lab,) = (
        row
        for row in read_tsv(os.path.join(docs("recipes"), "recipes", "differences.tsv"))
        if (row["peak_lr"], row["epochs"]) == ("1e-05", "5")
    )
    assert all(0.2 < float(row["difference"]) / float(lab["difference"]) < 0.3 for row in (fairseq, huggingface))
    assert set(beside("best-recipes")) == {row["arm"] for row in read_tsv(os.path.join(home, "test_accuracy.tsv"))}


def test_what_the_page_says_of_the_learning_curves_is_in_the_tables():
    home = docs("learning-curves")
    _, _, section = RESULTS.partition("<!-- /learning-curves-study -->")
    section = " ".join(section.split())
    means = read_tsv(os.path.join(home, "learning_curves", "means.tsv"))
    simple = read_tsv(os.path.join(home, "learning_curves", "baselines.tsv"))
    points = {(r["init"], int(r["amount"])): r for r in means if r["curve"] == "labelled reviews"}
    amounts = (100, 300, 900, 1800)
    assert {amount for _, amount in points} == set(amounts)
    assert {row["n_seeds"] for row in means} == {"2"} and "when-pretraining-pays), two seeds:" in README

    def mean(init, amount):
        return 100 * float(points[init, amount]["mean"])

    best = {
        n: max((r for r in simple if int(r["n_train"]) == n), key=lambda r: float(r["test_accuracy"])) for n in amounts
    }
    ahead = [f"{mean('pretrained', n) - mean('random', n):.1f}" for n in amounts]
    over = [mean("pretrained", n) - 100 * float(best[n]["test_accuracy"]) for n in amounts]
    assert (
        f"start is {ahead[0]} points ahead of random weights and {over[0]:.1f} ahead of the better simple model"
        in section
    )
    assert f"{ahead[0]} points with 100 labelled reviews and {ahead[3]} with 1,800." in " ".join(README.split())
    assert f"lead over random weights is {ahead[0]}, {ahead[1]}, {ahead[2]} and {ahead[3]} points." in section
    assert f"it is {over[1]:.1f} with 300 reviews, and from 900 on that one is ahead" in section and max(over[2:]) < 0
    assert mean("random", 900) < mean("pretrained", 300) < mean("random", 1800)
    # Two seeds lie up to 5 points apart.
    updates = {int(row["amount"]): row for row in means if row["curve"] == "pretraining updates"}
    assert list(updates) == [0, 100, 200, 300, 400, 600, 800]
    assert 4 < 100 * max(float(row["max"]) - float(row["min"]) for row in updates.values()) < 5.5
    # "No point's mean reaches the 83.1 % of TF-IDF with all labels."
    assert max(float(row["mean"]) for row in means) < 0.831 == float(best[1800]["test_accuracy"])
    tfidf = {int(r["n_train"]): 100 * float(r["test_accuracy"]) for r in simple if r["baseline"] == "tfidf_characters"}
    gains = mean("pretrained", 1800) - mean("pretrained", 900), tfidf[1800] - tfidf[900]
    assert f"start gains {gains[0]:.1f} points and TF-IDF of characters {gains[1]:.1f}." in section
    missing = 83.1 - mean("pretrained", 1800)
    assert f"the highest is {missing:.1f} points short." in section and max(
        float(row["mean"]) for row in means
    ) == float(points["pretrained", 1800]["mean"])
    pairs = read_tsv(os.path.join(home, "statistics", "pairs.tsv"))
    assert f"of {len(pairs)} pairs none is left" in section and {row["claim"] for row in pairs} == {"none"}


def test_what_the_page_says_of_the_encoders_parts_is_in_the_tables():
    home = docs("parts")
    section = " ".join(RESULTS.partition("<!-- /parts-study -->")[2].split())
    rows = read_tsv(os.path.join(home, "recipes.tsv"))
    means = {row["arm"]: row for row in read_tsv(os.path.join(home, "test_accuracy.tsv"))}
    best = {row["arm"].partition("-lr")[0]: row for row in rows if row["best"] == "true"}
    whole, lora, alone = (percent(row["mean"], 1) for row in (means["all"], best["low-rank"], best["head-only"]))
    assert f"the head alone reaches {alone} %, LoRA {lora} %, all of the encoder {whole} %." in section
    assert f"seeds: {whole} % with all of the encoder, {lora} with LoRA, {alone} with the head alone." in README
    assert {row["n_seeds"] for row in means.values()} == {"3"}
    starts = {(row["arm_a"], row["arm_b"]): row for row in read_tsv(os.path.join(home, "recipes", "starts.tsv"))}
    head, low = best["head-only"]["arm"], best["low-rank"]["arm"]
    assert starts["all", head]["claim"] == "if_normal"
    assert f"than the head alone by {percent(starts['all', head]['difference'], 1)} points, if" in section
    assert starts["all", low]["claim"] == starts[low, head]["claim"] == "none"
    others = read_tsv(docs("recipes") + "/recipes.tsv")
    random = next(row for row in others if row["init"] == "random" and row["best"] == "true")
    assert (
        f"({alone} %) as all of the random weights do with their own recipe ({percent(random['mean'], 1)} %" in section
    )
    tested = max((row for row in rows if row["arm"].startswith("low-rank")), key=lambda row: float(row["mean"]))
    assert f"chosen 3e-4 for LoRA ({percent(tested['mean'])} %)" in section and float(tested["peak_lr"]) == 3e-4
    assert f"Validation chose 1e-3, so {percent(best['low-rank']['mean'])} %" in section
    assert float(best["low-rank"]["peak_lr"]) == 1e-3
    failed = [row["arm"] for row in read_tsv(os.path.join(home, "learned.tsv")) if row["learned"] == "false"]
    assert failed == ["low-rank-lr3e-3"] * 2
    heads = [float(row["mean"]) for row in rows if row["arm"].startswith("head-only")]
    assert 0.4 < 100 * (heads[0] - heads[-1]) < 0.6 and heads == sorted(heads, reverse=True)
    simple = max(read_tsv(os.path.join(home, "baselines.tsv")), key=lambda row: float(row["valid_accuracy"]))
    assert max(float(row["mean"]) for row in means.values()) < float(simple["test_accuracy"])
    # "Among all 21 pairs it is not shown."
    pairs = read_tsv(os.path.join(home, "statistics", "pairs.tsv"))
    (pair,) = (row for row in pairs if {row["arm_a"], row["arm_b"]} == {"all", head})
    assert len(pairs) == 21 and pair["claim"] == "none" and {"all", head, low} <= set(beside("parts"))


@pytest.mark.parametrize(
    ("study", "arm", "recipe", "seeds"),
    [
        ("open", "huggingface-pretrained", "pretrained-lr1e-5-epochs5", 3),
        ("open", "huggingface-random", "random-lr1e-5-epochs5", 3),
        ("best-recipes", "huggingface-pretrained", "pretrained-lr3e-5-epochs5", 3),
        ("best-recipes", "huggingface-random", "random-lr1e-4-epochs5", 3),
        ("learning-curves", "pretrained", "pretrained-lr1e-4-epochs10", 2),
        ("learning-curves", "random", "random-lr1e-4-epochs10", 2),
        ("parts", "all", "pretrained-lr3e-5-epochs5", 3),
    ],
)
def test_runs_of_two_published_studies_with_one_recipe_have_the_same_predictions(study, arm, recipe, seeds):
    for seed in range(1, seeds + 1):
        other = page("published", study, "predictions", arm, f"seed{seed}.tsv")
        assert page("published", "recipes", "predictions", recipe, f"seed{seed}.tsv") == other


def pair(claim, difference, low, high, **names):
    names = {"arm_a": "fairseq-random", "arm_b": "huggingface-random"} | names
    return names | {"claim": claim, "difference": str(difference), "low": str(low), "high": str(high)}


def test_a_pair_is_put_into_a_clause():
    # The second arm is ahead: the difference and its interval change their signs.
    assert said(pair("difference", -0.0123, -0.02, -0.005)) == (
        "Hugging Face random beats fairseq random by 1.23 points (95 % interval +0.50 to +2.00)"
    )
    assert said(pair("none", 0.01, -0.02, 0.04)) == (
        "between Hugging Face random and fairseq random (fairseq random is ahead by 1.00 points; 95 % interval "
        "\N{MINUS SIGN}2.00 to +4.00)"
    )
    conditional = said(pair("if_normal", 0.01, 0.005, 0.015, arm_a="fairseq-pretrained"))
    assert conditional.startswith("fairseq pretrained beats Hugging Face random by 1.00 points") and (
        "if the seeds' accuracies are taken as normal" in conditional
    )


@pytest.mark.parametrize("study", PUBLISHED)
def test_all_published_studies_use_the_open_studys_checkpoint(study):
    assert "[All published studies](published/README.md) use this checkpoint, one split and one test set:" in README
    config, _ = load_study(ROOT, os.path.join(ROOT, "studies", f"{study}.yaml"))
    own, checkpoint = study == "open", config["checkpoint"]
    assert checkpoint["source"] == ("pretrain" if own else "folder")
    assert own or checkpoint["folder"] == "results/open/checkpoint"


def test_the_readme_is_one_page():
    assert len(README.splitlines()) <= 120


@pytest.mark.parametrize("study", PUBLISHED)
def test_what_a_published_study_says_of_itself_holds(study):
    config, _ = load_study(ROOT, os.path.join(ROOT, "studies", f"{study}.yaml"))
    claims = [claim for file in config["claims"] for claim in read_claims(os.path.join(ROOT, file))]
    own = [claim["id"] for claim in claims]
    verdicts = {row["id"]: row["verdict"] for row in read_tsv(os.path.join(docs(study), "claims.tsv"))}
    assert own and {name: verdicts.get(name) for name in own} == dict.fromkeys(own, "holds")
    # As the claims are written today, too.
    files = {
        os.path.basename(name): name for name in ("runs.tsv", "baselines.tsv", "statistics/pairs.tsv", "recipes.tsv")
    }
    files |= {
        "recipe_differences.tsv": "recipes/differences.tsv",
        "recipe_interactions.tsv": "recipes/interactions.tsv",
        "recipe_starts.tsv": "recipes/starts.tsv",
        "learning_curve_means.tsv": "learning_curves/means.tsv",
    }
    paths = {name: os.path.join(docs(study), file) for name, file in files.items()}
    tables = {name: read_tsv(path) for name, path in paths.items() if os.path.exists(path)}
    assert {row["id"]: row["verdict"] for row in check_together(claims, tables)} == dict.fromkeys(own, "holds")


@pytest.mark.parametrize("study", PUBLISHED)
def test_all_runs_of_the_study_are_published(study):
    config, _ = load_study(ROOT, os.path.join(ROOT, "studies", f"{study}.yaml"))
    assert sorted(planned(config)) == sorted(finished(docs(study)))


PAGES = [(study, page) for study in PUBLISHED for page in ("report.html", "comparison.html")]


@pytest.mark.parametrize(("study", "name"), PAGES)
def test_the_published_pages_link_to_what_is_published(study, name):
    if name == "comparison.html" and not have_common_arms(Side(docs(study)), Side(LAB)):
        assert not os.path.exists(os.path.join(docs(study), name))
        assert name not in page("published", study, "README.md")
        return
    found = links(os.path.join(docs(study), name))
    assert found and all(os.path.exists(os.path.join(docs(study), name)) for name in found)


@pytest.mark.skipif(not os.path.exists(publish.FOLDER), reason="no benchmark has been published yet")
def test_the_benchmarks_on_the_page_are_the_published_ones():
    shown = page("docs", "method", "performance.md")
    assert with_block(shown, publish.block(), *publish.MARKS) == shown
    assert with_block(README, publish.speed(), *publish.SPEED) == README
    shown = page("docs", "guides", "scale.md")
    assert with_block(shown, publish.planning(), *publish.PLANNING) == shown


def test_the_marks_must_be_there():
    start, end = marks("own")
    assert with_block(f"a {start} old {end} b", "new", start, end) == f"a {start}\nnew\n{end} b"
    with pytest.raises(StudyError, match="marks"):
        with_block("nothing", "new", start, end)


def test_every_rule_of_the_graph_exists_and_every_training_rule_is_in_it():
    drawn = set(re.findall(r">(\w+)</text>", page("docs", "development", "rulegraph.svg")))
    assert drawn <= {*known_rules(), "all"}
    assert {"pretrain", "finetune_fairseq", "finetune_huggingface", "evaluate_fairseq", "build_report"} <= drawn


def test_the_readme_lists_every_study():
    first = re.findall(r"^\| (`(?:studies/)?[\w-]+\.yaml`(?:, `[^|]*`)?) \|", README, re.MULTILINE)
    listed = re.findall("`([^`]+)`", " ".join(first))
    there = [f"studies/{name}" for name in os.listdir(os.path.join(ROOT, "studies")) if name.endswith(".yaml")]
    assert sorted(listed) == sorted(["config.yaml", *there])


def test_the_bibtex_entry_is_what_the_citation_file_says():
    with open(os.path.join(ROOT, "CITATION.cff"), encoding="utf-8") as handle:
        citation = yaml.safe_load(handle)
    entry = re.search(r"```bibtex\n@software\{\w+,\n(.*?)\n\}\n```", page("docs", "README.md"), re.DOTALL)[1]
    # Twice in braces: an author that is no person's name, and a title whose capitals stay.
    fields = dict(re.findall(r"^  (\w+) = \{+(.*?)\}+,?$", entry, re.MULTILINE))
    assert fields == {
        "author": " and ".join(author["name"] for author in citation["authors"]),
        "title": citation["title"],
        "version": str(citation["version"]),
        "year": str(citation["date-released"].year),
        "license": citation["license"],
    }
    assert all(fields.values())


def test_published_tables_that_disagree_have_an_erratum():
    pages = page("published", "README.md")
    folder = os.path.join(ROOT, "published")
    for path in glob.glob(os.path.join(folder, "**", "*.tsv"), recursive=True):
        wrong = sum(row.get("agrees") == "false" for row in read_tsv(path))
        if wrong:
            link, n = os.path.relpath(path, folder), f"{wrong} rows disagree"
            assert f"`{link}`" in pages and n in pages, f"{path}: {n} and published/README.md does not say so"
