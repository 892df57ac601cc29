"""Claims that go beyond the figures at hand: seeds vary, and so does what a text happens to ask.

A check answers (`Tested`, what the data say): p of the sentence or of its contrary, whichever is nearer to the data.
`lab.claims` corrects these p and gives the verdict. A check that finds no data answers (verdict, why).

Several tests of one claim are one: that all of them hold has the largest p; that one of them fails, the smallest times
their number (Berger's intersection-union test, Bonferroni).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.inference import welch_p
from analysis.permutations import permute_seeds, seed_floor
from analysis.verdicts import p_text, points
from common.arms import summarise
from lab.claim_tables import FAILS, HOLDS, NOT_SETTLED, UNDECIDED, column_of, curves, print_factor, select

ALPHA = 0.05


@dataclass
class Tested:
    """p of the sentence (`right`) or of its contrary."""

    p: float
    right: bool


def margin_test(off, se, df, margin):
    """Return `Tested` for |true value of `off`| < `margin`: two one-sided t-tests, or one of the contrary.

    Args:
        off: estimate of the distance from what the sentence says.
        se: its standard error (> 0).
        df: degrees of freedom; math.inf for the normal distribution.
        margin: in the units of `off`.
    """
    gap = margin - abs(off)
    return Tested(float(stats.t.sf(abs(gap) / se, df)), gap > 0)


def sign_test(value, se, df=math.inf):
    """Return `Tested` for a true value above 0: one-sided t-test, or that of the contrary."""
    return Tested(float(stats.t.sf(abs(value) / se, df)), value > 0)


def all_of(tests):
    """Return one `Tested` of the claim that every one of these is right."""
    wrong = [test.p for test in tests if not test.right]
    if wrong:
        return Tested(min(1.0, len(tests) * min(wrong)), False)
    return Tested(max(test.p for test in tests), True)


def texts_variance(shares, n):
    """Return the variance of a sum or difference of shares of the same n texts, as if each had separate texts.

    What one text does to both makes a difference vary less, so this errs on the careful side.
    """
    # A share of 0 or 1 would have no variance, so one text of either kind is added (Agresti and Coull's idea).
    kept = [(share * n + 1) / (n + 2) for share in shares]
    return sum(share * (1 - share) / n for share in kept)


def welch_error(sides, texts=0.0):
    """Return (standard error, degrees of freedom) of a difference of means over seeds; None where nothing varies.

    Args:
        sides: two lists of values, two at least in each.
        texts: further variance, known.
    """
    parts = [(np.var(side, ddof=1) / len(side), len(side) - 1) for side in sides]
    variance = sum(value for value, _ in parts) + texts
    spread = sum(value**2 / df for value, df in parts)
    if variance <= 1e-12:
        return None
    return math.sqrt(variance), (variance**2 / spread if spread > 0 else math.inf)


def n_texts(tables, split):
    """Return how many texts of a split the runs were scored on, by runs.tsv; None where it is not at hand."""
    rows = tables.get("runs.tsv") or []
    counts = {row.get(f"n_{split}") for row in rows} - {None, ""}
    return int(counts.pop()) if len(counts) == 1 else None


def two_sides(claim, tables, first, second, column="test_accuracy"):
    """Return both sides' values in points, and why they are no evidence, if they are not."""
    rows = [select(tables, claim, claim[side]) for side in (first, second)]
    if not all(rows):
        return None, "there are no such runs"
    values = [column_of(side, column) for side in rows]
    if not all(values):
        return None, "the figures of the single runs are not published"
    if several := next((side for side in rows if len({row.get("arm") for row in side}) > 1), None):
        return None, f"several arms are meant ({', '.join(dict.fromkeys(row['arm'] for row in several))})"
    if min(map(len, values)) < 2:
        return None, "it takes several runs a side"
    return [[print_factor(column) * value for value in side] for side in values], None


