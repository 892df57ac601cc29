"""Copy a finished study's report and all that it links to, to docs/STUDY-study, and put its table into README.md.

Run by hand: `python scripts/publish_study.py STUDY`, where STUDY is the name of a file of studies/. Beside the copies
stand the study against the published numbers (`compare_studies.py`) and what made it: command, machine, time, versions.
No reviews' text and no weights.
"""

import os
import re
import shutil
import sys

import compare_studies
from common.errors import StudyError
from common.files import atomic_path, read_json, read_tsv, write_text
from common.study import load_study

# What README and the comparison rest on; the rest is what the report links to.
FILES = (
    "report.html",
    "report_numbers.tsv",
    "history.tsv",
    "test_accuracy.md",
    "statistics/pairs.tsv",
    "baselines.tsv",
    "figures/arms.svg",
)
# The same, of a study that pretrains or answers questions.
WHERE_MADE = ("checkpoint/pretraining.tsv", "qa/runs.tsv", "qa/summary.tsv")
# Each run's own records, which `make regenerate` makes the tables from.
RECORDS = ("run.json", "history.tsv", "selected.json", "weights.json")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PUBLISHED = os.path.join(ROOT, "claims", "published_runs.tsv:published")


def links(path):
    """Return the files beside a page that it links to, as relative paths."""
    with open(path, encoding="utf-8") as handle:
        return sorted(set(re.findall(r'href="([^"#:]+)(?:#[^"]*)?"', handle.read())))


def planned(config):
    """Return the folders of all runs that a study's settings ask for, relative to its results."""
    sentiment, qa = config["sentiment"], config["qa"]
    runs = [(arm["framework"], arm["init"], seed) for arm in sentiment["arms"] for seed in sentiment["seeds"]]
    found = [os.path.join("sentiment", framework, init, f"seed{seed}") for framework, init, seed in runs]
    if qa["enabled"]:
        found += [os.path.join("qa", f"rank{rank}", f"seed{seed}") for rank in qa["lora"]["r"] for seed in qa["seeds"]]
    return found


def finished(folder):
    """Return the folders of all runs that a study's tables hold, relative to its results.

    Args:
        folder: results folder, or the published copy.
    """
    runs = read_tsv(os.path.join(folder, "runs.tsv"))
    found = [os.path.join("sentiment", row["framework"], row["init"], f"seed{row['seed']}") for row in runs]
    table = os.path.join(folder, "qa", "runs.tsv")
    if os.path.exists(table):
        found += [os.path.join("qa", f"rank{row['rank']}", f"seed{row['seed']}") for row in read_tsv(table)]
    return found


def made(results, config):
    """Return what made the study's runs, as Markdown: command, machine, time, versions, from the runs' own records.

    Args:
        results: the study's results folder.
        config: its settings.

    Raises:
        StudyError: a run that the settings ask for is not there, or does not say what machine it was trained on.
    """
    runs = planned(config)
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
    hours = sum(record.get("train_seconds", record.get("seconds")) for record in records) / 3600
    versions = every(" ".join([package, version]) for r in records for package, version in r["versions"].items())
    return "\n".join(
        [
            f"# The {name} study as published",
            "",
            f"`make study STUDY=studies/{name}.yaml [MIRROR=FOLDER]` runs this study{first}; "
            f"`python scripts/publish_study.py {name}` copied it here. Whether yours came out the same: "
            f"`diff -r results/{name}/predictions docs/{name}-study/predictions` says nothing where it did.",
            "",
            f"- Runs: {len(records)}, trained for {hours:.2f} hours in all, on {every(map(machine, records))}.",
            f"- First started {min(r['started'] for r in records)}, last ended {max(r['ended'] for r in records)}.",
            f"- Commit: {every(record['commit'] for record in records)}.",
            f"- Precision {every(r['precision'] for r in records)}, threads {every(r['threads'] for r in records)}.",
            f"- Versions: {versions}.",
            "- [The report](report.html), [against the published numbers](comparison.html); the tables beside them are "
            "those that both rest on.",
            "",
        ]
    )


def answers(folder):
    """Return README's sentence on question answering, from qa/runs.tsv and qa/summary.tsv."""
    runs = read_tsv(os.path.join(folder, "qa", "runs.tsv"))
    means = {(row["rank"], row["metric"]): row for row in read_tsv(os.path.join(folder, "qa", "summary.tsv"))}
    parts = []
    for rank in dict.fromkeys(row["rank"] for row in runs):
        before, after = (means[rank, f"heldout_loss_{when}"] for when in ("before", "after"))
        spread = f" ± {float(after['sd_ddof1']):.2f} (ddof 1)" if after["sd_ddof1"] else ""
        parts.append(
            f"rank {rank}, n = {after['n']}: {float(before['mean']):.2f} nats a token of held-out answers before "
            f"tuning, {float(after['mean']):.2f}{spread} after"
        )
    size = int(runs[0]["total_params"]) - int(runs[0]["trainable_params"])
    return f"Question answering, a base of {size / 1e6:.1f} M parameters and LoRA: {'; '.join(parts)}."


