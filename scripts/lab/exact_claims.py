"""Claims about figures themselves: what is printed or counted, which no test is needed for.

A check answers (verdict, what the data say).
"""

import numpy as np

from analysis.inference import sampling_margin
from analysis.parameter_counts import CONVENTIONS, count_by
from common.arms import summarise
from common.errors import StudyError
from lab.claim_tables import (
    FAILS,
    HOLDS,
    TRANSCRIBED,
    UNDECIDED,
    column_of,
    print_factor,
    printed_as,
    select,
)
from study.rule_parameters import PUBLISHED_HEADS, PUBLISHED_SIZE, terms


def check_mean_sd(claim, tables):
    """`mean` ± `sd` of a column over the selected runs; `ddof` 0 or 1, or left out when the text does not say."""
    values = column_of(select(tables, claim), claim.get("column", "test_accuracy"))
    if values is None or len(values) < 2:
        return UNDECIDED, "the figures of the single runs are not published"
    values = [100 * value for value in values]
    facts = summarise(values)
    mean, spread = facts["mean"], {ddof: facts[f"sd_ddof{ddof}"] for ddof in (0, 1)}
    says = f"{mean:.2f} ± {spread[0]:.2f} (ddof 0) or ± {spread[1]:.2f} (ddof 1), n = {len(values)}"
    wanted = (0, 1) if claim.get("ddof") is None else (claim["ddof"],)
    matching = [ddof for ddof in wanted if printed_as(spread[ddof], claim["sd"])]
    if not printed_as(mean, claim["mean"]):
        return FAILS, f"{says}: the mean is not {claim['mean']}"
    if not matching:
        return FAILS, f"{says}: no standard deviation of {claim['sd']}"
    return HOLDS, f"{says}: printed with ddof {matching[0]}"


def check_parameter_count(claim, tables):
    """`count` under `convention`, or under any right one; of a model of `size` (default: the lab's)."""
    size, value = claim.get("size", PUBLISHED_SIZE), int(claim["count"])
    counts = {name: count_by(size, name) for name in CONVENTIONS}
    if claim.get("convention"):
        right = count_by(size, claim["convention"])
        words = CONVENTIONS[claim["convention"]][1]
        return (HOLDS if right == value else FAILS), f"{right} ({words})"
    for name, right in counts.items():
        if right == value and name != "four_matrices":
            return HOLDS, f"exact under the convention: {CONVENTIONS[name][1]}"
    if value == counts["four_matrices"]:
        return FAILS, f"{CONVENTIONS['four_matrices'][1]}; with all 6 matrices {counts['matrices']}"
    return FAILS, f"no convention yields it; {', '.join(f'{right} ({name})' for name, right in counts.items())}"


def check_parameter_subtotal(claim, tables):
    """`count` is what `terms` count together, of one layer with `per: layer`."""
    parts, value = terms(**PUBLISHED_SIZE), int(claim["count"])
    right = sum(parts[term][1] for term in claim["terms"])
    layers = PUBLISHED_SIZE["layers"] if claim.get("per") == "layer" else 1
    suffix = " of one layer" if layers > 1 else ""
    return (HOLDS if right == value * layers else FAILS), f"{' and '.join(claim['terms'])}{suffix}: {right // layers}"


def check_parameter_difference(claim, tables):
    """The difference between the counts of two conventions, `first` and `second`, is what `terms` count.

    All of it, or with `mostly` more than half of it: what else there is, is named.
    """
    size = claim.get("size", PUBLISHED_SIZE)
    difference = count_by(size, claim["second"]) - count_by(size, claim["first"])
    parts = terms(**size)
    explained = sum(parts[term][1] for term in claim["terms"])
    says = f"the difference is {difference}; {' and '.join(claim['terms'])} are {explained}"
    if explained == difference:
        return HOLDS, says
    others = [n for n in CONVENTIONS[claim["second"]][0] if n not in (*CONVENTIONS[claim["first"]][0], *claim["terms"])]
    says += "".join(f", {name} {parts[name][1]}" for name in others)
    return (HOLDS if claim.get("mostly") and 2 * explained > difference > explained else FAILS), says


