"""The part of published/README.md on a study of recipes: each recipe's row, and each start's choice by validation."""

import os

from analysis.verdicts import points
from common.arms import percent
from common.files import read_tsv
from study.grids import written


def spread(row):
    """Return mean and standard deviation (ddof 1) of a row of recipes.tsv in percent; of one seed the mean alone."""
    return percent(row["mean"]) + (f" ± {percent(row['sd_ddof1'])}" if row["sd_ddof1"] else "")


def interval(row, low, high):
    """Return two bounds in points, in words; nothing where one seed has no interval."""
    return f"{points(float(row[low]))} to {points(float(row[high]))}" if row[low] else ""


def recipe(row):
    """Return a row's recipe in words."""
    epochs = row["epochs"]
    return f"peak rate {written(float(row['peak_lr']))} and {epochs} epoch{'s' if epochs != '1' else ''}"


def table(shared, arms):
    """Return the lines of a Markdown table, a row for each recipe that both starts share.

    Args:
        shared: rows of recipes/differences.tsv of one pair.
        arms: {name: row of recipes.tsv}.
    """
    level = percent(shared[0]["level"], 0)
    names = (
        f"Epochs | Peak rate | Pretrained, % | Random, % | Pretrained minus random, points (joint {level} % interval)"
    )
    lines = [f"| {names} |", "| --: | --: | --: | --: | --: |"]
    for row in shared:
        bounds = interval(row, "joint_low", "joint_high")
        cells = (
            row["epochs"],
            written(float(row["peak_lr"])),
            spread(arms[row["arm_a"]]),
            spread(arms[row["arm_b"]]),
            points(float(row["difference"])) + (f" ({bounds})" if bounds else ""),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def chosen(start, row):
    """Return a sentence on the recipe that validation chose for a start."""
    return (
        f"- {start}: validation chose {recipe(row)} ({percent(row['valid_mean'])} % of {row['n_valid']}; "
        f"{spread(row)} % on test)."
    )


def by_recipe(folder):
    """Return a published study's recipes as Markdown, from recipes.tsv and recipes/differences.tsv.

    Args:
        folder: folder of the study.

    Raises:
        StudyError: a file is missing.
    """
    rows = read_tsv(os.path.join(folder, "recipes.tsv"))
    differing = read_tsv(os.path.join(folder, "recipes", "differences.tsv"))
    arms, lines = {row["arm"]: row for row in rows}, []
    for pair in dict.fromkeys(row["pair"] for row in rows):
        tried = [row for row in rows if row["pair"] == pair]
        shared = [row for row in differing if row["pair"] == pair]
        best = {row["init"]: row for row in tried if row["best"] == "true"}
        lines += [
            f"{pair}, {tried[0]['n_seeds']} seeds each, test accuracy (mean ± SD, ddof 1):",
            "",
            *table(shared, arms),
            "",
            *(chosen(init.capitalize(), row) for init, row in best.items()),
            "",
        ]
    return "\n".join(lines).strip()
