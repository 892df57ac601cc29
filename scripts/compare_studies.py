"""Set two studies side by side on one page, from their files alone.

Run by hand: `make compare FIRST=results/open SECOND=claims/published_runs.tsv:published`, or
`python scripts/compare_studies.py FIRST SECOND PAGE`. FIRST and SECOND are results folders, or bare tables of runs; a
table of several studies takes the name of one after a colon.
"""

import os
import sys

from check_claims import read_claims
from common import claims, page
from common.arms import arm_label, arms_of, colour_of, percent, summarise, t_interval
from common.errors import StudyError
from common.files import read_tsv, write_text
from common.page import Study, cell, column, notice, section, table
from common.statistics import holm, p_text, points, welch_p

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEMPLATE = os.path.join(ROOT, "report", "report.html.j2")
CONCLUSIONS = os.path.join(ROOT, "claims", "conclusions.yaml")
LEVEL, ALPHA = 0.95, 0.05
NEEDED = ("study", "framework", "init", "seed", "test_accuracy", "n_test")


class Side:
    """One of the two studies.

    Attributes:
        name: the study's name, from its table of runs.
        folder: results folder, or None where only the table is there.
        table: path of the table of runs.
        accuracies: {(framework, init): [test accuracy of each seed]}, fractions.
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
        self.n_test, self.runs = int(rows[0]["n_test"]), rows
        self.accuracies = {
            arm: [float(row["test_accuracy"]) for row in rows if (row["framework"], row["init"]) == arm]
            for arm in arms_of(rows)
        }


def interval(values):
    """Return Student's interval of a mean in per cent, or why there is none."""
    found = t_interval(values, LEVEL)
    return f"{percent(max(0.0, found[0]))} to {percent(min(1.0, found[1]))}" if found else "one seed: none"


def conclusion(first, second, p):
    """Return what one study says of two arms: which is ahead, or that no difference can be claimed.

    Args:
        first, second: test accuracies of the arms' seeds.
        p: Welch's p after Holm's correction, or None with one seed an arm.
    """
    if p is None:
        return "cannot be told from one seed"
    if p >= ALPHA:
        return "no difference can be claimed"
    return "the first is ahead" if sum(first) / len(first) > sum(second) / len(second) else "the second is ahead"


def pairs_of(sides):
    """Return one row per pair of arms that both studies have.

    Returns:
        list[dict]: first, second (arms), and for each side in `sides` a dict of difference (of means, fraction), p
        (Welch, Holm within the study over these pairs; None with one seed) and conclusion; agree: whether both say
        the same.
    """
    shared = [arm for arm in sides[0].accuracies if arm in sides[1].accuracies]
    pairs = [(a, b) for i, a in enumerate(shared) for b in shared[i + 1 :]]
    told = []
    for side in sides:
        values = [(side.accuracies[a], side.accuracies[b]) for a, b in pairs]
        corrected = holm([welch_p(a, b) for a, b in values])
        told.append(
            [
                {
                    "difference": sum(a) / len(a) - sum(b) / len(b),
                    "p": corrected[i],
                    "conclusion": conclusion(a, b, corrected[i]),
                }
                for i, (a, b) in enumerate(values)
            ]
        )
    return [
        {"first": a, "second": b, "told": both, "agree": both[0]["conclusion"] == both[1]["conclusion"]}
        for (a, b), both in zip(pairs, zip(*told, strict=True), strict=True)
    ]


def answer(claim, side):
    """Return what a study's tables say of a claim: (verdict, the figures)."""
    if claim["table"] == "runs.tsv":
        rows = side.runs
    else:
        path = side.folder and os.path.join(side.folder, claim["table"])
        if not path or not os.path.exists(path):
            return claims.UNDECIDED, f"it gives no {claim['table']}"
        rows = read_tsv(path)
    row = claims.check(claim, {claim["table"]: rows})
    return row["verdict"], row["data"]


def conclusions_table(sides):
    """Return the table of what the lab's reports conclude, asked of each study."""
    rows = []
    for claim in read_claims(CONCLUSIONS):
        answers = [": ".join(answer(claim, side)) for side in sides]
        rows.append([cell(claim["sentence"]), cell(claim["source"]), *map(cell, answers)])
    heads = [column("Source", wide=True), *(column(side.name, wide=True) for side in sides)]
    note = (
        "Each conclusion is put to the study's own tables: test accuracy of the chosen checkpoints, or "
        "validation where steps are meant. Differences and spreads hold from p = 0.05 down; nothing here "
        "is corrected for their number. Where a report speaks of BLOOM, it is the base that the study tuned."
    )
    return table(
        "What the lab's reports conclude, asked of each study",
        [column("Conclusion", wide=True), *heads],
        rows,
        note=note,
    )


