"""The tables and the page of a suite, from its finished studies: one verdict over several data sets.

`make suite SUITE=suites/english.yaml` runs the studies first; `python -m tools.suite suites/english.yaml` reads them.
"""

import glob
import os
import sys

import measures
from analysis.arm_pairs import OPTIONS
from analysis.inference import holm
from analysis.judging import judged
from analysis.rank_arms import best_shares, grouped
from common.arms import arm_label
from common.errors import StudyError
from common.files import read_tsv, write_text, write_tsv
from report.asked import SHORT, written
from report.check_report import faults, listed
from report.inputs import Study
from report.leading import Shown
from report.page import Page
from report.printed import Reader
from report.records import Sources
from study.baselines import model_label
from study.questions import measure_of
from study.tables import columns_of
from tools.suite_chart import forest
from tools.suite_sets import asked_in, check_together, contrasts_of, draws, generator_of, read_set
from tools.suite_settings import read_suite
from tools.suite_statistics import (
    claim_of,
    contrast_of,
    interval,
    may_be_judged,
    mean_of,
    of_others,
    of_these,
)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEMPLATES = [path for part in ("layout", "suite") for path in sorted(glob.glob(f"{ROOT}/report/{part}/*.j2"))]
LEVEL, ALPHA = OPTIONS["level"], OPTIONS["alpha"]
NOUN = {"one": "text", "many": "texts"}
# The tables, in the order of the page; their columns are explained in docs/guides/suites.md.
COLUMNS = {
    "questions": "question ask contrast measure unit higher_is_better n_sets score_difference level low high "
    "bootstrap_low bootstrap_high equal_within tested p p_holm n_family answer others_low others_high others_p "
    "others_p_holm others_answer least most n_ahead n_behind n_shown_ahead n_shown_behind n_shown_equal n_failed "
    "n_runs n_asked_late",
    "sets": "question study ask contrast n_seeds_each n_test score_difference level score_difference_low "
    "score_difference_high equal_within answer",
    "groups": "group arm n_sets mean leader difference level low high best_share n_best",
    "arms": "arm study n_seeds mean",
    "studies": "study synthetic n_train n_test n_classes n_arms n_runs mean_seconds train_seconds memory_mb",
}


def question_rows(sets, questions, drawn):
    """Return the rows of questions.tsv and sets.tsv.

    Args:
        sets: `DataSet`s.
        questions: the suite's.
        drawn: what `tools.suite_sets.draws` returns.

    Raises:
        StudyError: see `tools.suite_sets.contrasts_of`.
    """
    rows, of_sets = [], []
    for number, question in enumerate(questions, start=1):
        every, asked = contrasts_of(sets, question, drawn)
        measure = measures.load(measure_of(question, sets[0].leading))
        scale = 0.01 if measure.UNIT == "share" else 1.0
        margin = question["equal_within"] * scale if question.get("equal_within") is not None else None
        row = {"question": number, "ask": question["ask"], "contrast": asked[0]["contrast"], "n_sets": len(sets)}
        row |= {"measure": measure_of(question, sets[0].leading), "unit": measure.UNIT}
        row |= {"higher_is_better": measure.HIGHER_IS_BETTER, "equal_within": margin, "level": LEVEL}
        rows.append(row | over_sets(every, margin) | counted(every, asked))
        of_sets += [
            {"question": number, "study": one.name} | {name: said[name] for name in said if name in COLUMNS["sets"]}
            for one, said in zip(sets, asked, strict=True)
        ]
    for prefix in ("", "others_"):
        for row, p in zip(rows, holm([row[f"{prefix}p"] for row in rows]), strict=True):
            row[f"{prefix}p_holm"] = p
            said = {"p": row[f"{prefix}p"], "p_holm": p, "alpha": ALPHA, "tested": row[f"{prefix}tested"]}
            row[f"{prefix}answer"] = judged(said) if prefix == "" or p is not None else None
    return [row | {"n_family": sum(one["p"] is not None for one in rows)} for row in rows], of_sets


def over_sets(every, margin):
    """Return what one question's contrasts say together: of these sets, and of others like them.

    Args:
        every: a `Contrast` for each set.
        margin: of equality, or None.
    """
    difference = mean_of(every)
    row = {"score_difference": difference}
    row |= {"least": min(one.difference for one in every), "most": max(one.difference for one in every)}
    row |= dict.fromkeys(("low", "high", "bootstrap_low", "bootstrap_high", "p"))
    row |= {"tested": "nothing", "others_tested": "nothing"}
    row |= dict.fromkeys(("others_low", "others_high", "others_p"))
    if not may_be_judged(every):
        return row
    varies = of_these(every)
    (row["low"], row["high"]), (row["bootstrap_low"], row["bootstrap_high"]) = interval(difference, varies, LEVEL)
    row["tested"], row["p"] = claim_of(difference, varies, margin, every)
    if others := of_others(every, generator_of("others")):
        (row["others_low"], row["others_high"]), _ = interval(difference, others, LEVEL)
        row["others_tested"], row["others_p"] = claim_of(difference, others, margin, every)
    return row