def by_question(claim, tables, first, second):
    """Return the answer of the study's question about the claim's two sides, if it asked one; None: it asked none.

    A page must not answer one question twice. Questions allow for other texts as well, and have a family of their own.
    """
    arms = [{row.get("arm") for row in select(tables, claim, claim[side])} for side in (first, second)]
    names = [next(iter(side)) for side in arms if len(side) == 1 and side != {None}]
    margin = float(claim["within"]) / 100 if "within" in claim else None
    for row in tables.get("questions.tsv") or []:
        asked = float(row["equal_within"]) if row["equal_within"] else None
        same = asked == margin or (asked and margin and math.isclose(asked, margin))
        if len(names) < 2 or row["measure"] != "accuracy" or row["contrast"].split(" - ") not in (names, names[::-1]):
            continue
        if same and claim.get("column", "test_accuracy") == "test_accuracy":
            ahead = (float(row["score_difference"]) > 0) == (row["contrast"].split(" - ") == names)
            shown = {"difference": HOLDS if ahead else FAILS, "equal": HOLDS, "beyond": FAILS, "open": NOT_SETTLED}
            return shown.get(row["answer"], UNDECIDED), f"as the study’s question is answered: {row['ask']}"
    return None


def check_better(claim, tables):
    """The runs `better` have a higher mean than the runs `worse`: Welch's t-test, two-sided."""
    column = claim.get("column", "test_accuracy")
    sides, why = two_sides(claim, tables, "better", "worse", column)
    if why:
        return UNDECIDED, why
    if answered := by_question(claim, tables, "better", "worse"):
        return answered
    difference, p = float(np.mean(sides[0]) - np.mean(sides[1])), welch_p(*sides)
    says = f"{points(difference / 100)} points, {len(sides[0])} against {len(sides[1])} seeds"
    if p is None:
        return UNDECIDED, f"{says}: no t-test of seeds that do not vary"
    floor = seed_floor(*map(len, sides))
    says += f"; Welch {p_text(p)}; permutation over seeds {p_text(permute_seeds(*sides))}"
    says += f", which so few seeds keep at {floor:.2g} or above" if floor > ALPHA else ""
    return Tested(p, difference > 0), says


def check_same(claim, tables):
    """The runs `first` and `second` have the same mean, give or take `within` points: Welch's t-tests."""
    sides, why = two_sides(claim, tables, "first", "second")
    if why:
        return UNDECIDED, why
    if answered := by_question(claim, tables, "first", "second"):
        return answered
    error = welch_error(sides)
    if error is None:
        return UNDECIDED, "it takes several seeds that vary"
    difference = float(np.mean(sides[0]) - np.mean(sides[1]))
    test = margin_test(difference, *error, float(claim["within"]))
    says = f"{points(difference / 100)} points, {len(sides[0])} against {len(sides[1])} seeds"
    return test, f"{says}; margin {claim['within']}, {p_text(test.p)}"


def check_varies_more(claim, tables):
    """The runs `more` vary more than the runs `less`: Brown and Forsythe's test (1974)."""
    sides, why = two_sides(claim, tables, "more", "less", claim.get("column", "test_accuracy"))
    if why:
        return UNDECIDED, why
    sd = [summarise(values)["sd_ddof1"] for values in sides]
    says = f"SD {sd[0]:.2f} against {sd[1]:.2f} (ddof 1), {len(sides[0])} against {len(sides[1])} seeds"
    with np.errstate(divide="ignore", invalid="ignore"):
        p = float(stats.levene(*sides, center="median").pvalue)
    if not np.isfinite(p):
        return UNDECIDED, f"{says}: no test of values that do not vary"
    return Tested(p, sd[0] > sd[1]), f"{says}; Brown-Forsythe {p_text(p)}"


def runs_of(claim, tables, where, split):
    """Return {seed: {update: accuracy in points}} of one arm on a split, and why there is none.

    Of history.tsv, or of a table of printed figures.
    """
    rows = select(tables, claim, where)
    if rows and "metric" in rows[0]:
        found = {(run[0], run[3]): curve for run, curve in curves(rows, split).items()}
    else:
        found = {}
        for row in rows:
            if row.get("update") and row.get("split", split) == split:
                found.setdefault((row.get("arm"), row["seed"]), {})[int(row["update"])] = float(row["accuracy"])
    if not found:
        return None, f"there are no such runs, or no {split} curves of them"
    if len(arms := dict.fromkeys(arm for arm, _ in found)) > 1:
        return None, f"several arms are meant ({', '.join(map(str, arms))})"
    return {seed: {u: 100 * curve[u] for u in sorted(curve)} for (_, seed), curve in found.items()}, None


