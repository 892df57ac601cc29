"""Pack a finished study's report and the files that it and its crate name in published/STUDY; its results to the pages.

Run by hand: `python -m tools.publish STUDY`, where STUDY is the name of a file of studies/ or of a folder in it. Two
pages are made beside the report: the study against the published numbers (`tools.compare`), where they have an arm in
common, and command, machine, time and versions. What stays as a file, and what is packed: see `tools.packs`.
The results go to published/README.md, whole, and to README.md, in short, where that page has the study's marks.
Texts of reviews and weights are never copied.
"""

import glob
import json
import os
import re
import shutil
import sys
from urllib.parse import unquote

from analysis.verdicts import points
from common.arms import arm_label, percent
from common.errors import StudyError
from common.files import atomic_path, read_json, read_lines, read_tsv, write_text
from study.baselines import linear_arms, model_label
from study.configuration import load_study
from study.guests import gathered, guests
from tools import compare, packs
from tools.checked import check_measure, check_results
from tools.published_answers import answers, in_short
from tools.published_conclusions import PUBLISHED, conclusions
from tools.published_curves import by_amount
from tools.published_pretraining import pretrained
from tools.published_recipes import by_recipe, chosen, spread
from tools.published_runs import made, planned
from tools.study_files import file_of

# The pages and the comparison use these; the report links to the rest.
FILES = (
    "report.html",
    "report_numbers.tsv",
    "history.tsv",
    "test_accuracy.md",
    "statistics/pairs.tsv",
    "statistics/baselines.tsv",
    "baselines.tsv",
    "figures/arms.svg",
)
# The same for a study that pretrains, has questions, or has a guest.
WHERE_MADE = (
    "checkpoint/pretraining.tsv",
    "checkpoint/pretrainings.tsv",
    "questions.json",
    "questions.tsv",
    *(path for guest in guests().values() for path in guest.published),
)
# Each run's records, from which `make regenerate` makes the tables.
RECORDS = ("run.json", "history.tsv", "test_curve.tsv", "selected.json", "weights.json")
MEASURED = os.path.join("benchmarks", "finetune_*", "*", "seed*.tsv")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = (os.path.join("published", "README.md"), "README.md")
# Marks around the table of the reports' conclusions.
CONCLUSIONS = "<!-- conclusions -->", "<!-- /conclusions -->"


def links(path):
    """Return the files beside a page that it links to, as relative paths."""
    with open(path, encoding="utf-8") as handle:
        return sorted(set(re.findall(r'href="([^"#:]+)(?:#[^"]*)?"', handle.read())))


def crate_files(folder):
    """Return the files that a study's crate names, as paths relative to its folder."""
    graph = read_json(os.path.join(folder, "ro-crate-metadata.json"))["@graph"]
    return [unquote(entity["@id"]) for entity in graph if entity["@type"] == "File"]


def recipes_of(folder):
    """Return the rows of recipes.tsv; none where no start of the study has several recipes."""
    path = os.path.join(folder, "recipes.tsv")
    return read_tsv(path) if os.path.exists(path) else []


def summary(folder, link):
    """Return a study's part of README.md: a small table and the answers to its questions, from files.

    Args:
        folder: folder of the study.
        link: the same folder as README.md links to it.

    Raises:
        StudyError: a file is missing.
    """
    table = ["| Arm | Seeds (n) | Test accuracy, % (mean ± SD, ddof 1) |", "| :-- | --: | --: |"]
    for row in read_tsv(os.path.join(folder, "test_accuracy.tsv")):
        table.append(f"| {arm_label(row['arm'])} | {row['n_seeds']} | {spread(row)} |")
    sentences = [f"- {line}" for line in in_short(folder)]
    simple = [row for row in read_tsv(os.path.join(folder, "baselines.tsv")) if row["baseline"] != "majority"]
    best = max(simple, key=lambda row: float(row["valid_accuracy"]))
    sentences.append(
        f"- A linear model chosen on validation ({best['features']}) reaches {percent(best['test_accuracy'])} %, "
        f"{'; '.join(beside(folder, best['baseline'], lambda row: row['init'] == 'pretrained'))}."
    )
    arms = [row["arm"] for row in read_tsv(os.path.join(folder, "test_accuracy.tsv")) if row["init"] == "pretrained"]
    sentences[-1] = f"{sentences[-1]} {without_shared(folder, [*arms, best['baseline']])}".rstrip()
    return "\n".join([*table, "", *sentences, "", f"[Report]({link}/report.html) · [every number]({link})"])


def chosen_model(folder):
    """Return the name of the simple model with the highest accuracy on validation, the largest class left out."""
    simple = [row for row in read_tsv(os.path.join(folder, "baselines.tsv")) if row["baseline"] != "majority"]
    return max(simple, key=lambda row: float(row["valid_accuracy"]))["baseline"] if simple else None


