"""Claims about the use of the frameworks: counts of commands and arguments, which no test is needed for.

A check answers (verdict, what the data say).
"""

from lab.claim_tables import FAILS, HOLDS, UNDECIDED, select


def first_there(claim, tables, side):
    """Return the only row of the first selection of `side` that the table has, and what is lacking otherwise."""
    for where in claim[side]:
        if rows := select(tables, claim, where):
            return rows[0], None
    wanted = " or ".join(str(value) for where in claim[side] for value in where.values())
    return None, f"{claim['table']} has no {wanted}"


def counts(claim, tables, first, second):
    """Return {column: both sides' counts}, what they say, and why there are none."""
    sides = [first_there(claim, tables, side) for side in (first, second)]
    if why := next((why for _, why in sides if why), None):
        return None, None, why
    (a, _), (b, _) = sides
    found = {column: (int(a[column]), int(b[column])) for column in claim["columns"]}
    names = [row.get("framework") for row in (a, b)]
    words = ", ".join(f"{column.removeprefix('n_')} {one} against {other}" for column, (one, other) in found.items())
    return found, f"{names[0]} against {names[1]}: {words}", None


def check_alike(claim, tables):
    """No count of `columns` is more than `factor` times that of the other side."""
    found, says, why = counts(claim, tables, "first", "second")
    if why:
        return UNDECIDED, why
    held = all(max(pair) <= float(claim["factor"]) * min(pair) for pair in found.values())
    return (HOLDS if held else FAILS), f"{says}; at most {claim['factor']} times as many counts as alike"


def check_fewer(claim, tables):
    """No count of `columns` is higher for `less` than for `more`, and one is lower."""
    found, says, why = counts(claim, tables, "less", "more")
    if why:
        return UNDECIDED, why
    held = all(a <= b for a, b in found.values()) and any(a < b for a, b in found.values())
    return (HOLDS if held else FAILS), says


def check_commands(claim, tables):
    """The steps of `rules` that the study has took `count` commands each; those of `beside` are named."""
    rows = {rule: select(tables, claim, {"rule": rule}) for rule in (*claim["rules"], *claim.get("beside", []))}
    counted = {rule: int(found[0]["n_commands"]) for rule, found in rows.items() if found}
    asked = [n for rule, n in counted.items() if rule in claim["rules"]]
    if not asked:
        return UNDECIDED, f"{claim['table']} has no step {' or '.join(claim['rules'])}"
    says = ", ".join(f"{rule} {n}" for rule, n in counted.items())
    return (HOLDS if all(n == int(claim["count"]) for n in asked) else FAILS), f"commands: {says}"


# assertion: (check, keys that it needs)
USE = {
    "alike": (check_alike, ("table", "first", "second", "columns", "factor")),
    "fewer": (check_fewer, ("table", "less", "more", "columns")),
    "commands": (check_commands, ("table", "rules", "count")),
}
