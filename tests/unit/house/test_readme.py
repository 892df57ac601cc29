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
from report.asked import SHORT
from study.configuration import load_study
from study.grids import expand_grids
from support import studies
from support.environments import rules as known_rules
from tools.compare import Side, have_common_arms
from tools.publish import (
    CONCLUSIONS,
    FILES,
    block,
    links,
    marks,
    studies_on,
    summary,
    with_block,
)
from tools.published_conclusions import conclusions, is_asked
from tools.published_runs import finished, planned
from tools.study_files import file_of
from tools.suite_settings import read_suite

ROOT = studies.ROOT
# Settings over another study's file, no study of its own.
OVERLAYS = {"studies/english/quick.yaml", "studies/english/rates.yaml"}
DIFFERENCE = ("score_difference", "score_difference_low", "score_difference_high")
LAB = os.path.join(ROOT, "claims", "published_runs.tsv:published")


def page(*name):
    with open(os.path.join(ROOT, *name), encoding="utf-8") as handle:
        return handle.read()


README = page("README.md")
RESULTS = page("published", "README.md")
# The studies whose results are shown, and those of French reviews among them.
PUBLISHED = studies_on(RESULTS)
FRENCH = [study for study in PUBLISHED if os.path.dirname(file_of(study)) == "studies"]


def docs(study):
    """The study's records and tables, unpacked."""
    return str(studies.published(study))


@pytest.mark.parametrize("study", PUBLISHED)
def test_the_results_of_a_published_study_are_its_files(study):
    assert with_block(RESULTS, block(docs(study), study), *marks(study)) == RESULTS
    assert set(FILES) <= set(studies.published_files(study))


ASKED = [study for study in PUBLISHED if is_asked(docs(study))]


def test_the_page_of_results_tells_which_conclusions_hold_under_which_recipe():
    asked = conclusions([os.path.join(ROOT, "published", study) for study in PUBLISHED])
    assert with_block(RESULTS, asked, *CONCLUSIONS) == RESULTS
    rows = [line.strip("| ").split(" | ") for line in asked.splitlines() if line.startswith("| ")]
    assert len({len(row) for row in rows}) == 1 and len(rows[0]) == 3 + len(ASKED)
    (pays,) = (row for row in rows if "gap in performance" in row[0])
    assert pays[2] == "holds" and set(pays[3:]) <= {"holds", "not settled"}
    assert {"open", "open-published"} <= set(ASKED)


def test_the_readme_shows_the_open_study_in_short():
    shown = re.findall(r"<!-- ([a-z-]+)-summary -->", README)
    assert shown == ["open"] and "open" in PUBLISHED
    between = marks("open", "summary")
    assert with_block(README, summary(docs("open"), "published/open"), *between) == README


SAID = re.compile(r"question (\d+): ([a-z ]+?)(?=[;)])")


def sections():
    """Return {study: what a person wrote of it on the page of results}, between the generated part and a heading."""
    found = {}
    for study in PUBLISHED:
        text = RESULTS.partition(marks(study)[1])[2].partition("\n## ")[0]
        found[study] = " ".join(text.split())
    return found


@pytest.mark.parametrize("study", PUBLISHED)
def test_a_verdict_that_a_person_wrote_names_its_question_and_says_its_answer(study):
    rows = read_tsv(os.path.join(docs(study), "questions.tsv"))
    told = SAID.findall(sections()[study])
    assert told
    for number, verdict in told:
        assert verdict == SHORT[rows[int(number) - 1]["answer"]][0].lower(), f"{study}, question {number}"


def test_no_verdict_word_stands_without_its_question():
    """Words of a verdict outside of `(question 1: ...)`, on the hand-written part of the page."""
    for study, text in sections().items():
        bare = SAID.sub("", text)
        for words in ("is shown", "are shown", "difference shown", "no difference", "not shown", "cannot be told"):
            assert words not in bare.lower(), f"{study}: {words}"


def answers_of(study):
    """Return the rows of a study's questions by the sentence asked."""
    return {row["ask"]: row for row in read_tsv(os.path.join(docs(study), "questions.tsv"))}