def beside(folder, baseline, wanted=lambda row: True):
    """Return in words the distance of arms from a simple model, paired on the same test texts.

    Args:
        folder: folder of the study.
        baseline: the model's name.
        wanted: of a row of statistics/baselines.tsv: whether its arm is named.
    """
    said = []
    for row in read_tsv(os.path.join(folder, "statistics", "baselines.tsv")):
        if row["baseline"] != baseline or not wanted(row):
            continue
        name, interval = arm_label(row["arm"]).replace(",", ""), "one seed, no interval"
        ahead = -1 if float(row["difference"]) < 0 else 1
        if row["low"]:
            low, high = sorted(ahead * float(row[bound]) for bound in ("low", "high"))
            interval = f"95 % interval {points(low)} to {points(high)}"
        size = points(abs(float(row["difference"])), sign=False)
        said.append(f"{size} points {'more' if ahead < 0 else 'less'} than {name} ({interval})")
    return said


def without_shared(folder, names):
    """Return a sentence on accuracies without the test texts that training or validation has; '' where none is shared.

    Args:
        folder: folder of the study.
        names: names of the arms and simple models that are told.
    """
    path = os.path.join(folder, "shared_texts.tsv")
    rows = {row["arm"]: row for row in read_tsv(path)} if os.path.exists(path) else {}
    kept = [rows[name] for name in names if name in rows]
    if not kept or kept[0]["n_shared"] == "0":
        return ""
    means = "; ".join(
        f"{model_label(arm_label(row['arm'])).replace(',', '')} {percent(row['mean_unshared'])} %" for row in kept
    )
    return (
        f"Without the {kept[0]['n_shared']} of {kept[0]['n_test']} test texts that training or validation has: {means}."
    )


def by_arm(folder, link):
    """Return the table of a study's arms, and what validation chose of each start's recipes, as Markdown.

    Args:
        folder, link: as of `block`.
    """
    with open(os.path.join(folder, "test_accuracy.md"), encoding="utf-8") as handle:
        table = handle.read().strip()
    chosen_rows = [chosen(row["start"], row) for row in recipes_of(folder) if row["best"] == "true"]
    pairs = f"Every pair of arms, exploratory: [pairs.tsv]({link}/statistics/pairs.tsv)."
    return "\n".join([table, "", *chosen_rows, *([""] if chosen_rows else []), pairs])


def block(folder, link):
    """Return a study's part of published/README.md: table, answers, baselines and figure, all from files.

    Args:
        folder: folder of the study.
        link: the same folder as the page links to it.

    Raises:
        StudyError: a file is missing.
    """
    if os.path.exists(os.path.join(folder, "recipes", "differences.tsv")):
        results, figure, shows = by_recipe(folder), "recipes", "accuracy and difference by learning rate"
    elif os.path.exists(os.path.join(folder, "learning_curves", "means.tsv")):
        results, figure, shows = by_amount(folder), "learning_curves", "accuracy by what an arm learns from"
    else:
        results, figure, shows = by_arm(folder, link), "arms", "accuracy of every seed, by arm"
    baselines = [
        f"{row['features']} {100 * float(row['test_accuracy']):.2f} %"
        for row in read_tsv(os.path.join(folder, "baselines.tsv"))
    ]
    facts = [f"Simple models on the same splits: {'; '.join(baselines)}."]
    left_out = {row["arm"] for row in recipes_of(folder) if row["best"] != "true"}
    for row in read_tsv(os.path.join(folder, "baselines.tsv")):
        compared = beside(folder, row["baseline"], lambda one: one["arm"] not in left_out)
        if row["baseline"] == chosen_model(folder) and compared:
            facts.append(f"The one that validation prefers, {row['features']}, has {'; '.join(compared)}.")
    arms = [row["arm"] for row in read_tsv(os.path.join(folder, "test_accuracy.tsv")) if row["arm"] not in left_out]
    if shared := without_shared(folder, [*arms, chosen_model(folder)]):
        facts.append(shared)
    facts += pretrained(folder)
    facts += gathered("sentences", folder)
    return "\n".join(
        [
            results,
            *answers(folder),
            "",
            " ".join(facts),
            "",
            f"![Test {shows}]({link}/figures/{figure}.svg)",
            "",
            f"Every number: [{link}]({link}).",
        ]
    )


def marks(name, kind="study"):
    """Return the two marks in a page around a study's part; the short part is of the kind `summary`."""
    return f"<!-- {name}-{kind} -->", f"<!-- /{name}-{kind} -->"


def studies_on(page):
    """Return the names of the studies that a page has the marks of, in its order."""
    return re.findall(r"<!-- ([\w.-]+)-study -->", page)


