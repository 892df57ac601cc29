"""Check what a text asserts against the data that it rests on.

A claim is a dictionary: `id`, `sentence`, `source`, `assertion` (one of `ASSERTIONS`) and what that assertion needs.
Numbers are quoted strings, as printed, since "0.80" promises two decimals; accuracies are in per cent, as in the text,
and compared with fractions in the tables. A check answers (verdict, what the data say).
"""

import re

import numpy as np

from common import statistics
from common.errors import StudyError
from common.parameters import CONVENTIONS, PUBLISHED_SIZE, count, terms

HOLDS, FAILS, UNDECIDED = "holds", "fails", "cannot be decided"
ALPHA = 0.05
# A number as printed: sign, digits, decimals, exponent; not part of a word such as mC4 or a date.
NUMBER = re.compile(r"(?<![\w.])[+\-\u2212]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w]|\.\d)")


def printed_as(value, text):
    """Tell whether `value` is printed as `text`: equal when rounded to the text's decimals (half either way)."""
    text = text.replace("\N{MINUS SIGN}", "-")
    if "e" in text:
        digits = len(text.split("e")[0].replace(".", "").lstrip("+-"))
        return float(f"{value:.{digits - 1}e}") == float(text)
    decimals = len(text.split(".")[1]) if "." in text else 0
    return abs(value - float(text)) <= 0.5 * 10**-decimals + 1e-9


def select(tables, claim, where=None):
    """Return the rows of the claim's table that equal its `where`, key by key (as strings).

    Raises:
        StudyError: the table or one of its columns does not exist.
    """
    name, where = claim["table"], claim["where"] if where is None else where
    if name not in tables:
        raise StudyError(f"claim {claim['id']}: table {name!r} is not at hand (there are {', '.join(sorted(tables))})")
    rows = tables[name]
    for column in where:
        if rows and column not in rows[0]:
            raise StudyError(f"claim {claim['id']}: {name} has no column {column!r}")
    return [row for row in rows if all(row[column] == str(value) for column, value in where.items())]


def column_of(rows, column):
    """Return a column as floats, or None when a value is missing or there is no row."""
    values = [row.get(column, "") for row in rows]
    return [float(value) for value in values] if values and all(value != "" for value in values) else None


def percent(column):
    """Return the factor from a table's value to the printed one: accuracies are printed in per cent."""
    return 100 if column.endswith("accuracy") or column in ("mean", "low", "high", "min", "max", "difference") else 1


def check_mean_sd(claim, tables):
    """`mean` ± `sd` of a column over the selected runs; `ddof` 0 or 1, or left out when the text does not say."""
    values = column_of(select(tables, claim), claim.get("column", "test_accuracy"))
    if values is None or len(values) < 2:
        return UNDECIDED, "the figures of the single runs are not published"
    values = [100 * value for value in values]
    mean = float(np.mean(values))
    spread = {ddof: statistics.standard_deviation(values, ddof) for ddof in (0, 1)}
    says = f"{mean:.2f} ± {spread[0]:.2f} (ddof 0) or ± {spread[1]:.2f} (ddof 1), n = {len(values)}"
    wanted = (0, 1) if claim.get("ddof") is None else (claim["ddof"],)
    matching = [ddof for ddof in wanted if printed_as(spread[ddof], claim["sd"])]
    if not printed_as(mean, claim["mean"]):
        return FAILS, f"{says}: the mean is not {claim['mean']}"
    if not matching:
        return FAILS, f"{says}: no standard deviation of {claim['sd']}"
    return HOLDS, f"{says}: printed with ddof {matching[0]}"


def check_run(claim, tables):
    """One run's `values`: {column: as printed}."""
    rows = select(tables, claim)
    if len(rows) != 1 or any(rows[0].get(column, "") == "" for column in claim["values"]):
        return UNDECIDED, "this run's figures are not published"
    found = {column: percent(column) * float(rows[0][column]) for column in claim["values"]}
    wrong = [column for column, printed in claim["values"].items() if not printed_as(found[column], str(printed))]
    says = ", ".join(f"{column} {value:.10g}" for column, value in found.items())
    return (FAILS, f"{says}: differs in {', '.join(wrong)}") if wrong else (HOLDS, says)


