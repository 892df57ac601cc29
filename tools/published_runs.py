"""The runs of a study that is published, and what made them: command, machine, time, versions."""

import os

from common.errors import StudyError
from common.files import read_json, read_tsv
from study.guests import gathered
from study.seed_plans import TABLE, trained_seeds


def planned(config, results):
    """Return the folders of all runs that a study's settings and looks ask for, relative to its results."""
    seeds = trained_seeds(config, lambda look: os.path.join(results, TABLE.format(look=look)))
    found = [os.path.join("finetuning", arm, f"seed{seed}") for arm, some in seeds.items() for seed in some]
    return found + gathered("planned", config)


def finished(folder):
    """Return the folders of all runs that a study's tables hold, relative to its results, by today's names.

    Args:
        folder: results folder, or the published copy.
    """
    runs = read_tsv(os.path.join(folder, "runs.tsv"))
    found = [os.path.join("finetuning", row["arm"], f"seed{row['seed']}") for row in runs]
    return found + gathered("finished", folder)


def made(results, config, file, compared):
    """Return what made the study's runs, as Markdown: command, machine, time, versions, from the runs' own records.

    Args:
        results: the study's results folder.
        config: its settings.
        file: the study's file, as a command names it.
        compared: whether there is a page against the published numbers.

    Raises:
        StudyError: a run that the settings ask for is not there, or does not say what machine it was trained on.
    """
    runs = planned(config, results)
    lacking = set(runs) - set(finished(results))
    if lacking:
        raise StudyError(f"{results} lacks {len(lacking)} of {len(runs)} runs, {min(lacking)} first: finish the study")
    records = {run: read_json(os.path.join(results, run, "run.json")) for run in runs}
    for run, record in records.items():
        if "machine" not in record:
            raise StudyError(f"{results}/{run}/run.json does not say what machine made it: train the run again")
    records = records.values()

    def every(values):
        return "; ".join(sorted({str(value) for value in values}))

    def machine(record):
        found = record["machine"]
        return f"{found['cores']} cores of {found['cpu']}, {found['gpu'] or 'no GPU'}"

    name, checkpoint = config["study"], config["checkpoint"]
    first = f" once `{checkpoint['folder']}` is there" if checkpoint["source"] == "folder" else ""
    hours = sum(record.get("train_seconds", record.get("seconds")) or 0 for record in records) / 3600
    versions = every(" ".join([package, version]) for r in records for package, version in r["versions"].items())
    return "\n".join(
        [
            f"# The {name} study as published",
            "",
            f"`make study STUDY={file} [MIRROR=FOLDER]` runs this study{first}; "
            f"`python -m tools.publish {name}` packed it here.",
            "",
            f"- [records.tar.xz](records.tar.xz) has every record and table; `python -m tools.packs published/{name} "
            f"FOLDER` unpacks it. To compare your predictions: `diff -r results/{name}/predictions "
            "FOLDER/predictions`; no output means identical predictions.",
            f"- `python -m tools.restore {name} [--mirror FOLDER]` makes every table, figure and page again from the "
            "records, without training, and compares them with [SHA256SUMS](SHA256SUMS). The pages' links to tables "
            f"and figures that are not here work in `results/{name}` afterwards.",
            f"- Runs: {len(records)}, trained for {hours:.2f} hours in all, on {every(map(machine, records))}.",
            f"- First started {min(r['started'] for r in records)}, last ended {max(r['ended'] for r in records)}.",
            f"- Commit: {every(record['commit'] for record in records)}.",
            f"- Precision {every(r['precision'] for r in records)}, threads {every(r['threads'] for r in records)}.",
            f"- Versions: {versions}.",
            "- [The report](report.html), [against the published numbers](comparison.html)."
            if compared
            else "- [The report](report.html).",
            "",
        ]
    )
