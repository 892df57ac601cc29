"""A Markdown table of the reports' conclusions that hold in the lab's runs and in the published studies."""

import os

from common.files import read_tsv
from tools import compare, packs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PUBLISHED = os.path.join(ROOT, "claims", "published_runs.tsv:published")


def recipe(folder):
    """Return a study's peak rate and updates, from protocol_diff.tsv; those of each start where they differ."""
    rows = {row["setting"]: row for row in read_tsv(os.path.join(folder, "protocol_diff.tsv"))}
    inits = {row["arm"]: row["init"] for row in read_tsv(os.path.join(folder, "runs.tsv"))}

    def recorded(setting):
        cells = [cell for key, cell in rows[setting].items() if key not in ("setting", "equal", "note")]
        # A framework's starts, or its arms where it has several of a start, are listed with values that differ.
        values = [part.rpartition(": ")[::2] for cell in cells for part in cell.split("; ")]
        if len({value for _, value in values}) == 1:
            return values[0][1]
        return " and ".join(
            dict.fromkeys(f"{value} ({inits.get(name, name)})" if name else value for name, value in values)
        )

    return f"peak rate {recorded('peak_lr')}, {recorded('total_updates')} updates"


def is_asked(folder):
    """Return whether a study has at most one arm of each framework and start."""
    arms = {(row["framework"], row["init"], row["arm"]) for row in read_tsv(os.path.join(folder, "runs.tsv"))}
    return len(arms) == len({arm[:2] for arm in arms})


def conclusions(folders):
    """Return which of the reports' conclusions hold in the lab's own runs and in the published studies, as Markdown.

    A study with several arms of one framework and start is left out: the conclusions know no recipes.

    Args:
        folders: those of published studies, in the order of the columns; the page lies beside them.
    """
    folders = [folder for folder in folders if is_asked(folder)]
    sides = [compare.Side(PUBLISHED), *(compare.Side(packs.opened(folder)) for folder in folders)]
    names = [os.path.basename(folder) for folder in folders]
    head = ["conclusion of the reports", "source", "the lab's runs", *(f"[{name}]({name})" for name in names)]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in compare.conclusions_asked(sides):
        sentence = row["sentence"] + (f" (on {row['split']})" if row["split"] else "")
        verdicts = [row[f"verdict_{i}"].replace(compare.UNDECIDED, "–") for i in range(len(sides))]
        lines.append(f"| {' | '.join([sentence, row['source'], *verdicts])} |")
    trained = "; ".join(f"{name}: {recipe(folder)}" for name, folder in zip(names, folders, strict=True))
    return "\n".join([*lines, "", f"–: the study's tables cannot decide it. {trained}."])
