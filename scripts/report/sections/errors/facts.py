"""The errors of the runs."""

import os

from analysis.error_figures import NAMED
from data.words import unit_of
from report.arm_colours import label_of
from report.inputs import Table
from report.numbers import Key, derive

CHAPTER, PLACE = "Results", 80
SHOWN_REVIEWS = 12
# These are shown for each arm where there are more than two classes.
SHOWN_CONFUSIONS = 10
# The names of two classes without given names.
POLARITY = {"0": "negative", "1": "positive"}
TABLES = ("confusion", "calibration", "by_length", "agreement", "runs", "counts")


def facts(study):
    """The errors of the runs."""
    if not study.has("errors_confusion", "error_figures", "hardest"):
        return None
    confusion, counts = study.table("errors_confusion"), study.table("errors_counts")
    labels = list(dict.fromkeys(str(row["label"]) for row in confusion.rows))
    names = dict(zip(labels, study.labels or [POLARITY.get(k, k) for k in labels], strict=True))
    drawings = {
        os.path.splitext(os.path.basename(path))[0]: study.drawing(path) for path in study.paths("error_figures")
    }
    reviews = study.lines("hardest")
    for row in reviews:
        row["by_arm"] = [(Key(share), share) for share in row["probability_of_label"].values()]
    return {
        **{name: study.table(f"errors_{name}") for name in TABLES},
        "confusion": Table(by_run(confusion.rows) if len(labels) == 2 else [], confusion.href),
        "labels": labels,
        "names": names,
        "numbered": len(labels) > NAMED,
        "polar": list(names.values()) == list(POLARITY.values()),
        **classes(study, names),
        "drawings": drawings,
        "every": {"right": counts.rows[-1], "wrong": counts.rows[0]},
        # With one run a review is either right or wrong.
        "alone": len(counts.rows) == 2,
        "disagree": derive("sum", *(row["n_reviews"] for row in counts.rows[1:-1])) if len(counts.rows) > 3 else None,
        "calibration_by_arm": calibration_by_arm(study.table("errors_runs").rows),
        "reviews": reviews[:SHOWN_REVIEWS],
        "unit": unit_of(study.json("manifest")),
        "reviews_href": study.href("hardest"),
        "texts": any("text" in row for row in reviews),
    }


def classes(study, names):
    """Return how each class fares, by arm, and the means over classes; more than two classes: what is taken for what.

    Args:
        study: the study's files, of which those of `measure_classes` may be missing.
        names: {number of a class: its name}.
    """
    found = {"by_class": None, "macro": None, "confused": None}
    manifest = study.json("manifest")
    # A table's texts are in a language that its settings may name; all other sources are French.
    found["language"] = manifest.get("language") if manifest.get("source") == "table" else "fr"
    if not study.has("errors_by_class", "errors_macro", "errors_confusion_arms"):
        return found
    table, macro, cells = (study.table(f"errors_{name}") for name in ("by_class", "macro", "confusion_arms"))
    rows = beside(table.rows, ("arm", "label"))
    found["by_class"] = Table([row | {"name": names[row["label"]]} for row in rows], table.href)
    found["macro"] = Table(beside(macro.rows, ("arm",)), macro.href)
    if len(names) > 2:
        wrong = {}
        for row in cells.rows:
            if row["label"] != row["prediction"] and float(row["mean"]):
                wrong.setdefault(row["arm"], []).append(row)
        rows = [
            row | {"name": names[row["label"]], "answer": names[row["prediction"]]}
            for answers in wrong.values()
            for row in sorted(answers, key=lambda row: -float(row["mean"]))[:SHOWN_CONFUSIONS]
        ]
        found["confused"] = Table(rows, cells.href)
    return found


def beside(rows, key):
    """Return rows of one measure each as rows of all measures: `recall`, `recall_low`, `recall_high` and so on."""
    found = {}
    for row in rows:
        joined = found.setdefault(tuple(row[name] for name in key), dict(row))
        name = row["metric"].removeprefix("macro_")
        joined |= {name: row["mean"], f"{name}_low": row["t_low"], f"{name}_high": row["t_high"]}
        joined[f"{name}_sd"] = row["sd_ddof1"]
    return list(found.values())


def by_run(rows):
    """Return a row for each run: how many reviews of each class got each answer."""
    found = {}
    for row in rows:
        names = {"arm": row["arm"], "seed": row["seed"]}
        kept = found.setdefault(tuple(names.values()), names)
        kept[f"{row['label']}-{row['prediction']}"] = row["n_reviews"]
    return list(found.values())


def calibration_by_arm(rows):
    """Return (an arm's name, the mean of its runs' calibration errors), in per cent later."""
    found = {}
    for row in rows:
        found.setdefault(row["arm"], []).append(row)
    return [
        (label_of(of_arm[0]), derive("mean", *(row["calibration_error"] for row in of_arm)))
        for of_arm in found.values()
    ]