def counted(every, asked):
    """Return on how many sets the first side is ahead, how many studies show it, and what weakens the answers."""
    shown = [
        (row["answer"], one.difference > 0) for one, row in zip(every, asked, strict=True) if row["answer"] != "open"
    ]
    differ = ("difference", "beyond")
    return {
        "n_ahead": sum(one.difference > 0 for one in every),
        "n_behind": sum(one.difference < 0 for one in every),
        "n_shown_ahead": sum(answer in differ and ahead for answer, ahead in shown),
        "n_shown_behind": sum(answer in differ and not ahead for answer, ahead in shown),
        "n_shown_equal": sum(answer == "equal" for answer, _ in shown),
        "n_failed": sum(int(row["n_failed"]) for row in asked),
        "n_runs": sum(int(row["n_runs"]) for row in asked),
        "n_asked_late": sum(row["n_runs_then"] != "0" for row in asked),
    }


def group_rows(sets, drawn):
    """Return the rows of groups.tsv: the arms that every set has, by their mean over sets, as `rank_arms` groups them.

    Args:
        sets: `DataSet`s.
        drawn: what `tools.suite_sets.draws` returns.
    """
    measure = sets[0].leading
    names = [name for name in sets[0].arms if all(name in one.arms for one in sets)]
    if len(names) < 2:
        return []
    sign = 1 if measures.load(measure).HIGHER_IS_BETTER else -1
    means = {
        name: [float(sum(one.by(measure)[name][0]) / len(one.by(measure)[name][0])) for one in sets] for name in names
    }
    order = sorted(names, key=lambda name: -sign * sum(means[name]))
    level = 1 - (1 - LEVEL) / (len(names) * (len(names) - 1) / 2)
    ends = {}

    def compared(first, second):
        if (first, second) not in ends:
            every = [contrast_of([(1, first), (-1, second)], one.by(measure), drawn[one.name, measure]) for one in sets]
            found = interval(mean_of(every), of_these(every), level)[0] if may_be_judged(every) else (None, None)
            ends[first, second] = mean_of(every), *found
        return ends[first, second]

    def separated(first, second):
        _, low, high = compared(first, second)
        return low is not None and not low <= 0 <= high

    groups = grouped(order, separated)
    over = [sum(drawn[one.name, measure][name] for one in sets) * sign for name in order]
    shares = dict(zip(order, best_shares(over), strict=True))
    best = [max(sign * means[name][place] for name in names) for place in range(len(sets))]
    rows = []
    for name in sorted(order, key=groups.get):
        difference, low, high = compared(order[0], name) if name != order[0] else (0.0, None, None)
        row = {"group": groups[name], "arm": name, "n_sets": len(sets), "mean": sum(means[name]) / len(sets)}
        row |= {"leader": order[0], "difference": difference, "level": level, "low": low, "high": high}
        n_best = sum(sign * mean == top for mean, top in zip(means[name], best, strict=True))
        rows.append(row | {"best_share": float(shares[name]), "n_best": n_best})
    return rows


def study_rows(sets):
    """Return the rows of studies.tsv: each study's size and cost."""
    rows = []
    for one in sets:
        seconds = [float(row["train_seconds"]) for row in one.frame.to_dict("records") if row.get("train_seconds")]
        first = one.frame.iloc[0]
        row = {
            "study": one.name,
            "synthetic": first.get("synthetic", ""),
            "n_train": first["n_train"],
            "n_test": first["n_test"],
        }
        row |= {"n_classes": len(one.settings["data"].get("labels") or []) or None}
        row |= {"n_arms": one.frame["arm"].nunique(), "n_runs": len(one.frame)}
        row |= {"train_seconds": sum(seconds), "mean_seconds": sum(seconds) / len(seconds) if seconds else None}
        rows.append(row | {"memory_mb": peak_memory(one.folder)})
    return rows


def peak_memory(folder):
    """Return the largest resident memory of a study's trainings, in MiB; None where no benchmark says it."""
    paths = glob.glob(os.path.join(glob.escape(folder), "benchmarks", "finetune_*", "*", "seed*.tsv"))
    found = [row["max_rss"] for path in paths for row in read_tsv(path)]
    return max((float(value) for value in found if value not in ("-", "NA", "")), default=None)


def arm_rows(sets):
    """Return the rows of arms.tsv: the mean of each arm on each set, by the leading measure."""
    return [
        {"arm": name, "study": one.name, "n_seeds": len(scores), "mean": sum(scores) / len(scores)}
        for one in sets
        for name, (scores, _, _) in one.by(one.leading).items()
        if name in one.arms
    ]


def tables_of(sets, questions):
    """Return {table: rows} of a suite's finished studies.

    Raises:
        StudyError: see `check_together` and `question_rows`.
    """
    check_together(sets)
    asked_by = {sets[0].leading, *(measure_of(question, sets[0].leading) for question in questions)}
    # Refusals come before minutes of resampling.
    for one in sets:
        for question in questions:
            asked_in(one, question)
    drawn = draws(sets, sorted(asked_by))
    rows, of_sets = question_rows(sets, questions, drawn)
    return {
        "questions": rows,
        "sets": of_sets,
        "groups": group_rows(sets, drawn),
        "arms": arm_rows(sets),
        "studies": study_rows(sets),
    }


