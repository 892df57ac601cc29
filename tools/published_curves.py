"""The part of published/README.md on a study of learning curves: a table for each curve, with the simple models."""

import os

from common.arms import percent
from common.files import read_tsv
from finetuning.learning_curves import REVIEWS
from report.sections.learning_curves.facts import SIMPLE
from tools.published_recipes import spread


def table(curve, points, simple):
    """Return the lines of a Markdown table, a row for each amount, a column for each start and each simple model.

    Args:
        curve: its name: of what there is more in each row.
        points: its rows of learning_curves/means.tsv.
        simple: rows of learning_curves/baselines.tsv; none where every point learns from the same reviews.
    """
    columns = {row["start"]: {} for row in points} | {row["features"]: {} for row in simple}
    for row in points:
        columns[row["start"]][int(row["amount"])] = spread(row)
    for row in simple:
        columns[row["features"]][int(row["n_train"])] = percent(row["test_accuracy"])
    lines = [f"| {' | '.join([curve.capitalize(), *columns])} |", f"|{' --: |' * (len(columns) + 1)}"]
    for amount in sorted({int(row["amount"]) for row in points}):
        cells = [str(amount), *(column.get(amount, "–") for column in columns.values())]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def by_amount(folder):
    """Return a published study's learning curves as Markdown.

    Args:
        folder: folder of the study.

    Raises:
        StudyError: a table is missing.
    """
    means = read_tsv(os.path.join(folder, "learning_curves", "means.tsv"))
    smaller = os.path.join(folder, "learning_curves", "baselines.tsv")
    simple = read_tsv(smaller) if os.path.exists(smaller) else []
    many = sorted({int(row["n_seeds"]) for row in means})
    seeds = f"{' or '.join(map(str, many))} seed{'s' if many != [1] else ''}"
    lines = [f"Test accuracy in percent: mean ± SD (ddof 1) of {seeds}; the simple models have one value."]
    for curve in dict.fromkeys(row["curve"] for row in means):
        points = [row for row in means if row["curve"] == curve]
        beside = [row for row in simple if row["baseline"] in SIMPLE] if curve == REVIEWS else []
        lines += ["", *table(curve, points, beside)]
    return "\n".join(lines)
