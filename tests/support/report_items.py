"""The items of the five reports (claims/items.tsv), looked for in a study's files: the content, not only the file."""

import os
import re

from common.files import read_tsv
from support.environments import ROOT

ITEMS = read_tsv(ROOT / "claims" / "items.tsv")
# The panels of a figure: one a split, and the axis above the first that counts updates.
PANEL = re.compile(r'<g id="axes_\d+"')
ABOVE = ("figures/accuracy_by_epoch/", "figures/arms_by_epoch/")


def conditions(row):
    """Return the item's conditions: for each a dictionary {column: text}, `*` for any text but none."""
    # A comma that no `column=` follows belongs to the text.
    parts = [re.split(r",(?=[a-z_0-9]+=)", one.strip()) for one in row["wants"].split(";")]
    return [dict(part.split("=", 1) for part in one) for one in parts]


def is_met(condition, rows):
    """Return whether one row has every text that a condition names."""
    return any(
        all(row.get(column, "") == text or (text == "*" and row.get(column)) for column, text in condition.items())
        for row in rows
    )


def lacking(row, folder):
    """Return what a study's folder lacks of an item, in words; nothing where it is answered.

    Args:
        row: row of claims/items.tsv.
        folder: results/<study>.
    """
    path, name = os.path.join(folder, row["file"]), f"report {row['report']}, {row['item']}"
    if not os.path.exists(path):
        return [f"{name}: no {row['file']}"]
    with open(path, encoding="utf-8") as handle:
        text = handle.read()
    if row["file"].endswith(".html"):
        named = [one.split("=", 1)[1] for one in row["wants"].split(";")]
        return [f"{name}: the page lacks {one}" for one in named if f"<li>{one}:" not in text]
    rows = read_tsv(os.path.join(folder, row["data"] or row["file"]))
    found = [f"{name}: no row with {one}" for one in conditions(row) if not is_met(one, rows)]
    if row["file"].endswith(".svg"):
        panels = len(PANEL.findall(text)) - row["file"].startswith(ABOVE)
        splits = {one["split"] for one in rows if one.get("split")} if row["file"].startswith(ABOVE) else {""}
        if panels < len(splits):
            found.append(f"{name}: {panels} panels for {', '.join(sorted(splits))}")
    if "highest_so_far" in row["file"]:
        found += [f"{name}: {arm} falls on {split}" for arm, split in falling(rows)]
    return found


def falling(rows):
    """Yield the arms and splits whose mean of the highest accuracy so far falls from one epoch to the next."""
    curves = {}
    for row in rows:
        curves.setdefault((row["arm"], row["split"]), []).append((int(row["epoch"]), float(row["mean"])))
    for key, points in curves.items():
        means = [mean for _, mean in sorted(points)]
        if any(after < before for before, after in zip(means, means[1:], strict=False)):
            yield key