def published_on(page, published):
    """Return the folders of the studies that a page has the marks of, as far as they are published.

    A study's place on the page is made before its folder is.
    """
    return [folder for name in studies_on(page) if os.path.isdir(folder := os.path.join(published, name))]


def with_block(page, text, start, end):
    """Return a page's text with the part between two marks replaced.

    Raises:
        StudyError: the page lacks the marks.
    """
    if page.count(start) != 1 or page.count(end) != 1:
        raise StudyError(f"the page needs the marks {start} and {end} once each")
    before, rest = page.split(start)
    return f"{before}{start}\n{text}\n{end}{rest.split(end)[1]}"


def check_texts(results):
    """Refuse a study whose page shows the words of reviews that are not this project's own.

    Args:
        results: its results folder.

    Raises:
        StudyError: it does.
    """
    hardest = os.path.join(results, "errors", "hardest.jsonl")
    if not os.path.exists(hardest) or read_json(os.path.join(results, "data", "manifest.json"))["synthetic"]:
        return
    if any("text" in json.loads(line) for line in read_lines(hardest)):
        raise StudyError(
            f"{hardest} holds the words of reviews, which are not to be published: set report.show_texts to false and "
            "build the report again (make regenerate)"
        )


def main(results, config, file, folder, pages):
    """Publish a study.

    Args:
        results: its results folder.
        config: its settings.
        file: the study's file, as a command names it.
        folder: folder to write.
        pages: paths of two Markdown pages above that folder: the one of whole results, and README.md, whose short
            part is written where it has the marks.

    Raises:
        StudyError: see `check_measure`; the study is not finished, or a page lacks its marks.
    """
    check_measure(config)
    report = os.path.join(results, "report.html")
    if not os.path.exists(report):
        raise StudyError(f"{report} is missing: finish the study first")
    check_results(results)
    check_texts(results)
    texts = []
    for page in pages:
        with open(page, encoding="utf-8") as handle:
            texts.append(handle.read())
    whole, short = texts
    between, brief = marks(config["study"]), marks(config["study"], "summary")
    # This comes before anything is written.
    with_block(whole, "", *between)
    for page, (start, end) in ((whole, CONCLUSIONS), (short, brief)):
        if start in page:
            with_block(page, "", start, end)
    simple = [os.path.join("finetuning", name, "seed0") for name in linear_arms(config["finetuning"])]
    runs = [*planned(config, results), *simple]
    optional = [*WHERE_MADE, *(os.path.join(run, name) for run in runs for name in RECORDS)]
    optional += [f"{run.replace('finetuning', 'predictions', 1)}.json" for run in runs if run.startswith("finetuning")]
    there = [name for name in optional if os.path.exists(os.path.join(results, name))]
    # The cost of each training, which the page prints.
    there += [os.path.relpath(path, results) for path in sorted(glob.glob(os.path.join(results, MEASURED)))]
    with atomic_path(folder) as temporary:
        for name in dict.fromkeys([*FILES, *there, *links(report), *crate_files(results)]):
            source, destination = os.path.join(results, name), os.path.join(temporary, name)
            if not os.path.exists(source):
                raise StudyError(f"{source} is missing: finish the study first")
            os.makedirs(os.path.dirname(destination), exist_ok=True)
            shutil.copyfile(source, destination)
        compared = compare.have_common_arms(compare.Side(temporary), compare.Side(PUBLISHED))
        if compared:
            compare.main(temporary, PUBLISHED, os.path.join(temporary, "comparison.html"))
        write_text(os.path.join(temporary, "README.md"), made(results, config, file, compared))
        packs.pack(temporary)
    link = [os.path.relpath(folder, os.path.dirname(page)) for page in pages]
    unpacked = packs.opened(folder)
    whole = with_block(whole, block(unpacked, link[0]), *between)
    write_text(pages[0], whole)
    if CONCLUSIONS[0] in whole:
        there = published_on(whole, os.path.dirname(folder))
        write_text(pages[0], with_block(whole, conclusions(there), *CONCLUSIONS))
    if brief[0] in short:
        write_text(pages[1], with_block(short, summary(unpacked, link[1]), *brief))


if __name__ == "__main__":
    try:
        name = sys.argv[1]
        study_file = file_of(name)
        settings, _ = load_study(ROOT, os.path.join(ROOT, study_file))
        target = os.path.join(ROOT, "published", name)
        pages = [os.path.join(ROOT, page) for page in PAGES]
        main(os.path.join(ROOT, "results", name), settings, study_file, target, pages)
    except (IndexError, StudyError) as error:
        sys.exit(f"tools.publish: {error if isinstance(error, StudyError) else 'name the study'}")
