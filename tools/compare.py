"""Set two studies side by side on one page, from their files alone.

Run by hand: `make compare FIRST=results/open SECOND=claims/published_runs.tsv:published`, or
`python -m tools.compare FIRST SECOND PAGE`. FIRST and SECOND are results folders, or bare tables of runs; a
table of several studies takes the name of one after a colon.
"""

import glob
import itertools
import os
import sys

from analysis.lib import claims
from analysis.lib.claims import read_claims
from analysis.lib.inference import holm, welch_p
from analysis.lib.intervals import t_interval
from analysis.lib.looks import looks_of
from common.arms import arms_of, arms_of_pair, named_arms, summarise
from common.errors import StudyError
from common.files import read_tsv, write_text
from common.frames import read_frame
from report.lib.inputs import Study, Table
from report.lib.page import Page

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEMPLATES = [path for part in ("layout", "comparison") for path in glob.glob(f"{ROOT}/report/{part}/*.j2")]
CONCLUSIONS, PUBLISHED, RUNS, POINTS = (
    os.path.join(ROOT, "claims", name)
    for name in ("conclusions.yaml", "published.yaml", "published_runs.tsv", "published_points.tsv")
)
LEVEL, ALPHA = 0.95, 0.05
NEEDED = ("study", "framework", "init", "seed", "test_accuracy", "n_test")


class Side:
    """One of the two studies.

    Attributes:
        name: the study's name, from its table of runs.
        folder: results folder, or None where only the table is there.
        table: path of the table of runs.
        accuracies: {name of the arm: [test accuracy of each seed]}, fractions.
        n_test: test reviews.
        runs: rows of the table of runs.
        synthetic: whether the table calls its data synthetic.
    """

    def __init__(self, place):
        """Read a results folder, or a table of runs.

        Raises:
            StudyError: no table, no run in it, a column missing, or runs of two studies.
        """
        place, _, wanted = place.partition(":")
        self.folder = place if os.path.isdir(place) else None
        self.table = os.path.join(place, "runs.tsv") if self.folder else place
        rows = read_tsv(self.table)
        lacking = [name for name in NEEDED if rows and name not in rows[0]]
        if not rows or lacking:
            what = f"has no column {lacking[0]}" if lacking else "holds no run"
            raise StudyError(f"{self.table} {what}: name a finished study's folder or table of runs")
        names = sorted({row["study"] for row in rows})
        rows = [row for row in rows if row["study"] == wanted] if wanted else rows
        if not rows or (len(names) > 1 and not wanted):
            raise StudyError(f"{self.table} has runs of {', '.join(names)}: name one, as in {self.table}:{names[0]}")
        self.name, self.synthetic = wanted or names[0], any(row.get("synthetic") == "true" for row in rows)
        self.n_test, self.runs = int(rows[0]["n_test"]), named_arms(rows)
        self.accuracies = {
            arm.arm: [float(row["test_accuracy"]) for row in self.runs if row["arm"] == arm.arm]
            for arm in arms_of(self.runs)
        }


def conclusion(claim, difference):
    """Return what one study says of two arms: `first` or `second` is ahead, `none` of them, or `one_seed`.

    Args:
        claim: `analysis.lib.verdicts.judge`'s word, as in statistics/pairs.tsv.
        difference: mean of the first less mean of the second.
    """
    if claim in ("one_seed", "none"):
        return claim
    return "first" if difference > 0 else "second"


def pairs_told_by(side):
    """Return what a study says of every two of its arms, {(first, second): {difference, p, conclusion}}, both ways.

    p is Welch's over seeds after Holm's correction over all pairs of the study's arms; None where it is not defined. A
    results folder's own statistics are taken as they are. A table of runs holds no answers to single reviews: of it,
    a difference is claimed by that p alone.
    """
    path = side.folder and os.path.join(side.folder, "statistics", "pairs.tsv")
    found = {}
    if path and os.path.exists(path):
        for row in read_tsv(path):
            arms = arms_of_pair(row)
            p = float(row["welch_p_holm"]) if row["welch_p_holm"] else None
            found[arms] = (float(row["difference"]), p, row["claim"])
    else:
        pairs = list(itertools.combinations(side.accuracies, 2))
        values = [(side.accuracies[a], side.accuracies[b]) for a, b in pairs]
        for arms, (a, b), p in zip(pairs, values, holm([welch_p(a, b) for a, b in values]), strict=True):
            claim = "if_normal" if p is not None and p <= ALPHA else "none"
            found[arms] = (
                summarise(a)["mean"] - summarise(b)["mean"],
                p,
                "one_seed" if 1 in map(len, (a, b)) else claim,
            )
    told = {}
    for (a, b), (difference, p, claim) in found.items():
        for arms, gap in (((a, b), difference), ((b, a), -difference)):
            told[arms] = {"difference": gap, "p": p, "conclusion": conclusion(claim, gap)}
    return told


def pairs_of(sides):
    """Return one row per pair of arms that both studies have.

    Returns:
        list[dict]: first, second (arms), told: of each side in `sides` what `pairs_told_by` says; agree: whether both
        say the same.
    """
    shared = [arm for arm in sides[0].accuracies if arm in sides[1].accuracies]
    told = [pairs_told_by(side) for side in sides]
    rows = []
    for pair in itertools.combinations(shared, 2):
        both = [of[pair] for of in told]
        agree = both[0]["conclusion"] == both[1]["conclusion"]
        rows.append({"first": pair[0], "second": pair[1], "told": both, "agree": agree})
    return rows