def check_ahead_throughout(claim, tables):
    """At every update the mean accuracy of `better` on `split` leads that of `worse` by `value` ± `within` points.

    Welch's t-test at each update, with the error of the texts beside that of the seeds where runs.tsv counts them.
    """
    split, sides = claim["split"], []
    for side in ("better", "worse"):
        runs, why = runs_of(claim, tables, claim[side], split)
        if why:
            return UNDECIDED, why
        sides.append(runs)
    shared = set.intersection(*(set(run) for side in sides for run in side.values()))
    if not shared:
        return UNDECIDED, "the two arms were never measured at the same update"
    leads, tests, n = [], [], n_texts(tables, split)
    for update in sorted(shared):
        values = [[run[update] for run in side.values()] for side in sides]
        means = [float(np.mean(side)) for side in values]
        leads.append(means[0] - means[1])
        if min(map(len, values)) > 1:
            texts = 1e4 * texts_variance([mean / 100 for mean in means], n) if n else 0.0
            error = welch_error(values, texts)
            tests += [margin_test(leads[-1] - float(claim["value"]), *error, float(claim["within"]))] if error else []
    says = f"{split}, ahead by {min(leads):.1f} to {max(leads):.1f} points at {len(leads)} updates"
    if len(tests) < len(leads):
        return UNDECIDED, f"{says}: it takes several seeds that vary"
    test = all_of(tests)
    return test, f"{says}; {p_text(test.p)}"


def of_one_arm(claim, tables):
    """Return runs on the claim's split (validation where it names none), number of texts, and why there is no test."""
    split = claim.get("split", "valid")
    runs, why = runs_of(claim, tables, claim["where"], split)
    n = n_texts(tables, split)
    if not why and n is None:
        why = f"no table says how many {split} texts there were"
    return runs, n, why, {"valid": "validation"}.get(split, split)


def check_rises(claim, tables):
    """The accuracy of every selected run is higher at each measurement than at the one before, on `split`."""
    runs, n, why, split = of_one_arm(claim, tables)
    if why:
        return UNDECIDED, why
    steps = [
        pair for run in runs.values() for pair in zip(list(run.values())[:-1], list(run.values())[1:], strict=True)
    ]
    if not steps:
        return UNDECIDED, "there is no curve of such a run"
    tests = [
        sign_test((after - before) / 100, math.sqrt(texts_variance([before / 100, after / 100], n)))
        for before, after in steps
    ]
    rising, test = sum(one.right for one in tests), all_of(tests)
    says = f"{split} rises in {rising} of {len(steps)} steps from epoch to epoch, n = {len(runs)}"
    return test, f"{says}; with {n} texts {p_text(test.p)}"


def check_near(claim, tables):
    """Every selected run is at `value`, give or take `within` points: `column`, or the end of its curve on `split`."""
    if "split" in claim:
        runs, n, why, name = of_one_arm(claim, tables)
        if why:
            return UNDECIDED, why
        values = [list(run.values())[-1] for run in runs.values()]
        name += " after the last epoch"
    else:
        name, rows = claim["column"], select(tables, claim)
        values = column_of(rows, name)
        if not values:
            return UNDECIDED, "the figures of the single runs are not given"
        values, n = [100 * value for value in values], int(rows[0][f"n_{name.split('_')[0]}"])
    within = float(claim["within"])
    tests = [
        margin_test(value - float(claim["value"]), 100 * math.sqrt(texts_variance([value / 100], n)), math.inf, within)
        for value in values
    ]
    test = all_of(tests)
    says = f"{name} {min(values):.2f} to {max(values):.2f}, n = {len(values)}"
    return test, f"{says}; within {claim['within']} of {claim['value']} with {n} texts, {p_text(test.p)}"


def check_leads(claim, tables):
    """The run of `seed` has a higher test accuracy than each other selected run (those of `among`, if given)."""
    rows = [row for row in select(tables, claim) if row["seed"] in claim.get("among", [row["seed"]])]
    if len({row.get("arm") for row in rows}) > 1:
        return UNDECIDED, "several arms are meant"
    values = {row["seed"]: float(row["test_accuracy"]) for row in rows if row["test_accuracy"]}
    if len(values) < 2 or claim["seed"] not in values:
        return UNDECIDED, "there are no such runs"
    leading, n = values.pop(claim["seed"]), int(rows[0]["n_test"])
    test = all_of(
        [sign_test(leading - other, math.sqrt(texts_variance([leading, other], n))) for other in values.values()]
    )
    says = f"seed {claim['seed']} {100 * leading:.2f}, the highest other {100 * max(values.values()):.2f}"
    return test, f"{says}; with {n} texts {p_text(test.p)}"