def test_what_the_readme_says_of_other_studies_is_their_answers():
    said = " ".join(README.split())
    rows = [row for ask, row in answers_of("best-recipes").items() if ask.startswith("Does pretraining help")]
    told = []
    for row in rows:
        gap, low, high = (f"{100 * float(row[name]):.2f}" for name in DIFFERENCE)
        told.append(f"{gap} ({low} to {high})")
    assert f"five seeds: {told[0]} in fairseq, not settled; {told[1]} in Hugging Face, a difference shown." in said
    assert [row["answer"] for row in rows] == ["open", "difference"]
    # The joint intervals of the grid of recipes.
    rows = {(row["peak_lr"], row["epochs"]): row for row in read_tsv(docs("recipes") + "/recipes/differences.tsv")}
    for cell, words in ((("1e-05", "5"), "with the lab's;"), (("0.0003", "10"), "with thirty times its rate")):
        gap, low, high = (
            f"{100 * float(rows[cell][name]):.2f}".replace("-", "\N{MINUS SIGN}")
            for name in ("difference", "joint_low", "joint_high")
        )
        assert re.search(f"{gap}[^;]*\\((joint 95 % interval )?{low} to {high}\\) {words}", said), words
    curves = {
        (row["init"], row["amount"]): 100 * float(row["mean"])
        for row in read_tsv(docs("learning-curves") + "/learning_curves/means.tsv")
        if row["curve"] == "labelled reviews"
    }
    few, many = (f"{curves['pretrained', n] - curves['random', n]:.1f}" for n in ("100", "1800"))
    assert f"two seeds: {few} points with 100 labelled reviews and {many} with 1,800." in said
    parts = {
        row["arm"].partition("-lr")[0]: row for row in read_tsv(docs("parts") + "/recipes.tsv") if row["best"] == "true"
    }
    whole = next(row for row in read_tsv(docs("parts") + "/test_accuracy.tsv") if row["arm"] == "all")
    means = [percent(row["mean"], 1) for row in (whole, parts["low-rank"], parts["head-only"])]
    assert "seeds: {} % with all of the encoder, {} with LoRA, {} with the head alone.".format(*means) in said
    tuned = {row["arm"]: percent(row["mean"], 1) for row in read_tsv(docs("trec") + "/test_accuracy.tsv")}
    simple = max(read_tsv(docs("trec") + "/baselines.tsv"), key=lambda row: float(row["valid_accuracy"]))
    means = [tuned["whole"], tuned["lora"], tuned["random"], percent(simple["test_accuracy"], 1)]
    told = "encoder gives {} % of test questions right, LoRA {}, the same sizes from random weights {}, and TF-IDF {}."
    assert told.format(*means) in said


def test_what_the_page_says_of_the_choice_by_validation_is_in_the_tables():
    rows = {row["init"]: row for row in read_tsv(docs("recipes") + "/recipes.tsv") if row["best"] == "true"}
    gap = 100 * (float(rows["pretrained"]["mean"]) - float(rows["random"]["mean"]))
    nested = answers_of("recipes")["Does it help, each start with the recipe that validation chose?"]
    carried = 100 * float(nested["score_difference"])
    assert f"the means are {gap:.1f} points apart" in sections()["recipes"] and carried < gap
    assert f"by the other seeds it is {carried:.1f} (question 2" in sections()["recipes"]
    (apart,) = (row for ask, row in answers_of("recipes").items() if ask.startswith("Does the gain"))
    assert f"are {100 * float(apart['score_difference']):.1f} points apart." in sections()["recipes"]


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
        other = page(docs(study), "predictions", arm, f"seed{seed}.tsv")
        assert page(docs("recipes"), "predictions", recipe, f"seed{seed}.tsv") == other


@pytest.mark.parametrize("study", FRENCH)
def test_all_published_studies_of_french_use_the_open_studys_checkpoint(study):
    assert "[All French studies](published/README.md) use this checkpoint, one split and one test set:" in README
    config, _ = load_study(ROOT, os.path.join(ROOT, file_of(study)))
    own, checkpoint = study == "open", config["checkpoint"]
    assert checkpoint["source"] == ("pretrain" if own else "folder")
    assert own or checkpoint["folder"] == "results/open/checkpoint"