def check_headline(claim, tables):
    """The `value` of an arm is its mean on test; `split` is the source's statement about it, if any."""
    rows = select(tables, claim)
    test, valid = (column_of(rows, column) for column in ("test_accuracy", "valid_accuracy"))
    if test is None:
        return UNDECIDED, "the test figures of the single runs are not published"
    mean = 100 * float(np.mean(test))
    says = f"test {mean:.2f}, n = {len(test)}"
    chosen = 100 * float(np.mean(valid)) if valid else None
    says += "; no validation figure of these runs is held" if chosen is None else f"; validation {chosen:.2f}"
    if printed_as(mean, claim["value"]):
        return HOLDS, says
    said = f", which its source calls the {claim['split']} figure" if claim.get("split", "test") != "test" else ""
    if chosen is not None and printed_as(chosen, claim["value"]):
        return FAILS, f"{says}: {claim['value']} is the validation figure, which chose the epoch, so it is too high"
    return FAILS, f"{says}: not {claim['value']}{said}"


def check_cell(claim, tables):
    """One cell of a table is printed as `value`."""
    rows = select(tables, claim)
    if len(rows) != 1 or rows[0].get(claim["column"], "") == "":
        return UNDECIDED, f"{claim['table']} has {len(rows)} such rows, or an empty cell"
    value = print_factor(claim["column"]) * float(rows[0][claim["column"]])
    return (HOLDS if printed_as(value, claim["value"]) else FAILS), f"{claim['column']} is {value:.10g}"


def check_every(claim, tables):
    """The `column` of every selected row is `cell`."""
    cells = [row[claim["column"]] for row in select(tables, claim)]
    if not cells:
        return UNDECIDED, "there are no such runs"
    same = cells.count(claim["cell"])
    says = f"{claim['column']} is {claim['cell']} in {same} of {len(cells)} runs"
    return (HOLDS if same == len(cells) else FAILS), says


def check_below(claim, tables):
    """In every selected row the column `lower` is below the column `higher`."""
    rows = select(tables, claim, claim.get("where", {}))
    low, high = (column_of(rows, claim[side]) for side in ("lower", "higher"))
    if not low or not high:
        return UNDECIDED, "the figures of the single runs are not given"
    pairs = [f"{a:.4g} against {b:.4g}" for a, b in zip(low, high, strict=True)]
    held = all(a < b for a, b in zip(low, high, strict=True))
    return (HOLDS if held else FAILS), f"{claim['lower']} against {claim['higher']}: {'; '.join(pairs)}"


def check_not_published(claim, tables):
    """A claim that rests on what its source does not give: `needs` says what."""
    return UNDECIDED, f"it would take {claim['needs']}"


def check_read(claim, tables):
    """A statement of meaning, which no table can answer: judged by reading, `verdict` and `because`."""
    return claim["verdict"], f"judged by reading: {claim['because']}"


def check_heads(claim, tables):
    """The model has `count` attention heads."""
    parts, value = terms(**PUBLISHED_SIZE), int(claim["count"])
    says = f"the model has {PUBLISHED_HEADS}; they share the width, so Q, K and V are {parts['query_key_value'][1]}"
    says += f" whatever their number; a formula of 3·D² a head would count {PUBLISHED_HEADS} times as many"
    return (HOLDS if value == PUBLISHED_HEADS else FAILS), says


def check_two_counts(claim, tables):
    """Two sources print the `counts` of one thing, each exact under its convention: no side is preferred."""
    size, (first, second) = PUBLISHED_SIZE, (int(count) for count in claim["counts"])
    names = [next((name for name in CONVENTIONS if count_by(size, name) == value), "none") for value in (first, second)]
    if first == second:
        return HOLDS, f"both are {first}"
    between = [name for name, (_, value) in terms(**size).items() if value == abs(first - second)]
    says = f"{first} (convention {names[0]}) against {second} ({names[1]}): {abs(first - second)} apart"
    says += f", which is {' or '.join(between)} to the unit" if between else ""
    return UNDECIDED, f"{says}; both cannot be the sum of one piece of code, and that code is not available"


