"""The section that compares the two frameworks in use."""

from report.lib.formats import FILTERS
from report.lib.inputs import Table
from report.lib.sections_answer import pairs_asked


def frameworks(study):
    """What using each framework took, what differs by default, and what it changed."""
    names = ("framework_steps", "framework_summary", "framework_defaults", "pairs")
    if not study.has(*names):
        return None
    steps = study.table("framework_steps")
    settings = study.settings.get("finetuning") or {}
    arms, mode = settings.get("arms") or {}, settings.get("protocol", "")
    asked = pairs_asked(study.table("pairs").rows, arms)
    files = [
        {"framework": row["framework"], "rule": row["rule"], "file": FILTERS["word"](row["files"], place)}
        for row in steps.rows
        for place in range(len(row["files"].split()))
    ]
    return {
        "steps": steps,
        "commands": Table([row for row in steps.rows if row["command"]], steps.href),
        "files": Table(files, steps.href),
        "summary": study.table("framework_summary"),
        "defaults": study.table("framework_defaults"),
        "n_defaults": study.count(study.path("framework_defaults")),
        "pairs": asked.get("frameworks", []),
        "modes": sorted({arm.get("protocol") or mode for arm in arms.values()}),
    }
