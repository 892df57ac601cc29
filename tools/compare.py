"""Set two studies side by side on one page, from their files alone.

Run by hand: `make compare FIRST=results/open SECOND=claims/published_runs.tsv:published`, or
`python -m tools.compare FIRST SECOND PAGE`. FIRST and SECOND are results folders, or bare tables of runs; a
table of several studies takes the name of one after a colon.
"""

import glob
import itertools
import os
import re
import sys

from scipy import stats

from analysis.inference import welch_p
from analysis.intervals import LEVEL
from common.arms import arms_of, arms_of_pair, run_label, summarise
from common.errors import StudyError
from common.files import read_json, read_tsv, write_text
from data.reviews import noun_of
from lab.claim_tables import FAILS, HOLDS, NOT_SETTLED, UNDECIDED
from lab.claims import check_together, read_claims
from measures import DEFAULT, Lead
from report import marks
from report.arm_colours import coloured
from report.asked import answered
from report.check_report import number_faults
from report.inputs import Study, Table
from report.numbers import Derived, derive
from report.page import REVIEWS, Page
from report.printed import Reader
from report.records import Sources
from report.strips import Strip, strip_chart
from tools import packs
from tools.checked import CRATE, check_results

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEMPLATES = [path for part in ("layout", "comparison") for path in glob.glob(f"{ROOT}/report/{part}/*.j2")]
CONCLUSIONS, PUBLISHED, RUNS, POINTS = (
    os.path.join(ROOT, "claims", name)
    for name in ("conclusions.yaml", "published.yaml", "published_runs.tsv", "published_points.tsv")
)
ALPHA = 0.05
# A sentence about two splits.
SPLITS = {"valid": "validation", "test": "test"}
# Verdicts of claims and the CSS classes of their cells.
VERDICTS = {HOLDS: "shown", FAILS: "against", NOT_SETTLED: "open", UNDECIDED: "undecided"}
# Two studies' questions are the same where these keys agree.
SAME_QUESTION = ("contrast", "measure", "equal_within")
NEEDED = ("study", "arm", "framework", "model", "init", "seed", "test_accuracy", "n_test")


class Side:
    """One of the two studies.

    Attributes:
        name: the study's name, from its table of runs.
        folder: results folder, or None where only the table is there.
        table: path of the table of runs.
        study: `Study` that reads its files; links start at the page's folder.
        wanted: {column: text} that selects the study's rows in its table.
        runs: rows of the table of runs, `Value`s.
        accuracies: {name of the arm: [test accuracy of each seed]}, fractions.
        n_test: test reviews.
        synthetic: whether the table calls its data synthetic.
        noun: what its texts are called; those of a bare table of runs are reviews.
    """

    def __init__(self, place, root="."):
        """Read a results folder, or a table of runs; `root` is the page's folder.

        Raises:
            StudyError: a file that is not the recorded one, no table, no run in it, a column missing, runs of two
                studies, or see `check_runs`.
        """
        place, _, wanted = place.partition(":")
        if packs.is_packed(place):
            raise StudyError(
                f"{place} is packed, and links to its tables would lead nowhere: unpack it by `python -m tools.packs "
                f"{place} FOLDER` and name FOLDER"
            )
        self.folder = place if os.path.isdir(place) else None
        self.table = os.path.join(place, "runs.tsv") if self.folder else place
        if self.folder and os.path.exists(os.path.join(place, CRATE)):
            check_results(place)
        self.study = Study({}, os.path.abspath(root), {})
        rows = self.rows("runs.tsv")
        lacking = [name for name in NEEDED if rows and name not in rows[0]]
        if not rows or lacking:
            what = f"has no column {lacking[0]}" if lacking else "holds no run"
            raise StudyError(f"{self.table} {what}: name a finished study's folder or table of runs")
        names = sorted({row["study"] for row in rows})
        rows = [row for row in rows if row["study"] == wanted] if wanted else rows
        if not rows or (len(names) > 1 and not wanted):
            raise StudyError(f"{self.table} has runs of {', '.join(names)}: name one, as in {self.table}:{names[0]}")
        self.wanted = {"study": wanted} if wanted else {}
        self.name, self.synthetic = wanted or names[0], any(row.get("synthetic") == "true" for row in rows)
        manifest = os.path.join(self.folder or "", "data", "manifest.json")
        self.noun = noun_of(read_json(manifest)) if self.folder and os.path.exists(manifest) else REVIEWS
        self.n_test, self.runs = rows[0]["n_test"], rows
        lead = Lead(rows[0])
        if lead.name != DEFAULT:
            raise StudyError(
                f"{self.table} is of a study that {lead.label} leads; only studies led by accuracy are compared"
            )
        check_runs(self.table, self.runs)
        self.accuracies = {
            arm.arm: [float(row["test_accuracy"]) for row in self.runs_of(arm.arm)] for arm in arms_of(self.runs)
        }

    def rows(self, name):
        """Return the rows of one of its tables as `Value`s; none where it lacks the table."""
        path = self.table if name == "runs.tsv" else self.folder and os.path.join(self.folder, name)
        if not path or (name != "runs.tsv" and not os.path.exists(path)):
            return []
        return self.study.read(path).to_dict("records")

    def runs_of(self, arm):
        """Return an arm's runs."""
        return [row for row in self.runs if row["arm"] == arm]