def block(folder, link):
    """Return README's part: the table, the verdicts, the baselines and the figure, all from files.

    The verdicts are those of arms that differ in one thing, framework or initialisation; the report has all.

    Args:
        folder: docs folder of the study.
        link: the same folder as README links to it.

    Raises:
        StudyError: a file is missing.
    """
    with open(os.path.join(folder, "test_accuracy.md"), encoding="utf-8") as handle:
        table = handle.read().strip()
    pairs = [
        f"- {row['verdict']}"
        for row in read_tsv(os.path.join(folder, "statistics", "pairs.tsv"))
        if row["framework_a"] == row["framework_b"] or row["init_a"] == row["init_b"]
    ]
    baselines = [
        f"{row['features']} {100 * float(row['test_accuracy']):.2f} %"
        for row in read_tsv(os.path.join(folder, "baselines.tsv"))
    ]
    facts = [f"Baselines on the same splits: {'; '.join(baselines)}."]
    curve = os.path.join(folder, "checkpoint", "pretraining.tsv")
    if os.path.exists(curve):
        last = [row for row in read_tsv(curve) if row["split"] == "valid"][-1]
        facts.append(
            f"The checkpoint was pretrained here for {last['update']} updates, to {float(last['loss']):.2f} nats a "
            "masked piece on held-out text."
        )
    if os.path.exists(os.path.join(folder, "qa", "runs.tsv")):
        facts.append(answers(folder))
    return "\n".join(
        [
            table,
            "",
            *pairs,
            "",
            " ".join(facts),
            "",
            f"![Test accuracy of every seed, by arm]({link}/figures/arms.svg)",
            "",
            f"Every number: [{link}]({link}).",
        ]
    )


def marks(name):
    """Return the two marks in README that a study's part stands between."""
    return f"<!-- {name}-study -->", f"<!-- /{name}-study -->"


def with_block(readme, text, start, end):
    """Return README's text with what stands between two marks replaced.

    Raises:
        StudyError: README has not the marks.
    """
    if readme.count(start) != 1 or readme.count(end) != 1:
        raise StudyError(f"README.md needs the marks {start} and {end} once each")
    before, rest = readme.split(start)
    return f"{before}{start}\n{text}\n{end}{rest.split(end)[1]}"


def main(results, config, folder, readme):
    """Publish a study.

    Args:
        results: its results folder.
        config: its settings.
        folder: docs folder to write.
        readme: path of README.md, above that folder.

    Raises:
        StudyError: the study is not finished, or README has not its marks.
    """
    report = os.path.join(results, "report.html")
    if not os.path.exists(report):
        raise StudyError(f"{report} is missing: finish the study first")
    with open(readme, encoding="utf-8") as handle:
        text = handle.read()
    between = marks(config["study"])
    with_block(text, "", *between)  # before anything is written
    optional = [*WHERE_MADE, *(os.path.join(run, name) for run in planned(config) for name in RECORDS)]
    there = [name for name in optional if os.path.exists(os.path.join(results, name))]
    with atomic_path(folder) as temporary:
        for name in dict.fromkeys([*FILES, *there, *links(report)]):
            source, destination = os.path.join(results, name), os.path.join(temporary, name)
            if not os.path.exists(source):
                raise StudyError(f"{source} is missing: finish the study first")
            os.makedirs(os.path.dirname(destination), exist_ok=True)
            shutil.copyfile(source, destination)
        compare_studies.main(temporary, PUBLISHED, os.path.join(temporary, "comparison.html"))
        write_text(os.path.join(temporary, "README.md"), made(results, config))
    link = os.path.relpath(folder, os.path.dirname(readme))
    write_text(readme, with_block(text, block(folder, link), *between))


if __name__ == "__main__":
    try:
        name = sys.argv[1]
        settings, _ = load_study(ROOT, os.path.join(ROOT, "studies", f"{name}.yaml"))
        docs, page = os.path.join(ROOT, "docs", f"{name}-study"), os.path.join(ROOT, "README.md")
        main(os.path.join(ROOT, "results", name), settings, docs, page)
    except (IndexError, StudyError) as error:
        sys.exit(f"publish_study: {error if isinstance(error, StudyError) else 'name the study'}")
