"""The effort of using each framework, the differing defaults, and their effect."""

import frameworks
from report.formats import FILTERS
from report.inputs import Table

CHAPTER, PLACE = "Can it be trusted?", 60
# The ids of claims about the use of the frameworks begin like this.
USE = "use-"

# The answer compares these columns of the summary.
COUNTED = ("n_commands", "n_arguments", "seconds")


def least(rows, column):
    """Return the rows whose number in a column is the lowest."""
    lowest = min(float(row[column]) for row in rows)
    return [row for row in rows if float(row[column]) == lowest]


def sentences(study):
    """Return what a report says of the frameworks' use, as this study's counts have it."""
    asked = study.table("conclusions")
    return Table([row for row in asked.rows if row["id"].startswith(USE)], asked.href)


def facts(study):
    """The effort of using each framework, the differing defaults, and their effect."""
    names = ("framework_steps", "framework_summary", "framework_defaults")
    if not study.has(*names):
        return None
    steps = study.table("framework_steps")
    settings = study.settings.get("finetuning") or {}
    arms, mode = settings.get("arms") or {}, settings.get("protocol", "")
    files = [
        {"framework": row["framework"], "rule": row["rule"], "file": FILTERS["word"](row["files"], place)}
        for row in steps.rows
        for place in range(len(row["files"].split()))
    ]
    used = [name for name in frameworks.having("STEPS") if name in {row["framework"] for row in steps.rows}]
    beside = [name for name in used if name in frameworks.having("BESIDE")]
    return {
        "steps": steps,
        "names": {row["framework"]: frameworks.label(row["framework"]) for row in steps.rows},
        "here": [(f"{frameworks.label(name)} here", name, "wide") for name in used],
        # These frameworks appear beside the two, and keep their defaults in every protocol.
        "beside": [(frameworks.label(name), f"{name}_default", "text") for name in beside],
        "commands": Table([row for row in steps.rows if row["command"]], steps.href),
        "files": Table(files, steps.href),
        "summary": study.table("framework_summary"),
        "defaults": study.table("framework_defaults"),
        "n_defaults": study.count(study.path("framework_defaults")),
        "least": {name: least(study.table("framework_summary").rows, name) for name in COUNTED},
        "sentences": sentences(study) if study.has("conclusions") else None,
        "modes": sorted({arm.get("protocol") or mode for arm in arms.values()}),
    }