def check_runs(table, runs):
    """Refuse runs whose test accuracy is no fraction, and a run that occurs twice: both would be averaged silently.

    Raises:
        StudyError: such a run; names the table, and the line or the run.
    """
    seen = set()
    for row in runs:
        accuracy, name = row["test_accuracy"], run_label(row["arm"], row["seed"])
        if not (re.fullmatch(r"\d+(\.\d*)?([eE]-?\d+)?", accuracy) and float(accuracy) <= 1):
            place = f"{table}, line {accuracy.row}: test_accuracy is {str(accuracy)!r}"
            raise StudyError(f"{place}; write a fraction from 0 to 1, as 0.7950")
        if name in seen:
            raise StudyError(f"{table} has {name} twice; keep one row of a run")
        seen.add(name)


def pairs_in(side):
    """Return what a study's files say of every two of its arms, both ways: {(first, second): {gap, low, high}}.

    A table of runs holds no answers to single texts, so its interval is Welch's over seeds alone. Empty ends: one seed.
    """
    found = {}
    for row in side.rows("statistics/pairs.tsv") or computed_pairs(side):
        a, b = arms_of_pair(row)
        gap, low, high = row["difference"], row["low"], row["high"]
        found[a, b] = {"gap": gap, "low": low, "high": high}
        turned = [value and derive("difference", "0", value) for value in (gap, high, low)]
        found[b, a] = dict(zip(("gap", "low", "high"), turned, strict=True))
    return found


def computed_pairs(side):
    """Return rows as pairs.tsv has them, of a table of runs: arms, difference, Welch's interval over seeds."""
    rows = []
    for a, b in itertools.combinations(side.accuracies, 2):
        means = [derive("mean", *(row["test_accuracy"] for row in side.runs_of(arm))) for arm in (a, b)]
        low, high = welch_interval(side.accuracies[a], side.accuracies[b])
        rows.append({"arm_a": a, "arm_b": b, "difference": derive("difference", *means), "low": low, "high": high})
    return rows


def welch_interval(first, second):
    """Return Welch's interval of the difference of two means over seeds, as text; empty where it is not defined."""
    if welch_p(first, second) is None:
        return "", ""
    found = stats.ttest_ind(first, second, equal_var=False).confidence_interval(LEVEL)
    return repr(float(found.low)), repr(float(found.high))


def pairs_of(sides):
    """Return one row per pair of arms that both studies have: first, second, and each study's `cells` (`pairs_in`)."""
    shared = [arm for arm in sides[0].accuracies if arm in sides[1].accuracies]
    found = [pairs_in(side) for side in sides]
    return [
        {"first": {"arm": a}, "second": {"arm": b}, "cells": [pairs[a, b] for pairs in found]}
        for a, b in itertools.combinations(shared, 2)
    ]


def agree(both):
    """Return whether two studies give a question one answer; differences of opposite signs are two."""
    signs = {one["score_difference"].startswith("-") for one in both}
    answers = {str(one["answer"]) for one in both}
    return len(answers) == 1 and (len(signs) == 1 or answers <= {"equal", "open", "one_seed"})


