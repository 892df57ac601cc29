"""Draw suites whose truth is known, and count how often what is said of them is wrong.

`python -m tools.simulated_suites [--suites 300] [--processes 2]` rewrites docs/method/suites-simulated.md and .tsv.
"""

import argparse
import math
import multiprocessing
import os
import zlib

import numpy as np

from analysis.arm_pairs import OPTIONS
from common.files import write_text, write_tsv
from tools.simulated import draw_right
from tools.suite_statistics import LEAST_SETS, claim_of, contrast_of, interval, mean_of, of_others, of_these, resample

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "method", "suites-simulated.md")
TABLE = f"{os.path.splitext(PAGE)[0]}.tsv"
SUITES, N_TEXTS, N_DRAWS, BLOCK = 300, 200, 400, 50
LEVEL, ALPHA = OPTIONS["level"], OPTIONS["alpha"]
# Sets, seeds, SD over seeds, SD of the true difference over sets; fractions.
SETTINGS = [
    (n_sets, seeds, sd, of_sets)
    for n_sets in (3, 4, 6, 12)
    for seeds, sd in ((2, 0.01), (3, 0.03), (5, 0.002))
    for of_sets in (0.0, 0.03)
]
MARGIN, ACCURACY = 0.02, 0.8
# Errors: the interval for these sets leaves their true mean, MARGIN, out; equality within MARGIN is claimed; the
# interval for other sets leaves their true mean out, which is 0.
ERRORS = ("missed", "equal", "others_missed")
COLUMNS = ("n_sets", "n_seeds", "sd_seeds", "sd_sets", "suites", *ERRORS)
MOST = 0.06


def drawn_suite(setting, mean, generator, centred):
    """Return a suite's contrasts, and the true difference of each set.

    Args:
        setting: one of `SETTINGS`.
        mean: the true mean difference.
        generator: numpy.random.Generator.
        centred: whether these sets' true differences have this very mean; otherwise that of the sets they are drawn of.
    """
    n_sets, n_seeds, sd, of_sets = setting
    true = generator.standard_normal(n_sets) * of_sets
    true += mean - (true.mean() if centred else 0.0)
    every = []
    for gap in true:
        # The sets differ in difficulty.
        base = ACCURACY + 0.1 * (generator.random() - 0.5)
        accuracies = [
            np.clip(base + sign * gap / 2 + sd * generator.standard_normal(n_seeds), 0.01, 0.99) for sign in (1, -1)
        ]
        right = draw_right(accuracies, generator, N_TEXTS)
        arms = {name: (items.mean(axis=1).tolist(), items, False) for name, items in zip("ab", right, strict=True)}
        every.append(contrast_of([(1, "a"), (-1, "b")], arms, resample(arms, N_DRAWS, generator)))
    return every, true


def errors_of(setting, generator):
    """Return which of `ERRORS` one draw of each kind of suite makes; None where nothing is said of other sets."""
    found = dict.fromkeys(ERRORS)
    every, true = drawn_suite(setting, MARGIN, generator, centred=True)
    difference, varies = mean_of(every), of_these(every)
    (low, high), _ = interval(difference, varies, LEVEL)
    found["missed"] = not low <= float(np.mean(true)) <= high
    said, p = claim_of(difference, varies, MARGIN, every)
    found["equal"] = said == "equal" and p <= ALPHA
    if setting[0] >= LEAST_SETS:
        every, _ = drawn_suite(setting, 0.0, generator, centred=False)
        (low, high), _ = interval(mean_of(every), of_others(every, generator), LEVEL)
        found["others_missed"] = not low <= 0.0 <= high
    return found


def block_of(task):
    """Return the errors of one block of suites: (place of the setting, {error: count or None})."""
    place, number, n = task
    generator = np.random.default_rng([49, zlib.crc32(repr(SETTINGS[place]).encode()), number])
    found = [errors_of(SETTINGS[place], generator) for _ in range(n)]
    return place, {name: sum(one[name] for one in found) if found[0][name] is not None else None for name in ERRORS}


def simulate(n_suites, processes):
    """Return a row for each setting."""
    tasks = [
        (place, number, min(BLOCK, n_suites - number * BLOCK))
        for place in range(len(SETTINGS))
        for number in range(math.ceil(n_suites / BLOCK))
    ]
    counts = [dict.fromkeys(ERRORS) for _ in SETTINGS]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for place, found in pool.imap_unordered(block_of, tasks):
            for name, count in found.items():
                counts[place][name] = None if count is None else (counts[place][name] or 0) + count
    return [
        dict(zip(COLUMNS, (*setting, n_suites), strict=False))
        | {name: None if count is None else count / n_suites for name, count in found.items()}
        for setting, found in zip(SETTINGS, counts, strict=True)
    ]


def excessive(share, n_suites):
    """Return whether a share of errors is above `MOST` by more than two standard errors."""
    return share is not None and share > MOST + 2 * math.sqrt(MOST * (1 - MOST) / n_suites)


def page(rows):
    """Return the page of a table's rows."""
    n = rows[0]["suites"]
    lines = [
        "# Simulated suites",
        "",
        "How often what a [suite](../guides/suites.md) says is wrong, where the truth is known. Written by",
        "`python -m tools.simulated_suites`; the tests compare the page with its table and draw a part of it again.",
        "",
        f"Each row has {n:,} suites. A set has {N_TEXTS} test texts and two arms, whose accuracy is about"
        f" {100 * ACCURACY:.0f} %; the standard error",
        f"of a share of 5 % is {100 * math.sqrt(0.05 * 0.95 / n):.1f} points. Shares are in per cent, standard"
        " deviations (SD) in points. *SD of sets* is that of the sets’ true",
        "differences: at 0 the arms differ alike on every set.",
        "",
        f"- *Missed*: the true mean over these sets is {100 * MARGIN:.0f} points, and the 95 % interval leaves it out."
        " A difference is claimed",
        "  where the interval leaves 0 out, so this is also how often a claim of a difference is wrong.",
        f"- *Equal*: with the same mean, equality within {100 * MARGIN:.0f} points is claimed.",
        "- *Others*: the interval for the sets that these were drawn from leaves out their mean, 0. With fewer than"
        f" {LEAST_SETS} sets",
        "  nothing is said of others.",
        "",
        f"A share above {100 * MOST:.0f} % by more than two standard errors is bold.",
        "",
        "| sets | seeds | SD of seeds | SD of sets | missed | equal | others missed |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        cells = [str(row["n_sets"]), str(row["n_seeds"]), f"{100 * row['sd_seeds']:g}", f"{100 * row['sd_sets']:g}"]
        for name in ERRORS:
            share = row[name]
            text = "" if share is None else f"{100 * share:.1f}"
            cells.append(f"**{text}**" if excessive(share, n) else text)
        lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def main(arguments=None):
    """Write the table and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=SUITES)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args(arguments)
    rows = simulate(given.suites, given.processes)
    write_tsv(TABLE, rows, COLUMNS)
    write_text(PAGE, page(rows))


if __name__ == "__main__":
    main()