def test_the_readme_is_one_page():
    assert len(README.splitlines()) <= 110


@pytest.mark.parametrize("study", FRENCH)
def test_what_a_published_study_says_of_itself_holds(study):
    config, _ = load_study(ROOT, os.path.join(ROOT, file_of(study)))
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
        "questions.tsv": "questions.tsv",
        "learning_curve_means.tsv": "learning_curves/means.tsv",
    }
    paths = {name: os.path.join(docs(study), file) for name, file in files.items()}
    tables = {name: read_tsv(path) for name, path in paths.items() if os.path.exists(path)}
    assert {row["id"]: row["verdict"] for row in check_together(claims, tables)} == dict.fromkeys(own, "holds")


@pytest.mark.parametrize("study", PUBLISHED)
def test_all_runs_of_the_study_are_published(study):
    config, _ = load_study(ROOT, os.path.join(ROOT, file_of(study)))
    assert sorted(planned(config, docs(study))) == sorted(finished(docs(study)))


PAGES = [(study, page) for study in PUBLISHED for page in ("report.html", "comparison.html")]


@pytest.mark.parametrize(("study", "name"), PAGES)
def test_the_published_pages_link_to_what_is_published(study, name):
    if name == "comparison.html" and not have_common_arms(Side(docs(study)), Side(LAB)):
        assert not os.path.exists(os.path.join(docs(study), name))
        assert name not in page("published", study, "README.md")
        return
    found = links(os.path.join(docs(study), name))
    # Missing files are made by `python -m tools.restore`, as the study's README says.
    made, home = studies.published_files(study), os.path.join(ROOT, "published", study)
    there = [link for link in found if any(os.path.exists(os.path.join(at, link)) for at in (home, docs(study)))]
    assert found and set(found) <= {*made, *there}
    written = re.findall(r"\]\(([^)#]+)\)", page("published", study, "README.md"))
    assert written and all(os.path.exists(os.path.join(home, link)) for link in written)


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


def test_the_list_of_studies_is_whole_and_counts_their_arms():
    rows = re.findall(r"^\| (`.*yaml`) \|(.*)\|$", page("studies", "README.md"), re.MULTILINE)
    listed = [(name, rest) for names, rest in rows for name in re.findall("`([^`]+)`", names)]
    there = glob.glob("studies/**/*.yaml", root_dir=ROOT, recursive=True)
    assert sorted(name for name, _ in listed) == sorted({"config.yaml", *there} - OVERLAYS)
    defaults = yaml.safe_load(page("config.yaml"))["finetuning"]
    for name, rest in listed:
        if count := re.search(r"\| (\d+) $", rest):
            finetuning = defaults | yaml.safe_load(page(name)).get("finetuning", {})
            expand_grids(finetuning)
            assert len(finetuning["arms"]) == int(count[1]), name


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
    folders = {study: docs(study) for study in PUBLISHED} | {
        "benchmarks": os.path.join(ROOT, "published", "benchmarks")
    }
    for name, folder in folders.items():
        for path in glob.glob(os.path.join(folder, "**", "*.tsv"), recursive=True):
            if not (wrong := sum(row.get("agrees") == "false" for row in read_tsv(path))):
                continue
            link, n = os.path.join(name, os.path.relpath(path, folder)), f"{wrong} rows disagree"
            assert f"`{link}`" in pages and n in pages, f"{path}: {n} and published/README.md does not say so"


def test_the_readme_names_the_sets_of_the_english_suites():
    line = next(line for line in README.splitlines() if "suites/english-quick.yaml" in line)
    sets = {"SST-2": "sst2", "TREC": "trec", "Banking77": "banking77", "SICK": "sick"}
    short, whole = ({name for name in sets if name in part} for part in (line.partition(";")[0], line))
    for suite, named in (("english-quick", short), ("english", whole)):
        entries = read_suite(os.path.join(ROOT, "suites", f"{suite}.yaml"), ROOT).entries
        assert {sets[name] for name in named} == {
            os.path.basename(entry.files[0])[: -len(".yaml")] for entry in entries
        }