def at(row):
    """Return what a printed figure is a figure of: (study, framework, init, seed, split)."""
    return tuple(row[name] for name in ("study", "framework", "init", "seed", "split"))


def check_printed(claim, tables):
    """Each of `figures` (split, value, and update where the source gives one) of one run also occurs in another source.

    Args:
        claim: its `source` names the rows of published_points.tsv that were copied from this very sentence.
        tables: published_points.tsv among them.

    Raises:
        StudyError: a figure is not in the rows of its own source, so the table was copied wrongly.
    """
    rows, alone, says = select(tables, claim), [], []
    for figure in claim["figures"]:
        same = [row for row in rows if row["split"] == figure["split"]]
        found = [row for row in same if row["update"] in ("", str(figure.get("update", row["update"])))]
        printed = [row for row in found if row["source"] == claim["source"]]
        if not any(printed_as(100 * float(row["accuracy"]), figure["value"]) for row in printed):
            raise StudyError(f"claim {claim['id']}: {claim['table']} has no {figure['value']} from {claim['source']}")
        others = [row for row in found if row["source"] != claim["source"]]
        name = f"{figure['split']} {figure['value']}"
        wrong = [row for row in others if not printed_as(100 * float(row["accuracy"]), figure["value"])]
        if wrong:
            return FAILS, f"{name}: {wrong[0]['source']} prints {100 * float(wrong[0]['accuracy']):.10g}"
        if others:
            says.append(f"{name} is in {others[0]['source']}, too")
        if not others or "update" in figure:
            alone.append(f"update {figure['update']}" if others else name)
    if alone:
        says.append(f"of {', '.join(alone)} the data have this sentence alone")
    return (TRANSCRIBED if alone else HOLDS), "; ".join(says)


def check_same_figures(claim, tables):
    """The sources `first` and `second` print the same figures of the same runs, `where` both do."""
    sides = [
        {at(row): row["accuracy"] for row in select(tables, claim, claim["where"] | {"source": claim[side]})}
        for side in ("first", "second")
    ]
    shared = [place for place in sides[0] if place in sides[1]]
    if not shared:
        return UNDECIDED, "they print no figure of one and the same run"
    same = sum(float(sides[0][place]) == float(sides[1][place]) for place in shared)
    says = f"{same} of {len(shared)} figures are equal"
    if same < len(shared):
        return FAILS, says
    return HOLDS, f"{says}: one set of runs printed twice, and no second piece of evidence"


def check_ahead_at_printed(claim, tables):
    """Among the printed figures, `better` leads `worse` by `value` ± `within` points at every update that both have."""
    sides = [
        [(row["update"], row["seed"], 100 * float(row["accuracy"])) for row in rows if row["update"]]
        for rows in (select(tables, claim, claim["where"] | claim[side]) for side in ("better", "worse"))
    ]
    pairs = [(high, low) for high in sides[0] for low in sides[1] if high[0] == low[0]]
    if not pairs:
        return UNDECIDED, "no update has a printed figure of both arms"
    pairs.sort(key=lambda pair: int(pair[0][0]))
    words = [f"{a - b:+.1f} at update {update} (seed {i} against {j})" for (update, i, a), (_, j, b) in pairs]
    chosen = [f"{a - b:+.1f}" for _, i, a in sorted(sides[0], key=lambda run: run[1]) for _, j, b in sides[1] if i == j]
    n = int(select(tables, claim)[0]["n_reviews"])
    margins = [sampling_margin(float(np.mean([accuracy for *_, accuracy in side])) / 100, n) for side in sides]
    says = f"{claim['where']['split']}: {', '.join(words)}; seed by seed at the chosen checkpoints {', '.join(chosen)}"
    says += f"; {n} reviews alone give a lead ± {100 * np.hypot(*margins):.1f} points (95 %)"
    if any(abs(high[2] - low[2] - float(claim["value"])) > float(claim["within"]) for high, low in pairs):
        return FAILS, f"{says}: not {claim['value']} ± {claim['within']}"
    return UNDECIDED, f"{says}: within {claim['value']} ± {claim['within']} there; every other update is only drawn"


