"""The frameworks side by side, and the claims that are checked against the study's tables."""

import frameworks
from common.arms import CHECKPOINT, arms_in
from study.products import Product, Rule

# The frameworks whose use is tabulated.
IN_USE = frameworks.having("STEPS")


def has_all_in_use(config):
    """Say whether arms of all these frameworks start from the study's checkpoint."""
    return set(IN_USE) <= {arm.framework for arm in arms_in(config).values() if arm.model == CHECKPOINT}


def table(key, path, rule, columns, label="", **facts):
    """Return the row of a table; one with a label is in Snakemake's own report."""
    caption = facts.pop("caption", key)
    shown = {"caption": caption, "category": "Trust", "labels": {"table": label}} if label else {}
    return Product(key, path, rule, columns=columns, **shown, **{"page": True, "crate": True, **facts})


def in_use(name, columns, output, label=""):
    """Return the row of a table of the frameworks in use: a record, since it is read from the files of runs."""
    facts = {"when": has_all_in_use, "derived": False, "output": output}
    return table(f"framework_{name}", f"frameworks/{name}.tsv", "compare_frameworks", columns, label, **facts)


COLUMNS = {
    "rule": ("text", "", "whose jobs the step is"),
    "command": ("text", "", "as the first run's log shows it, several with ` ; ` between"),
    "n_steps": ("integer", "steps", "from reviews to test predictions"),
    "n_commands": ("integer", "", "commands and calls"),
    "n_arguments": ("integer", "", "flags or arguments that they were given"),
    "n_lines": ("integer", "lines", "of code that the other framework does not need, empty ones left out"),
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
    table(
        "protocol_diff",
        "protocol_diff.tsv",
        "build_protocol_diff",
        " ".join(["setting", *(f"{name}?" for name in frameworks.having("CHECKPOINTS")), "equal note"]),
        "protocol diff",
        output="table",
    ),
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
        " ".join(["setting", *(f"{name}_default" for name in IN_USE), *IN_USE]),
        "defaults",
        "the frameworks' defaults",
    ),
    table("claims", "claims.tsv", "check_claims", "id sentence source verdict data", "claims"),
    table(
        "claims_by_report",
        "claims_by_report.tsv",
        "check_claims",
        "part heading opening claims holds fails not_shown cannot_be_decided transcribed",
        "claims by report",
        caption="claims",
        output="by_report",
    ),
]
RULES = [
    Rule(
        "build_protocol_diff",
        {"records": "run_records"},
        {
            "mode": lambda config: config["finetuning"]["protocol"],
            "arms": lambda config: config["finetuning"]["arms"],
        },
    ),
]