def answer(claim, side, published):
    """Return what a study's tables say of a claim: (verdict, the figures).

    Args:
        claim: of claims/conclusions.yaml.
        side: the study.
        published: {id: row of claims.tsv} of the published claims: what is said of the lab's own runs.
    """
    if os.path.samefile(side.table, RUNS):
        return published[claim["id"]]["verdict"], published[claim["id"]]["data"]
    if claim["table"] == "runs.tsv":
        rows = side.runs
    else:
        path = side.folder and os.path.join(side.folder, claim["table"])
        if not path or not os.path.exists(path):
            return claims.UNDECIDED, f"it gives no {claim['table']}"
        rows = read_tsv(path)
    row = claims.check(claim, {claim["table"]: rows})
    return row["verdict"], row["data"]


def conclusions_asked(sides):
    """Return one row per conclusion of the lab's reports: its sentence and source, each study's verdict and figures."""
    rows, statements = [], read_claims(PUBLISHED)
    tables = {os.path.basename(path): read_tsv(path) for path in (RUNS, POINTS)}
    published = {claim["id"]: claims.check(claim, tables) for claim in statements}
    for claim in read_claims(CONCLUSIONS, sentences=statements):
        row = {key: claim[key] for key in ("sentence", "source")}
        for i, side in enumerate(sides):
            row[f"verdict_{i}"], row[f"data_{i}"] = answer(claim, side, published)
        rows.append(row)
    return rows


def arms_told(sides):
    """Return one row per arm of either study: for each side n (None: it lacks the arm), mean, sd and interval."""
    rows = []
    for arm in dict.fromkeys(arm for side in sides for arm in side.accuracies):
        row = {"arm": arm}
        for i, side in enumerate(sides):
            values = side.accuracies.get(arm)
            facts = summarise(values) if values else {"mean": None, "sd_ddof1": None}
            low, high = (values and t_interval(values, LEVEL)) or (0.0, 1.0)
            row |= {f"n_{i}": values and len(values), f"mean_{i}": facts["mean"], f"sd_{i}": facts["sd_ddof1"]}
            row |= {f"t_low_{i}": low, f"t_high_{i}": high}
        rows.append(row)
    return rows


def pairs_told(pairs):
    """Return the rows of `pairs_of`, flat: arms a and b, for each side difference, p and conclusion; `same`."""
    rows = []
    for pair in pairs:
        row = {"arm_a": pair["first"], "arm_b": pair["second"]}
        for i, one in enumerate(pair["told"]):
            row |= {f"{key}_{i}": value for key, value in one.items()}
        rows.append(row | {"same": "yes" if pair["agree"] else "no"})
    return rows


def settings_that_differ(sides):
    """Return what the runs of the two studies really had, where they differ; nothing without both records."""
    records = []
    for side in sides:
        path = side.folder and os.path.join(side.folder, "protocol_diff.tsv")
        if not path or not os.path.exists(path):
            return []
        frame = read_frame(path).set_index("setting").drop(columns=["equal", "note"])
        records.append(frame.apply(lambda row: " / ".join(row.unique()), axis=1).to_dict())
    rows = [
        {"setting": name, "value_0": records[0].get(name), "value_1": records[1].get(name)}
        for name in dict.fromkeys([*records[0], *records[1]])
    ]
    return [row for row in rows if row["value_0"] != row["value_1"]]


def main(first, second, path):
    """Write the page.

    Args:
        first, second: results folder or table of runs.
        path: HTML file to write.

    Raises:
        StudyError: a study without runs, or two studies without a common arm.
    """
    sides = [Side(first), Side(second)]
    if not set(sides[0].accuracies) & set(sides[1].accuracies):
        raise StudyError(f"{first} and {second} have no arm in common: there is nothing to compare")
    if sides[0].name == sides[1].name:
        for side in sides:
            side.name = f"{side.name} ({side.table})"
    pairs, settings = pairs_of(sides), settings_that_differ(sides)
    study = Study({}, os.path.dirname(os.path.abspath(path)), {})
    drawings = [
        (side.name, study.drawing(figure))
        for side in sides
        if side.folder and os.path.exists(figure := os.path.join(side.folder, "figures", "arms.svg"))
    ]
    looks = looks_of(list(dict.fromkeys(arm for side in sides for arm in side.accuracies)))
    page = Page(TEMPLATES, any(side.synthetic for side in sides), {arm: colour for arm, (colour, *_) in looks.items()})
    told = {"sides": sides, "alpha": ALPHA, "level": LEVEL}
    same = sum(pair["agree"] for pair in pairs)
    page.section("conclusions", told | {"pairs": Table(pairs_told(pairs)), "n_same": same})
    page.section("reports", told | {"conclusions": Table(conclusions_asked(sides))})
    page.section("arms", told | {"arms": Table(arms_told(sides)), "drawings": drawings})
    if settings:
        page.section("settings", told | {"settings": Table(settings)})
    write_text(path, page.render(" against ".join(side.name for side in sides)))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except (TypeError, StudyError) as error:
        sys.exit(f"compare: {error if isinstance(error, StudyError) else 'name two studies and the page to write'}")