def asked_by_both(sides):
    """Return the questions that both studies asked: the first one's words, both answers, and whether they agree.

    Questions are the same where contrast, measure and margin are.
    """

    def by_content(side):
        return {tuple(row[name] for name in SAME_QUESTION): row for row in side.rows("questions.tsv")}

    first, second = map(by_content, sides)
    rows = []
    for content, row in first.items():
        if content in second:
            both = [answered(one) for one in (row, second[content])]
            rows.append({"ask": row["ask"], "contrast": both[0]["contrast"], "both": both, "agree": agree(both)})
    return rows


def answers(asked, side, published):
    """Return what a study's tables say of the reports' conclusions, together: {id: (verdict, the figures)}.

    Args:
        asked: claims of claims/conclusions.yaml.
        side: the study.
        published: {id: row of claims.tsv} of the published claims: what is said of the lab's own runs.
    """
    if os.path.samefile(side.table, RUNS):
        statements = {claim["id"]: published[claim.get("of", claim["id"])] for claim in asked}
        return {name: (row["verdict"], row["data"]) for name, row in statements.items()}
    names = {"runs.tsv", *(claim["table"] for claim in asked)}
    tables = {name: side.runs if name == "runs.tsv" else side.rows(name) for name in names}
    tables = {name: rows for name, rows in tables.items() if rows}
    found = {claim["id"]: (UNDECIDED, f"it gives no {claim['table']}") for claim in asked}
    for row in check_together([claim for claim in asked if claim["table"] in tables], tables):
        found[row["id"]] = row["verdict"], row["data"]
    return found


def conclusions_asked(sides):
    """Return one row per conclusion of the lab's reports: its sentence and source, each study's verdict and figures."""
    rows, statements = [], read_claims(PUBLISHED)
    tables = {os.path.basename(path): read_tsv(path) for path in (RUNS, POINTS)}
    published = {row["id"]: row for row in check_together(statements, tables)}
    asked = read_claims(CONCLUSIONS, sentences=statements)
    by_side = [answers(asked, side, published) for side in sides]
    for claim in asked:
        row = {key: claim[key] for key in ("sentence", "source")} | {"split": SPLITS.get(claim.get("split"), "")}
        for i, of_side in enumerate(by_side):
            row[f"verdict_{i}"], row[f"data_{i}"] = of_side[claim["id"]]
        rows.append(row)
    return rows


def arms_told(sides):
    """Return one row per arm of either study: for each side n (None: it lacks the arm), mean, sd and interval."""
    rows = []
    for arm in dict.fromkeys(arm for side in sides for arm in side.accuracies):
        row = {"arm": arm}
        for i, side in enumerate(sides):
            values = side.accuracies.get(arm)
            spread = spread_of(side, arm) if values else {}
            row |= {f"n_{i}": values and len(values), f"mean_{i}": spread.get("mean")}
            row |= {f"sd_{i}": values and summarise(values)["sd_ddof1"]}
            row |= {f"{bound}_{i}": spread.get(bound, "") for bound in ("t_low", "t_high")}
        means = [row[f"mean_{i}"] for i in range(len(sides))]
        rows.append(row | {"apart": derive("difference", *means) if len(means) == 2 and None not in means else ""})
    return rows


def spread_of(side, arm):
    """Return an arm's mean over seeds and, of several seeds, n_seeds and the bounds of Student's interval."""
    values = [row["test_accuracy"] for row in side.runs_of(arm)]
    found = {"mean": derive("mean", *values)}
    if len(values) > 1:
        path, where = values[0].path, side.wanted | {"arm": arm}
        found["n_seeds"] = Derived(len(values), "count", path, *(f"{name}={text}" for name, text in where.items()))
        found |= {bound: derive(bound, str(LEVEL), *values) for bound in ("t_low", "t_high")}
    return found


def strips(sides, looks):
    """Return the chart's strips: of each arm that of both studies, one below the other."""
    found = []
    for arm, (place, label, colour) in looks.items():
        for side in sides:
            runs = side.runs_of(arm)
            if runs:
                where = side.wanted | {"arm": runs[0]["arm"]}
                spread = spread_of(side, arm) if len(runs) > 1 else None
                found.append(Strip(f"{label}: {side.name}", place, colour, runs, where, spread))
    return found