def check_parameter_count(claim, tables):
    """`count` under `convention`, or under any right one; of a model of `size` (default: the lab's)."""
    size, value = claim.get("size", PUBLISHED_SIZE), int(claim["count"])
    of = {name: count(size, name) for name in CONVENTIONS}
    if claim.get("convention"):
        right = count(size, claim["convention"])
        words = CONVENTIONS[claim["convention"]][1]
        return (HOLDS if right == value else FAILS), f"{right} ({words})"
    for name, right in of.items():
        if right == value and name != "four_matrices":
            return HOLDS, f"exact under the convention: {CONVENTIONS[name][1]}"
    if value == of["four_matrices"]:
        return FAILS, f"{CONVENTIONS['four_matrices'][1]}; with all 6 matrices {of['matrices']}"
    return FAILS, f"no convention yields it; {', '.join(f'{right} ({name})' for name, right in of.items())}"


def check_parameter_difference(claim, tables):
    """The difference between the counts of two conventions, `first` and `second`, is just what `terms` count."""
    size = claim.get("size", PUBLISHED_SIZE)
    difference = count(size, claim["second"]) - count(size, claim["first"])
    parts = terms(**size)
    explained = sum(parts[term][1] for term in claim["terms"])
    says = f"the difference is {difference}; {' and '.join(claim['terms'])} are {explained}"
    if explained == difference:
        return HOLDS, says
    others = [n for n in CONVENTIONS[claim["second"]][0] if n not in (*CONVENTIONS[claim["first"]][0], *claim["terms"])]
    return FAILS, says + "".join(f", {name} {parts[name][1]}" for name in others)


def check_better(claim, tables):
    """The runs `better` have a higher mean than the runs `worse`, significantly (Welch's t-test, two-sided, 5 %)."""
    column = claim.get("column", "test_accuracy")
    sides = [select(tables, claim, claim[side]) for side in ("better", "worse")]
    if not all(sides):
        return UNDECIDED, "there are no such runs"
    first, second = (column_of(rows, column) for rows in sides)
    if not first or not second:
        return UNDECIDED, "the figures of the single runs are not published"
    difference = float(np.mean(first) - np.mean(second))
    p = statistics.welch_p(first, second)
    says = f"{statistics.points(difference)} points, {len(first)} against {len(second)} seeds"
    if p is None:
        return UNDECIDED, f"{says}: no t-test without several seeds that vary"
    floor = statistics.seed_floor(len(first), len(second))
    exact = statistics.p_text(statistics.permute_seeds(first, second))
    says += f"; Welch {statistics.p_text(p)}; permutation over seeds {exact}"
    says += f", which so few seeds keep at {floor:.2g} or above" if floor > ALPHA else ""
    if difference <= 0:
        return FAILS, f"{says}: it is not ahead"
    return (HOLDS, says) if p <= ALPHA else (FAILS, f"{says}: not a finding")


def check_headline(claim, tables):
    """The `value` that stands for an arm is its mean on test; `split` is what the source says it is, if it does."""
    rows = select(tables, claim)
    test, valid = (column_of(rows, column) for column in ("test_accuracy", "valid_accuracy"))
    if test is None:
        return UNDECIDED, "the test figures of the single runs are not published"
    mean = 100 * float(np.mean(test))
    says = f"test {mean:.2f}, n = {len(test)}"
    chosen = "validation figures chose the epoch, so they are too high to stand for the arm"
    if claim.get("split", "test") != "test":
        return FAILS, f"{says}; {claim['value']} is the {claim['split']} figure: {chosen}"
    if printed_as(mean, claim["value"]):
        return HOLDS, says
    if valid is not None and printed_as(100 * float(np.mean(valid)), claim["value"]):
        return FAILS, f"{says}; {claim['value']} is the validation figure: {chosen}"
    return FAILS, f"{says}: not {claim['value']}"


def check_cell(claim, tables):
    """One cell of a table is printed as `value`."""
    rows = select(tables, claim)
    if len(rows) != 1 or rows[0].get(claim["column"], "") == "":
        return UNDECIDED, f"{claim['table']} has {len(rows)} such rows, or an empty cell"
    value = percent(claim["column"]) * float(rows[0][claim["column"]])
    return (HOLDS if printed_as(value, claim["value"]) else FAILS), f"{claim['column']} is {value:.10g}"


