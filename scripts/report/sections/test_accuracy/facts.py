"""The table of arms with every seed's figure, and the table of runs."""

from common.arms import ARM
from report.arm_colours import anchor_of
from report.inputs import Table
from report.sections.answer.facts import arms_with_intervals
from report.sections.methods.facts import selected_by

CHAPTER, PLACE = "Results", 10


def facts(study):
    """The table of arms with every seed's figure, and the table of runs."""
    runs = study.frame("runs")
    by_seed = runs.pivot(index=ARM, columns="seed", values=study.lead.test).fillna("").reset_index()
    arms = arms_with_intervals(study).merge(by_seed, on=ARM)
    shared = study.table("shared_texts") if study.has("shared_texts") else None
    return {
        # Where no text is shared, both values are the same.
        "shared": shared if shared and shared.rows and shared.rows[0]["n_shared"] != "0" else None,
        "arms": Table(arms.to_dict("records"), study.href("test_accuracy")),
        "runs": Table([row | {"row_id": anchor_of(row)} for row in study.table("runs").rows], study.href("runs")),
        "seeds": sorted(runs["seed"].unique(), key=int),
        "select_by": selected_by(study.settings.get("finetuning") or {}),
    }