def counted(rows, i):
    """Return how many conclusions have each of `VERDICTS` in the i-th study."""
    return [sum(row[f"verdict_{i}"] == verdict for row in rows) for verdict in VERDICTS]


def settings_that_differ(sides):
    """Return what the runs of the two studies really had, where they differ; nothing without both records."""
    records = []
    for side in sides:
        rows = side.rows("protocol_diff.tsv")
        if not rows:
            return []
        frameworks = [name for name in rows[0] if name not in ("setting", "equal", "note")]
        records.append({row["setting"]: " / ".join(dict.fromkeys(row[name] for name in frameworks)) for row in rows})
    rows = [
        {"setting": name, "value_0": records[0].get(name), "value_1": records[1].get(name)}
        for name in dict.fromkeys([*records[0], *records[1]])
    ]
    return [row for row in rows if row["value_0"] != row["value_1"]]


def have_common_arms(first, second):
    """Return whether two `Side`s have an arm of the same name, without which nothing is compared."""
    return bool(set(first.accuracies) & set(second.accuracies))


def main(first, second, path):
    """Write the page.

    Args:
        first, second: results folder or table of runs.
        path: HTML file to write.

    Raises:
        StudyError: a study without runs, or two studies without a common arm.
    """
    root = os.path.dirname(os.path.abspath(path))
    sides = [Side(first, root), Side(second, root)]
    if not have_common_arms(*sides):
        raise StudyError(f"{first} and {second} have no arm in common: there is nothing to compare")
    if sides[0].name == sides[1].name:
        for side in sides:
            side.name = f"{side.name} ({side.table})"
    looks = coloured(arms_told(sides), None)
    names = " and ".join(side.name for side in sides if side.synthetic)
    noun = sides[0].noun if sides[0].noun == sides[1].noun else {"one": "text", "many": "texts"}
    page = Page(TEMPLATES, names, {arm: colour for arm, (*_, colour) in looks.items()}, arms=looks, noun=noun)
    # The lab's conclusions concern its reviews, so two studies of other texts are left out.
    asked = [] if all(side.noun != REVIEWS for side in sides) else conclusions_asked(sides)
    pairs, questions = pairs_of(sides), asked_by_both(sides)
    facts = {"sides": sides, "alpha": ALPHA, "level": str(LEVEL), "verdict_classes": VERDICTS}
    page.section(
        "compared",
        facts
        | {
            "pairs": pairs,
            "questions": questions,
            "counts": [(side.name, counted(asked, i)) for i, side in enumerate(sides)],
            "n_asked": len(asked),
            "arms": arms_told(sides),
            "chart_of_arms": strip_chart(strips(sides, looks), "Test accuracy of every seed, by arm and study"),
            "tables": [(link, link) for link in dict.fromkeys(side.study.link(side.table) for side in sides)],
        },
    )
    if asked:
        page.section("reports", facts | {"conclusions": Table(asked)})
    page.section("arms", facts | {"arms": Table(arms_told(sides))})
    settings = settings_that_differ(sides)
    if settings:
        page.section("settings", facts | {"settings": Table(settings)})
    html = page.render(" against ".join(side.name for side in sides), "{}: two studies compared")
    check_numbers(html, sides, root)
    write_text(path, html)


def check_numbers(html, sides, root):
    """Compute the page's charts and recorded numbers again from the studies' files, as `check_report` does.

    Raises:
        StudyError: one is not what its file says.
    """
    reader, names = (
        Reader(html),
        ("runs.tsv", "statistics/pairs.tsv", "questions.tsv", "protocol_diff.tsv", "learned.tsv", "history.tsv"),
    )
    paths = [side.table for side in sides]
    paths += [os.path.join(side.folder, name) for side in sides if side.folder for name in names[1:]]
    sources = Sources(paths, root, {}, "")
    wrong = [*marks.faults(reader.charts, sources), *number_faults(reader.numbers, sources)]
    if wrong:
        raise StudyError(f"the comparison's numbers are not those of its files: {'; '.join(wrong[:5])}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except (TypeError, StudyError) as error:
        sys.exit(f"compare: {error if isinstance(error, StudyError) else 'name two studies and the page to write'}")
