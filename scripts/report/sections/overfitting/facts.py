"""Training loss and accuracy beside validation's, the gap between them, and whether validation loss rose again."""

import os

from common.arms import ARM
from common.files import read_json
from report.inputs import located
from report.sections.all_curves.facts import MOST_TOLD
from report.sections.methods.facts import selected_by

CHAPTER, PLACE = "Results", 60


def facts(study):
    """Training loss and accuracy beside validation's, the gap between them, and whether validation loss rose again."""
    if not study.has("overfitting_arms", "training_curves"):
        return None
    arms = study.table("overfitting_arms")
    data = {os.path.splitext(path)[0]: path for path in study.paths("training_curves_data")}
    figures = []
    for svg in study.paths("training_curves"):
        path = data[os.path.splitext(svg)[0]]
        identity = study.read(path).iloc[0][ARM].to_dict()
        figures.append(
            {
                **next(row for row in arms.rows if all(row[name] == identity[name] for name in ARM)),
                "drawing": study.drawing(svg),
                "points_href": study.link(path),
            }
        )
    settings = study.settings.get("finetuning") or {}
    runs = study.table("overfitting_runs")
    return {
        "stopped": stopped(study),
        # The accuracy of sets of labels counts whole sets.
        "right": "Subset accuracy" if study.json("manifest").get("task") == "multilabel" else "Accuracy",
        "arms": arms,
        "runs": runs,
        "figures": figures,
        "many": len(arms.rows) > MOST_TOLD,
        "select_by": selected_by(settings),
        "by_loss": settings.get("select_by") == "loss",
    }


def stopped(study):
    """Return the records of the runs that `patience` ended early, with the epochs that they might have had."""
    records = [located(read_json(path), study.link(path)) for path in study.paths("run_records")]
    return [record for record in records if record.get("stopped")]