def check_at_most(claim, tables):
    """No selected run is above `value` on `split`, at any measurement."""
    runs, n, why, split = of_one_arm(claim, tables)
    if why:
        return UNDECIDED, why
    values = [value for run in runs.values() for value in run.values()]
    tests = [
        sign_test(float(claim["value"]) - value, 100 * math.sqrt(texts_variance([value / 100], n))) for value in values
    ]
    test = all_of(tests)
    says = f"{split}: {max(values):.2f} at most, {len(values)} measurements of {len(runs)} seeds"
    return test, f"{says}; with {n} texts {p_text(test.p)}"


def check_converges(claim, tables):
    """At their last measurement the selected runs vary less than at their first: Pitman's and Morgan's test (1939)."""
    split = claim.get("split", claim["where"].get("split", "test"))
    runs, why = runs_of(claim, tables, claim["where"], split)
    if why:
        return UNDECIDED, why
    updates = sorted(set.intersection(*map(set, runs.values())))
    if len(updates) < 2:
        return UNDECIDED, "fewer than two updates are at hand"
    first, last = (np.array([run[update] for run in runs.values()]) for update in (updates[0], updates[-1]))
    says = f"{np.ptp(first):.1f} points apart at update {updates[0]}, {np.ptp(last):.1f} at {updates[-1]}"
    says += f", n = {len(runs)}"
    sums, differences = first + last, first - last
    if len(runs) < 3 or min(np.ptp(sums), np.ptp(differences)) < 1e-9:
        return UNDECIDED, f"{says}: it takes three seeds that vary"
    p = float(stats.pearsonr(sums, differences).pvalue)
    return Tested(p, bool(np.var(last) < np.var(first))), f"{says}; Pitman-Morgan {p_text(p)}"


def check_spread_near(claim, tables):
    """The mean over measurements of the standard deviation over seeds is `value`, give or take `within` points.

    A chi-squared test with the degrees of freedom of one measurement, since those of a run go together.
    """
    runs, why = runs_of(claim, tables, claim["where"], claim["split"])
    if why:
        return UNDECIDED, why
    if len(runs) < 2:
        return UNDECIDED, "it takes several seeds"
    updates = sorted(set.intersection(*map(set, runs.values())))
    sds = [summarise([run[update] for run in runs.values()])["sd_ddof1"] for update in updates]
    mean, df = float(np.mean(sds)), len(runs) - 1
    low, high = (float(claim["value"]) + sign * float(claim["within"]) for sign in (-1, 1))
    # No spread is below 0.
    above = stats.chi2.sf(df * (mean / low) ** 2, df) if low > 0 else 0.0
    below = stats.chi2.cdf(df * (mean / high) ** 2, df)
    if low < mean < high:
        test = Tested(float(max(above, below)), True)
    else:
        test = Tested(float(1 - above if mean <= low else 1 - below), False)
    says = f"mean of {len(sds)} standard deviations over {len(runs)} seeds (ddof 1) {mean:.2f}"
    return test, f"{says}; within {claim['within']} of {claim['value']}, {p_text(test.p)}"


# assertion: (check, keys that it needs)
TESTED = {
    "better": (check_better, ("table", "better", "worse")),
    "same": (check_same, ("table", "first", "second", "within")),
    "ahead_throughout": (check_ahead_throughout, ("table", "split", "better", "worse", "value", "within")),
    "rises": (check_rises, ("table", "where")),
    "varies_more": (check_varies_more, ("table", "more", "less")),
    "near": (check_near, ("table", "where", "value", "within")),
    "leads": (check_leads, ("table", "where", "seed")),
    "at_most": (check_at_most, ("table", "where", "split", "value")),
    "converges": (check_converges, ("table", "where")),
    "spread_near": (check_spread_near, ("table", "where", "split", "value", "within")),
}