def check_highest(claim, tables):
    """The run of `seed` has the highest `test_accuracy` of the selected runs (those of `among`, if given)."""
    rows = [row for row in select(tables, claim) if row["seed"] in claim.get("among", [row["seed"]])]
    if len({row.get("arm") for row in rows}) > 1:
        return UNDECIDED, "several arms are meant"
    values = {row["seed"]: 100 * float(row["test_accuracy"]) for row in rows if row["test_accuracy"]}
    if len(values) < 2 or claim["seed"] not in values:
        return UNDECIDED, "the figures of the single runs are not published"
    best, n = values.pop(claim["seed"]), int(rows[0]["n_test"])
    lead, margin = best - max(values.values()), 100 * sampling_margin(best / 100, n)
    says = (
        f"seed {claim['seed']} {best:.1f}, ahead by {lead:.1f} points; {n} texts alone give each ± {margin:.1f} (95 %)"
    )
    if lead <= 0:
        return FAILS, says
    return HOLDS, f"{says}: true of these runs" + (", and within that" if lead < margin else "")


def check_mean_of_sds(claim, tables):
    """The mean over `updates` measurements of the standard deviation over seeds is `sd`, so far as they are printed."""
    rows = select(tables, claim)
    held = {}
    for row in rows:
        held.setdefault(row["update"], []).append(100 * float(row["accuracy"]))
    facts = [summarise(values) for values in held.values() if len(values) > 1]
    n, possible, says = int(claim["updates"]), [], []
    for ddof in (0, 1):
        sds = [fact[f"sd_ddof{ddof}"] for fact in facts]
        if len(sds) == n and printed_as(float(np.mean(sds)), claim["sd"]):
            return HOLDS, f"the mean of {n} standard deviations (ddof {ddof}) is {np.mean(sds):.2f}"
        says.append(f"{', '.join(f'{sd:.2f}' for sd in sds)} (ddof {ddof})")
        possible.append(n * float(claim["sd"]) - sum(sds))
    words = f"the standard deviation over seeds at update {' and '.join(held)}: {' or '.join(says)}"
    if len(facts) == n or max(possible) < 0:
        return FAILS, f"{words}: no mean of {n} can be {claim['sd']}"
    left = n - len(facts)
    return UNDECIDED, (
        f"{words}; {claim['sd']} as the mean of {n} needs {' or '.join(f'{rest / left:.2f}' for rest in possible)} on "
        f"average at the {left} others, which are only drawn"
    )


# assertion: (check, keys that it needs)
EXACT = {
    "mean_sd": (check_mean_sd, ("table", "where", "mean", "sd")),
    "parameter_count": (check_parameter_count, ("count",)),
    "parameter_subtotal": (check_parameter_subtotal, ("count", "terms")),
    "parameter_difference": (check_parameter_difference, ("first", "second", "terms")),
    "headline": (check_headline, ("table", "where", "value")),
    "cell": (check_cell, ("table", "where", "column", "value")),
    "every": (check_every, ("table", "where", "column", "cell")),
    "below": (check_below, ("table", "lower", "higher")),
    "not_published": (check_not_published, ("needs",)),
    "read": (check_read, ("verdict", "because")),
    "heads": (check_heads, ("count",)),
    "two_counts": (check_two_counts, ("counts",)),
    "printed": (check_printed, ("table", "where", "figures")),
    "same_figures": (check_same_figures, ("table", "where", "first", "second")),
    "ahead_at_printed": (check_ahead_at_printed, ("table", "where", "better", "worse", "value", "within")),
    "highest": (check_highest, ("table", "where", "seed")),
    "mean_of_sds": (check_mean_of_sds, ("table", "where", "sd", "updates")),
}
