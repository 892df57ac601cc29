"""Simulate studies whose truth is known, judge them as the page does, and tabulate how often its words are wrong.

`make simulate` records the counts in docs/method/simulations.tsv, writes docs/method/simulations.md from the record and
prints it; the same of studies with looks in looks-simulated.tsv and looks-simulated.md. `--only` does one of the two,
`--page` leaves the record as it is. Studies are drawn from a fixed seed, whatever the number of processes.
"""

import argparse
import math
import multiprocessing
import os

from analysis.failures import WARNINGS
from common.files import read_tsv, write_text, write_tsv
from tools import simulated_looks
from tools.simulated import COLUMNS, COUNTED, GAP, N_TEXTS, settings, simulate

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "docs", "method")
STUDIES, HIGHEST_ERROR = 1000, 0.06
# {heading: counted event} of the tables.
WRONG = {
    "difference": "asked_wrong",
    "equal": "equal_wrong",
    "beyond": "beyond_wrong",
}
FOUND = {
    f"difference of {100 * GAP:g} found": "asked_found",
    f"equal within {100 * GAP:g} found": "equal_found",
    "interval of a question": "asked_covered",
    "of an arm": "arm_covered",
    "of an arm, over seeds alone": "arm_t_covered",
}
# These are meant to err, or to fail to cover, in 5 % of studies.
ERRORS = ("asked_wrong", "equal_wrong", "beyond_wrong", "covered", "asked_covered", "arm_covered")


def too_many(errors, studies):
    """Return whether a share of errors is above `HIGHEST_ERROR` by more than two standard errors of the simulation."""
    return errors > HIGHEST_ERROR * studies + 2 * math.sqrt(HIGHEST_ERROR * (1 - HIGHEST_ERROR) * studies)


def errs(row, name):
    """Return whether a row's count of claims or of covering intervals means `too_many` errors.

    Intervals of six questions are not meant to hold together, nor those over seeds alone to hold for other texts.
    """
    if row[name] is None or name not in ERRORS:
        return False
    if not name.endswith("covered"):
        return too_many(row[name], row["studies"])
    return row["kind"] != "family" and too_many(row["studies"] - row[name], row["studies"])


def needed(setting, row):
    """Return the names of `failures.WARNINGS` that a row's errors call for: none where every error is small enough.

    Every arm of few seeds has "unseen failures"; it explains the errors of settings in which runs do collapse.
    """
    if not any(errs(row, name) for name in COUNTED):
        return []
    return [name for name in row["warnings"].split("; ") if name != "unseen failures" or any(setting.collapses)]


def table_of(rows, columns):
    """Return lines of a Markdown table: a setting's counts in per cent of its studies, too large errors in bold.

    Args:
        rows: rows of simulations.tsv, as numbers.
        columns: {heading: name in `COUNTED`}.
    """
    by_name = {setting.name: setting for setting in settings()}
    lines = ["| setting | " + " | ".join(columns) + " | warnings |", "|---|" + "---:|" * len(columns) + "---|"]
    for row in rows:
        cells = []
        for name in columns.values():
            share = "" if row[name] is None else f"{100 * row[name] / row['studies']:.1f}"
            cells.append(f"**{share}**" if errs(row, name) else share)
        names = ", ".join(needed(by_name[row["setting"]], row))
        lines.append(f"| {row['setting']} | " + " | ".join(cells) + f" | {names} |")
    return lines


def page_of(rows):
    """Return docs/method/simulations.md from the rows of simulations.tsv."""
    rows = [row | {name: int(row[name]) if row[name] else None for name in ("studies", *COUNTED)} for row in rows]
    (studies,) = {row["studies"] for row in rows}
    gap = f"{100 * GAP:g}"
    error = 100 * math.sqrt(0.05 * 0.95 / studies)
    pairs, measures = (
        [row for row in rows if (row["kind"] in ("t", "two_way")) is is_pair] for is_pair in (False, True)
    )
    text = f"""# Simulated verdicts

How often the report's words are wrong, and how often its intervals cover, in studies whose truth is known. Written by
`make simulate` from `docs/method/simulations.tsv`; the tests compare the page with the record and draw a part again.

Each setting has {studies:,} studies of {N_TEXTS:,} test texts without a difference, and as many with one of {gap}
points. Shares are in per cent. The Monte-Carlo standard error of a share of 5 % is {error:.1f} points. Accuracy is 80 %
where the setting gives no other, 50 % with five classes. SD is the standard deviation over seeds, in points. Runs are
judged by the functions that fill `questions.tsv`.

A claim that errs in more than {100 * HIGHEST_ERROR:g} % of studies, or an interval that fails to cover in as many, is
bold where the excess is more than two standard errors. The last column has its [warnings](#warnings).

## Claims that are wrong

*Difference*: arms are equal, and the answer is a difference. With six questions, a study is wrong where one answer is.

Arms differ by {gap} points. *Equal*: the answer is equality within {gap} points. *Beyond*: it is a difference of more.

"""
    text += "\n".join(table_of(pairs, WRONG))
    text += """

## Power, and coverage of the 95 % intervals

An interval covers where it holds what further seeds and texts would give; with six questions, where all six do. The
interval over seeds alone is of this test set and need not cover others.

"""
    text += "\n".join(table_of(pairs, FOUND))
    text += """

## Macro-F1

`errors/macro.tsv` has Student's interval over seeds, `measures/arms.tsv` that over seeds and texts, from jackknife
pseudo-values. Classes of unequal size: the rare one has a recall of 60 %, the other of 97 %.

"""
    text += "\n".join(table_of(measures, {"interval covers": "covered"}))
    text += "\n\n## Warnings\n\n`warnings_of` in `scripts/analysis/failures.py` names them from a study's runs.\n\n"
    text += "\n".join(f"- **{name}**: {words}." for name, words in WARNINGS.items())
    return text + "\n"


def printed(rows):
    """Return the rows of simulations.tsv as its columns."""
    return [{name: row[name] if row[name] is not None else "" for name in COLUMNS} for row in rows]


def verdicts(options):
    """Return the rows of simulations.tsv."""
    return printed(simulate(settings(), options.studies or STUDIES, options.processes))


def looks(options):
    """Return the rows of looks-simulated.tsv."""
    todo = simulated_looks.tasks(options.studies)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        done = pool.map(simulated_looks.job, todo, chunksize=1)
    rows = simulated_looks.summed(row for rows in done for row in rows)
    return [{name: row.get(name, "") for name in simulated_looks.COLUMNS} for row in rows]


# {name: (record, its columns, rows, the page from these rows)}
SIMULATED = {
    "verdicts": ("simulations", COLUMNS, verdicts, page_of),
    "looks": ("looks-simulated", simulated_looks.COLUMNS, looks, simulated_looks.page_of),
}


def main(arguments=None):
    """Simulate, record, write the pages and print them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=SIMULATED, help="default: both")
    parser.add_argument("--studies", type=int, help=f"of each setting (default {STUDIES}; of looks 2,000 to 10,000)")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="default: one a processor")
    parser.add_argument("--page", action="store_true", help="only write the page from the record")
    options = parser.parse_args(arguments)
    for name in [options.only] if options.only else SIMULATED:
        stem, columns, rows, page = SIMULATED[name]
        record = os.path.join(FOLDER, f"{stem}.tsv")
        if not options.page:
            write_tsv(record, rows(options), columns)
        text = page(read_tsv(record))
        write_text(os.path.join(FOLDER, f"{stem}.md"), text)
        print(text, end="")


if __name__ == "__main__":
    main()