def build(folder, name, leading):
    """Return the page of a suite's tables, as HTML.

    Args:
        folder: of the tables; links are relative to it.
        name: the suite's.
        leading: the measure that leads its studies.
    """
    paths = {table: [os.path.join(folder, f"{table}.tsv")] for table in COLUMNS}
    study = Study(paths, os.path.abspath(folder), {})
    rows = {table: study.frame(table).to_dict("records") for table in COLUMNS}
    pages = {row["study"]: f"../../{row['study']}/report.html" for row in rows["studies"]}
    lead = Shown({"measure": leading})
    synthetic = any(row["synthetic"] == "true" for row in rows["studies"])
    page = Page(TEMPLATES, "some of these sets" if synthetic else "", noun=NOUN, lead=lead)
    asked = []
    for row in rows["questions"]:
        short, kind = SHORT[row["answer"]]
        measure = measures.load(row["measure"])
        share = measure.UNIT == "share"
        weak = row["n_failed"] != "0" or row["n_asked_late"] != "0"
        on_sets = [one for one in rows["sets"] if one["question"] == row["question"]]
        asked.append(
            row
            | {"short": short, "class": "partly" if weak and kind == "shown" else kind, "share": share}
            | {"unit": f" {measure.UNIT}" if measure.UNIT else "", "label": measure.LABEL, "on": None}
            | {"written": written(row["contrast"]), "first": first_side(row["contrast"])}
            | {"better": "higher" if measure.HIGHER_IS_BETTER else "lower", "sets": on_sets}
            | {"others_short": SHORT[row["others_answer"]][0] if row["others_answer"] else ""}
            | {"chart": forest(row, on_sets, pages, share)}
        )
    facts = {"asked": asked, "pages": pages}
    hrefs = {table: f"{table}.tsv" for table in COLUMNS}
    facts |= {"hrefs": hrefs, "studies": study.table("studies"), "groups": study.table("groups")}
    for row in facts["groups"].rows:
        row["label"] = shown_name(row["arm"])
    facts |= {"matrix": matrix(rows["arms"], rows["studies"], rows["groups"])}
    page.section("verdict", facts)
    if rows["groups"]:
        page.section("ties", facts)
    page.section("sets", facts)
    page.section("how", facts)
    return page.render(rows["questions"][0]["n_sets"], f"Suite {name}: {{}} data sets")


def first_side(contrast):
    """Return whether a contrast's first side is one arm, whose wins can be counted as its own."""
    return len(contrast.split()) == 3


def matrix(arms, studies, groups):
    """Return (studies, [(arm's name for readers, its means in their order; None: the set lacks it)])."""
    order = list(dict.fromkeys([*(str(row["arm"]) for row in groups), *(str(row["arm"]) for row in arms)]))
    found = {(str(row["arm"]), str(row["study"])): row for row in arms}
    names = {str(row["arm"]): row["arm"] for row in arms}
    return [row["study"] for row in studies], [
        (shown_name(names[arm]), [found.get((arm, str(row["study"]))) for row in studies]) for arm in order
    ]


def shown_name(value):
    """Return an arm's name for readers; one with a digit as the table has it, with its record."""
    label = arm_label(model_label(value))
    return value if any(character.isdecimal() for character in label) else label


def main(path, results=None):
    """Write a suite's tables and page, and check the page's numbers against the tables.

    Args:
        path: the suite's file.
        results: folder of the results of its studies; None: where the command runs.

    Raises:
        StudyError: see `read_suite`, `read_set` and `tables_of`; or a number of the page is not that of its table.
    """
    suite = read_suite(path, ROOT)
    place = results or "."
    sets = [read_set(os.path.join(place, entry.folder)) for entry in suite.entries]
    tables, folder = tables_of(sets, suite.questions), os.path.join(place, suite.folder)
    for name, rows in tables.items():
        columns = COLUMNS[name].split()
        write_tsv(
            os.path.join(folder, f"{name}.tsv"), [{key: row.get(key) for key in columns} for row in rows], columns
        )
    html = build(folder, suite.name, sets[0].leading)
    rows = check_numbers(html, folder)
    write_tsv(os.path.join(folder, "report_numbers.tsv"), rows, columns_of("report_numbers"))
    write_text(os.path.join(folder, "report.html"), html)


def check_numbers(html, folder):
    """Compute the page's charts and recorded numbers again from the tables, as `check_report` does.

    Returns:
        list[dict]: rows of report_numbers.tsv.

    Raises:
        StudyError: one is not what its table says.
    """
    reader = Reader(html)
    sources = Sources([os.path.join(folder, f"{name}.tsv") for name in COLUMNS], folder, {}, "")
    if wrong := faults(reader, sources):
        raise StudyError(f"the suite's numbers are not those of its tables: {'; '.join(wrong[:5])}")
    return [row for one in reader.numbers for row in listed(one)]


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except (TypeError, StudyError) as error:
        sys.exit(f"suite: {error if isinstance(error, StudyError) else 'name a suite, such as suites/english.yaml'}")
