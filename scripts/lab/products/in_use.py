"""The effort of using each framework, side by side."""

import frameworks
from common.arms import CHECKPOINT, arms_in
from study.products import Product

# The use of these frameworks is tabulated.
IN_USE = frameworks.having("STEPS")
# These appear beside the others where a study has them.
BESIDE = frameworks.having("BESIDE")


def has_all_in_use(config):
    """Return whether arms of all these frameworks start from the study's checkpoint."""
    return set(IN_USE) - set(BESIDE) <= {arm.framework for arm in arms_in(config).values() if arm.model == CHECKPOINT}


def in_use(name, columns, output, label=""):
    """Return the row of a table of the frameworks in use: a record, since it is read from the files of runs.

    One with a label is in Snakemake's own report.
    """
    key = f"framework_{name}"
    shown = {"caption": key, "category": "Trust", "labels": {"table": label}} if label else {}
    return Product(
        key,
        f"frameworks/{name}.tsv",
        "compare_frameworks",
        output,
        columns,
        has_all_in_use,
        page=True,
        crate=True,
        derived=False,
        **shown,
    )


def with_mark(column):
    """Return a column's name, marked where only studies with such a framework have it."""
    return f"{column}?" if column.removesuffix("_default") in BESIDE else column


COLUMNS = {
    "rule": ("text", "", "whose jobs the step is"),
    "command": ("text", "", "as the first run's log shows it, several with ` ; ` between"),
    "n_steps": ("integer", "steps", "from reviews to test predictions"),
    "n_commands": ("integer", "", "commands and calls"),
    "n_arguments": ("integer", "", "flags or arguments that they were given and that are not the tool's defaults"),
    "n_lines": ("integer", "lines", "of code that no other framework needs, empty ones left out"),
    "n_jobs": ("integer", "jobs", "that were measured"),
    "total_seconds": ("number", "s", "wall time of all jobs of the step"),
    "cpu_seconds": ("number", "s", "processor time of a job, mean"),
    "memory_mb": ("number", "MB", "largest resident memory of a job"),
    "n_files": ("integer", "files", "that one run's jobs made"),
    "bytes": ("integer", "bytes", "of these files"),
    "files": ("text", "", "their paths, folders whole"),
    **{f"{name}_default": ("text", "", frameworks.load(name).RECIPE) for name in IN_USE},
}
PRODUCTS = [
    in_use(
        "steps",
        "framework step rule command n_commands n_arguments n_lines n_jobs seconds total_seconds cpu_seconds memory_mb "
        "n_files bytes files",
        "table",
        "both frameworks in use",
    ),
    in_use("summary", "framework n_steps n_commands n_arguments n_lines seconds memory_mb n_files bytes", "summary"),
    in_use(
        "defaults",
        " ".join(["setting", *(with_mark(f"{name}_default") for name in IN_USE), *map(with_mark, IN_USE)]),
        "defaults",
        "the frameworks' defaults",
    ),
]