def check_produced(claim, tables):
    """Every number of the sentence stands in the selected rows (`table`, `where`) or in `numbers`."""
    values = [*claim.get("numbers", [])]
    for row in select(tables, claim):
        values += [number for cell in row.values() for number in cell_numbers(cell)]
    missing = unproduced_numbers(claim["sentence"], values)
    if missing:
        return FAILS, f"not in {claim['table']}: {', '.join(missing)}"
    return HOLDS, f"each of its {len(NUMBER.findall(claim['sentence']))} numbers stands in {claim['table']}"


def curves(rows):
    """Return {(framework, init, seed): {update: validation accuracy (fraction)}} from rows of history.tsv."""
    found = {}
    for row in rows:
        if (row["split"], row["metric"]) == ("valid", "accuracy"):
            run = row["framework"], row["init"], row["seed"]
            found.setdefault(run, {})[int(row["update"])] = float(row["value"])
    return found


def check_ahead_throughout(claim, tables):
    """At every update the mean validation accuracy of `better` leads that of `worse` by `value` ± `within` points."""
    means = []
    for side in ("better", "worse"):
        runs = list(curves(select(tables, claim, claim[side])).values())
        if not runs:
            return UNDECIDED, "there are no such runs"
        shared = set.intersection(*map(set, runs))
        means.append({update: 100 * float(np.mean([run[update] for run in runs])) for update in shared})
    leads = [means[0][update] - means[1][update] for update in sorted(set(means[0]) & set(means[1]))]
    if not leads:
        return UNDECIDED, "the two arms were never measured at the same update"
    says = f"validation, ahead by {min(leads):.1f} to {max(leads):.1f} points at {len(leads)} updates"
    value, within = float(claim["value"]), float(claim["within"])
    return (HOLDS if all(abs(lead - value) <= within for lead in leads) else FAILS), says


def check_rises(claim, tables):
    """The validation accuracy of every selected run is higher at each measurement than at the one before."""
    runs = [[run[update] for update in sorted(run)] for run in curves(select(tables, claim)).values()]
    if not any(len(run) > 1 for run in runs):
        return UNDECIDED, "there is no curve of such a run"
    steps = [after > before for run in runs for before, after in zip(run, run[1:], strict=False)]
    says = f"validation rises in {sum(steps)} of {len(steps)} steps from epoch to epoch, n = {len(runs)}"
    return (HOLDS if all(steps) else FAILS), says


def check_varies_more(claim, tables):
    """The runs `more` vary more than the runs `less`, significantly (Brown and Forsythe 1974, 5 %)."""
    from scipy import stats

    column = claim.get("column", "test_accuracy")
    first, second = (column_of(select(tables, claim, claim[side]), column) for side in ("more", "less"))
    if not first or not second or min(len(first), len(second)) < 2:
        return UNDECIDED, "it takes several runs a side"
    sd = [percent(column) * float(np.std(values, ddof=1)) for values in (first, second)]
    says = f"SD {sd[0]:.2f} against {sd[1]:.2f} (ddof 1), {len(first)} against {len(second)} seeds"
    with np.errstate(divide="ignore", invalid="ignore"):
        p = float(stats.levene(first, second, center="median").pvalue)
    if not np.isfinite(p):
        return UNDECIDED, f"{says}: no test of values that do not vary"
    says += f"; Brown-Forsythe {statistics.p_text(p)}"
    if sd[0] <= sd[1]:
        return FAILS, f"{says}: it does not vary more"
    return (HOLDS, says) if p <= ALPHA else (FAILS, f"{says}: not a finding")


def check_every(claim, tables):
    """The `column` of every selected row is `cell`."""
    cells = [row[claim["column"]] for row in select(tables, claim)]
    if not cells:
        return UNDECIDED, "there are no such runs"
    same = cells.count(claim["cell"])
    says = f"{claim['column']} is {claim['cell']} in {same} of {len(cells)} runs"
    return (HOLDS if same == len(cells) else FAILS), says