def arms_table(sides):
    """Return the table of every arm of either study."""
    arms = list(dict.fromkeys(arm for side in sides for arm in side.accuracies))
    rows = []
    for arm in arms:
        row = [cell(arm_label(*arm), colour=colour_of(*arm))]
        for side in sides:
            values = side.accuracies.get(arm)
            if values is None:
                row += ["", ""]
                continue
            facts = summarise(values)
            sd = "" if facts["sd_ddof1"] is None else f" ± {percent(facts['sd_ddof1'])}"
            row += [f"{percent(facts['mean'])}{sd}, n = {len(values)}", interval(values)]
        rows.append([value if isinstance(value, dict) else cell(value) for value in row])
    heads = [
        column(f"{side.name}: {what}", number=True)
        for side in sides
        for what in ("mean ± SD (ddof 1)", f"{LEVEL:.0%} t-interval")
    ]
    return table("Test accuracy (%) by arm, over seeds", ["Arm", *heads], rows)


def concluded(one):
    """Return one study's conclusion of a pair with its p."""
    return one["conclusion"] + ("" if one["p"] is None else f" ({p_text(one['p'])})")


def pairs_table(sides, pairs):
    """Return the table of what each study concludes of each pair of arms."""
    rows = []
    for pair in pairs:
        row = [cell(f"{arm_label(*pair['first'])} against {arm_label(*pair['second'])}")]
        for one in pair["told"]:
            row += [cell(points(one["difference"])), cell(concluded(one))]
        rows.append([*row, cell("yes" if pair["agree"] else "no")])
    heads = [
        column(f"{side.name}: {what}", number=what == "points", wide=what == "conclusion")
        for side in sides
        for what in ("points", "conclusion")
    ]
    note = (
        "Points: difference of the means over seeds. p: Welch's t-test over seeds, Holm's correction within each "
        f"study; a difference is claimed below {ALPHA}."
    )
    return table("What each study says of two arms", ["Arms", *heads, "Same"], rows, note=note)


def settings_table(sides):
    """Return the table of what the runs of the two studies really had, where they differ; None without both records."""
    records = []
    for side in sides:
        path = side.folder and os.path.join(side.folder, "protocol_diff.tsv")
        if not path or not os.path.exists(path):
            return None
        rows = read_tsv(path)
        frameworks = [name for name in rows[0] if name not in ("setting", "equal", "note")]
        records.append({row["setting"]: " / ".join(dict.fromkeys(row[name] for name in frameworks)) for row in rows})
    names = [name for name in dict.fromkeys([*records[0], *records[1]]) if records[0].get(name) != records[1].get(name)]
    rows = [[cell(name, code=True), *(cell(record.get(name)) for record in records)] for name in names]
    heads = [column(side.name, wide=True) for side in sides]
    return table("Settings of the runs that differ between the studies", ["Setting", *heads], rows) if rows else None


def main(first, second, path):
    """Write the page.

    Args:
        first, second: results folder or table of runs.
        path: HTML file to write.

    Raises:
        StudyError: a study without runs, or two studies without a common arm.
    """
    sides = [Side(first), Side(second)]
    pairs = pairs_of(sides)
    if not set(sides[0].accuracies) & set(sides[1].accuracies):
        raise StudyError(f"{first} and {second} have no arm in common: there is nothing to compare")
    same = sum(pair["agree"] for pair in pairs)
    names = [side.name if sides[0].name != sides[1].name else f"{side.name} ({side.table})" for side in sides]
    for side, name in zip(sides, names, strict=True):
        side.name = name
    lead = [
        f"{names[0]}: {sides[0].n_test} test reviews; {names[1]}: {sides[1].n_test}. "
        + (f"Of {len(pairs)} pairs of arms that both have, the two studies say the same of {same}." if pairs else "")
    ]
    synthetic = [side.name for side in sides if side.synthetic]
    study = Study({}, os.path.dirname(os.path.abspath(path)), {})
    figures = [
        page.figure(
            study,
            os.path.join(side.folder, "figures", "arms.svg"),
            "plot_arms",
            f"Study {side.name}: every seed, the mean and its interval.",
            f"Test accuracy of every seed of study {side.name} by arm; the tables hold the values.",
            title=side.name,
        )
        for side in sides
        if side.folder and os.path.exists(os.path.join(side.folder, "figures", "arms.svg"))
    ]
    sections = [
        section(
            "conclusions",
            "What holds in both",
            notice(f"Synthetic data: {', '.join(synthetic)}.") if synthetic else None,
            pairs_table(sides, pairs) if pairs else None,
            lead=lead,
        ),
        section("reports", "The reports' conclusions", conclusions_table(sides)),
        section("arms", "Arms side by side", arms_table(sides), page.figures(*figures) if figures else None),
    ]
    if found := settings_table(sides):
        sections.append(section("settings", "Settings", found))
    write_text(path, page.render(TEMPLATE, study=" against ".join(names), synthetic=bool(synthetic), sections=sections))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except (TypeError, StudyError) as error:
        sys.exit(
            f"compare_studies: {error if isinstance(error, StudyError) else 'name two studies and the page to write'}"
        )