def check_near(claim, tables):
    """The `column` of every selected row is `value`, give or take `within`."""
    values = column_of(select(tables, claim), claim["column"])
    if not values:
        return UNDECIDED, "the figures of the single runs are not given"
    values = [percent(claim["column"]) * value for value in values]
    says = f"{claim['column']} {min(values):.2f} to {max(values):.2f}, n = {len(values)}"
    far = [value for value in values if abs(value - float(claim["value"])) > float(claim["within"])]
    return (FAILS if far else HOLDS), says


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


# assertion: (check, keys that it needs)
ASSERTIONS = {
    "mean_sd": (check_mean_sd, ("table", "where", "mean", "sd")),
    "run": (check_run, ("table", "where", "values")),
    "parameter_count": (check_parameter_count, ("count",)),
    "parameter_difference": (check_parameter_difference, ("first", "second", "terms")),
    "better": (check_better, ("table", "better", "worse")),
    "headline": (check_headline, ("table", "where", "value")),
    "cell": (check_cell, ("table", "where", "column", "value")),
    "ahead_throughout": (check_ahead_throughout, ("table", "better", "worse", "value", "within")),
    "rises": (check_rises, ("table", "where")),
    "varies_more": (check_varies_more, ("table", "more", "less")),
    "every": (check_every, ("table", "where", "column", "cell")),
    "near": (check_near, ("table", "where", "column", "value", "within")),
    "below": (check_below, ("table", "lower", "higher")),
    "produced": (check_produced, ("table", "where")),
    "not_published": (check_not_published, ("needs",)),
}


def cell_numbers(cell):
    """Return the number of a table's cell as a list: empty for words."""
    try:
        value = float(cell)
    except ValueError:
        return []
    return [value] if np.isfinite(value) else []


def unproduced_numbers(text, values):
    """Return the numbers of a text that no produced value is printed as, in order.

    A value counts as printed in full, in per cent, without its sign, or with two significant digits.

    Args:
        text: what the reader sees, without markup.
        values: the numbers that the study's files hold.
    """
    values = [abs(value) for value in values]
    short = {f"{value:.2g}" for value in values}
    missing = []
    for printed in NUMBER.findall(text):
        bare = printed.lstrip("+-\N{MINUS SIGN}")
        if bare not in short and not any(printed_as(value, bare) or printed_as(100 * value, bare) for value in values):
            missing.append(printed)
    return missing


def validate(claim, where):
    """Raise unless a claim has all that its assertion needs.

    Raises:
        StudyError: naming the claim and the key.
    """
    if not isinstance(claim, dict) or not claim.get("id") or not isinstance(claim["id"], str):
        raise StudyError(f"{where}: every claim is a mapping with an id, which is text")
    for key in ("sentence", "source", "assertion"):
        if not claim.get(key) or not isinstance(claim[key], str):
            raise StudyError(f"{where}: claim {claim['id']} lacks {key!r}, which must be text")
    if claim["assertion"] not in ASSERTIONS:
        raise StudyError(
            f"{where}: claim {claim['id']}: unknown assertion {claim['assertion']!r} "
            f"(use one of {', '.join(ASSERTIONS)})"
        )
    for key in ASSERTIONS[claim["assertion"]][1]:
        if key not in claim:
            raise StudyError(f"{where}: claim {claim['id']} ({claim['assertion']}) lacks {key!r}")
    for key in ("mean", "sd", "value", "within", "count"):
        if key in claim and not (isinstance(claim[key], str) and NUMBER.fullmatch(claim[key])):
            raise StudyError(f'{where}: claim {claim["id"]}: quote {key} as printed, such as "0.80"')


def check(claim, tables):
    """Return a row of claims.tsv: id, sentence, source, verdict, data.

    Args:
        claim: a validated claim.
        tables: {name: rows}.

    Raises:
        StudyError: a value of the claim is of a kind that its assertion cannot use.
    """
    try:
        verdict, says = ASSERTIONS[claim["assertion"]][0](claim, tables)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StudyError(
            f"claim {claim['id']} ({claim['assertion']}): one of its values cannot be used ({error!r:.120}); "
            "compare it with the claims in claims/published.yaml"
        ) from error
    row = {key: " ".join(str(claim[key]).split()) for key in ("id", "sentence", "source")}
    return row | {"verdict": verdict, "data": says}
