"""Build report.html: one page from the study's files, the same bytes at every build."""

import json
import os

from common import page
from common import report_sections as more
from common.arms import arm_label, arms_of, colour_of, percent, run_label
from common.errors import StudyError
from common.files import read_json, write_text
from common.machine import PLACES, settings_hash, study_settings
from common.page import Study, as_code, as_integer, cell, column, figure, figures, notice, section, table
from common.rule import running


def of_arm(rows, framework, init):
    """Return the rows of one arm."""
    return [row for row in rows if (row["framework"], row["init"]) == (framework, init)]


def arm_cell(study, framework, init):
    """Return the cell that names an arm, with its colour."""
    return cell(arm_label(framework, init), colour=colour_of(framework, init, study.colours))


def join(items):
    """Return `a`, `a and b` or `a, b and c`."""
    items = list(items)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def shown(fraction, decimals=2):
    """Return a fraction as `80.22 %`, unbreakable."""
    return f"{percent(fraction, decimals)}\u00a0%"


def count(number):
    """Return a whole number with thin spaces between thousands."""
    return f"{number:,}".replace(",", "\u202f")


def interval_text(row):
    """Return an interval of figures/arms.tsv in percent, or why there is none."""
    if not row["interval_low"]:
        return "no interval from one seed"
    return f"{percent(row['interval_low'])} to {percent(row['interval_high'])}"


def missing_runs(study):
    """Return the names of configured runs that runs.tsv does not hold."""
    there = {(run["framework"], run["init"], run["seed"]) for run in study.tsv("runs")}
    sentiment = study.settings.get("sentiment") or {}
    return [
        run_label(arm["framework"], arm["init"], seed)
        for arm in sentiment.get("arms", [])
        for seed in sentiment.get("seeds", [])
        if (arm["framework"], arm["init"], str(seed)) not in there
    ]


def against_baselines(rows, baselines):
    """Return the sentence on the simple model that validation prefers, and the arms that it beats on test.

    Args:
        rows: of test_accuracy.tsv.
        baselines: rows of baselines.tsv; the majority class, which the answer names anyway, is left out.
    """
    simple = [row for row in baselines if row["baseline"] != "majority"]
    best = max(simple, key=lambda row: float(row["valid_accuracy"]))
    above = [row for row in rows if float(row["mean"]) < float(best["test_accuracy"])]
    if len(above) == len(rows):
        place = "above the mean of every arm"
    elif above:
        place = f"above the mean of {join(arm_label(row['framework'], row['init']) for row in above)}"
    else:
        place = "not above the mean of any arm"
    return (
        f"A linear model on {best['features']}, of the simple models on the same splits the best on validation, gets "
        f"{shown(best['test_accuracy'])} on test, {place}."
    )


def answer(study):
    """The answer in plain sentences, made from the tables; never stronger than they are."""
    rows, runs = study.tsv("test_accuracy"), study.tsv("runs")
    spread = {(row["framework"], row["init"]): row for row in study.tsv("arms_data")}
    best = max(float(row["mean"]) for row in rows)
    # Means that print alike are not told apart.
    first = [row for row in rows if percent(row["mean"]) == percent(best)]
    rest = sorted((row for row in rows if row not in first), key=lambda row: -float(row["mean"]))

    def told(row):
        name, n = arm_label(row["framework"], row["init"]), int(row["n_seeds"])
        low = spread[row["framework"], row["init"]]
        if n == 1:
            return f"{name}: {shown(row['mean'])} (one seed, so no interval)"
        level = f"{shown(low['level'], 0)} t-interval {interval_text(low)}"
        return f"{name}: {shown(row['mean'])} (mean of {n} seeds; {level})"

    if len(rows) == 1:
        sentences = [f"The study has one arm. Test accuracy of {told(rows[0])}."]
    elif len(first) > 1:
        names = join(arm_label(row["framework"], row["init"]) for row in first)
        sentences = [f"{names} share the highest mean test accuracy, {shown(best)}."]
        if rest:
            sentences.append(f"The other{'s' if len(rest) > 1 else ''}: {'; '.join(map(told, rest))}.")
    else:
        sentences = [
            f"The highest mean test accuracy is that of {told(first[0])}.",
            f"The other{'s' if len(rest) > 1 else ''}: {'; '.join(map(told, rest))}.",
        ]
    if study.has("pairs"):
        sentences += [row["verdict"] for row in study.tsv("pairs")]
    elif len(rows) > 1:
        sentences.append(
            "No test of differences is part of this page, so the order of the means describes these runs "
            "and claims nothing about the arms."
        )
    n_test = sorted({int(run["n_test"]) for run in runs})
    majority = shown(study.tsv("arms_data")[0]["majority"])
    sentences.append(
        f"Every run was tested on the same {join(count(n) for n in n_test)} reviews, of which always answering the "
        f"larger class gets {majority} right"
        + (
            "; the interval is Student's, over seeds, and leaves out the sampling of reviews."
            if any(row["interval_low"] for row in spread.values())
            else "."
        )
    )
    if study.has("baselines"):
        sentences.append(against_baselines(rows, study.tsv("baselines")))
    missing = missing_runs(study)
    return section(
        "answer",
        "The answer",
        notice(f"Runs of the settings that have no result here: {', '.join(missing)}.") if missing else None,
        lead=sentences,
    )


def test_accuracy(study):
    """The table of arms with every seed's figure."""
    runs, rows = study.tsv("runs"), study.tsv("test_accuracy")
    spread = {(row["framework"], row["init"]): row for row in study.tsv("arms_data")}
    seeds = sorted({int(run["seed"]) for run in runs})
    level = f"{100 * float(study.tsv('arms_data')[0]['level']):.0f}"
    columns = [
        "Arm",
        column("Mean", number=True),
        column("SD (ddof 1)", number=True),
        column(f"{level}\u00a0% interval", number=True),
        column("Seeds (n)", number=True),
        *(column(f"Seed {seed}", number=True) for seed in seeds),
    ]
    body = []
    for row in rows:
        arm = (row["framework"], row["init"])
        by_seed = {int(run["seed"]): run["test_accuracy"] for run in of_arm(runs, *arm)}
        low = spread[arm]
        body.append(
            [
                arm_cell(study, *arm),
                page.as_percent(row["mean"]),
                page.as_percent(row["sd_ddof1"]),
                more.interval(low["interval_low"], low["interval_high"]),
                cell(row["n_seeds"]),
                *(page.as_percent(by_seed.get(seed, "")) for seed in seeds),
            ]
        )
    return section(
        "test-accuracy",
        "Test accuracy by arm",
        table(
            "Test accuracy in percent: mean, standard deviation and Student's t interval over seeds, and each seed",
            columns,
            body,
            study,
            study.path("test_accuracy"),
            "tabulate_test_accuracy",
            note="SD is the standard deviation over the n seeds with ddof 1 (divisor n - 1)."
            + (" A dash: one seed has neither spread nor interval." if any(r["n_seeds"] == "1" for r in rows) else ""),
            other=[
                ("Markdown", study.path("test_accuracy_markdown")),
                ("LaTeX", study.path("test_accuracy_latex")),
                ("intervals", study.path("arms_data")),
            ],
        ),
        table(
            "Every run: the epoch chosen on validation, and what it gave",
            [
                "Arm",
                column("Seed", number=True),
                column("Test (%)", number=True),
                column("Validation (%)", number=True),
                column("Epoch chosen", number=True),
                column("Update", number=True),
                column("Training (s)", number=True),
                "Precision",
            ],
            [
                [
                    arm_cell(study, run["framework"], run["init"]),
                    cell(run["seed"]),
                    page.as_percent(run["test_accuracy"]),
                    page.as_percent(run["valid_accuracy"]),
                    cell(run["best_epoch"]),
                    as_integer(run["best_update"]),
                    page.as_decimals(1)(run["train_seconds"]),
                    cell(run["precision"]),
                ]
                for run in runs
            ],
            study,
            study.path("runs"),
            "aggregate_runs",
            note="The epoch with the most correct validation reviews is tested, the earliest of equals in both "
            "frameworks. Test accuracy is counted from each run's predictions.",
        ),
    )


def curves(study):
    """Accuracy by epoch, one figure an arm."""
    if not study.has("curves"):
        return None
    # {framework}-{init}.svg: pair each figure with the table beside it.
    items = []
    data = {os.path.splitext(path)[0]: path for path in study.paths("curves_data")}
    for svg in study.paths("curves"):
        rows = page.read_tsv(data[os.path.splitext(svg)[0]])
        arm = (rows[0]["framework"], rows[0]["init"])
        items.append(
            figure(
                study,
                svg,
                "plot_accuracy_by_epoch",
                chosen_epochs(rows),
                describe_curves(arm, rows),
                curve_table(study, arm, rows, data[os.path.splitext(svg)[0]]),
                title=f"Accuracy by epoch, {arm_label(*arm)}",
            )
        )
    tested = any(row["split"] == "test" for row in study.tsv("history"))
    several = len({row["seed"] for row in study.tsv("runs")}) > 1
    lead = "A thin line is a seed" + (", the thick line the mean, the band the range of seeds" if several else "")
    lead += "; a marker shows the epoch that was chosen on validation. All arms share one scale."
    return section(
        "curves",
        "Accuracy by epoch",
        figures(*items),
        lead=[lead] + (["The test curves were drawn after training and decided nothing."] if tested else []),
    )


def chosen_epochs(rows):
    """Return the sentence that names each seed's chosen epoch."""
    chosen = [
        f"epoch {row['epoch']} (seed {row['seed']})"
        for row in rows
        if row["split"] == "valid" and row["chosen"] == "true"
    ]
    return f"Chosen: {join(chosen)}." if chosen else ""


def describe_curves(arm, rows):
    """Return the text alternative of an arm's curves: where validation started and ended, which epochs were chosen."""
    valid = [row for row in rows if row["split"] == "valid"]
    epochs = sorted({int(row["epoch"]) for row in valid})
    seeds = list(dict.fromkeys(row["seed"] for row in valid))

    def span(epoch):
        values = sorted(float(row["accuracy"]) for row in valid if int(row["epoch"]) == epoch)
        low, high = shown(values[0], 1), shown(values[-1], 1)
        return low if low == high else f"{low} to {high}"

    course = f"{span(epochs[0])} after epoch {epochs[0]}"
    if len(epochs) > 1:
        course += f" and {span(epochs[-1])} after epoch {epochs[-1]}"
    return (
        f"Line chart, {arm_label(*arm)}: validation accuracy of {len(seeds)} seed{'s' if len(seeds) > 1 else ''} "
        f"is {course}. "
        + f"{chosen_epochs(rows)} "
        + ("Test accuracy is drawn dashed." if any(row["split"] == "test" for row in rows) else "")
    ).strip()


def curve_table(study, arm, rows, path):
    """Return the values of an arm's curves: one row per seed and epoch."""
    splits = [split for split in ("valid", "test") if any(row["split"] == split for row in rows)]
    points = {}
    for row in rows:
        point = points.setdefault((int(row["seed"]), int(row["epoch"])), {"update": row["update"]})
        point[row["split"]] = row["accuracy"]
        point["chosen"] = row["chosen"] == "true"
    return table(
        f"Accuracy in percent by epoch, {arm_label(*arm)}",
        [
            column("Seed", number=True),
            column("Epoch", number=True),
            column("Update", number=True),
            *(column({"valid": "Validation", "test": "Test"}[split], number=True) for split in splits),
            "Chosen",
        ],
        [
            [
                cell(seed),
                cell(epoch),
                as_integer(point["update"]),
                *(page.as_percent(point.get(split, "")) for split in splits),
                cell("chosen" if point["chosen"] else " "),
            ]
            for (seed, epoch), point in sorted(points.items())
        ],
        study,
        path,
        "plot_accuracy_by_epoch",
        row_header=False,
    )


def arms_compared(study):
    """The strip plot of all arms."""
    rows = study.tsv("arms_data")
    values = table(
        "Mean test accuracy and its interval over seeds, in percent",
        [
            "Arm",
            column("Seeds (n)", number=True),
            column("Mean", number=True),
            column("Interval from", number=True),
            column("to", number=True),
        ],
        [
            [
                arm_cell(study, row["framework"], row["init"]),
                cell(row["n_seeds"]),
                *(page.as_percent(row[key]) for key in ("mean", "interval_low", "interval_high")),
            ]
            for row in rows
        ],
        study,
        study.path("arms_data"),
        "plot_arms",
    )
    alt = "Strip plot of each seed's test accuracy by arm. " + "; ".join(
        f"{arm_label(row['framework'], row['init'])}: mean {shown(row['mean'])}, {interval_text(row)}" for row in rows
    )
    return section(
        "arms",
        "Arms compared",
        figure(
            study,
            study.path("arms_figure"),
            "plot_arms",
            "Test accuracy of every seed; the bar is the mean, the line its t-interval over seeds."
            if any(row["interval_low"] for row in rows)
            else "Test accuracy of the one seed of each arm.",
            f"{alt}.",
            values,
            title="Test accuracy of every seed, by arm",
        ),
    )


def flatten(value, prefix=""):
    """Return [(dotted key, text)] of nested settings; lists of plain values stay on one line."""
    if isinstance(value, dict) and value:
        return [pair for key in value for pair in flatten(value[key], f"{prefix}.{key}" if prefix else str(key))]
    if isinstance(value, (list, tuple)) and any(isinstance(item, (dict, list, tuple)) for item in value):
        return [pair for i, item in enumerate(value, start=1) for pair in flatten(item, f"{prefix}[{i}]")]
    if isinstance(value, str):
        # A path of one machine says nothing to others and would differ between two builds.
        return [(prefix, os.path.basename(value) if os.path.isabs(value) else value)]
    return [(prefix, json.dumps(value, ensure_ascii=False))]


def settings(study):
    """Every setting of the study, as resolved from config.yaml and the study's file."""
    return section(
        "settings",
        "Settings of the study",
        table(
            f"Every setting of study {study.settings.get('study', '')}, the defaults among them",
            ["Key", column("Value", wide=True)],
            [[as_code(key), as_code(text)] for key, text in flatten(study_settings(study.settings))],
            fold="All settings",
        ),
    )


def data(study):
    """What the data are, by the manifest."""
    manifest = study.json("manifest")
    rows = []
    for split in ("train", "valid", "test"):
        counts = manifest["splits"][split]
        rows.append(
            [
                split,
                as_integer(str(counts["n"])),
                page.as_percent(counts["n_positive"] / counts["n"] if counts["n"] else ""),
                cell((counts["sha256_review"] or "")[:16], code=True),
                cell((counts["sha256_label"] or "")[:16], code=True),
            ]
        )
    path = study.path("manifest")
    files = [[cell(name, code=True), cell(digest, code=True)] for name, digest in sorted(manifest["files"].items())]
    unlabelled = manifest.get("unlabelled") or {}
    return section(
        "data",
        "Data",
        table(
            "Splits: number of reviews, share of positive ones, first 16 digits of the files' SHA-256",
            [
                "Split",
                column("Reviews", number=True),
                column("Positive (%)", number=True),
                "Text",
                "Labels",
            ],
            rows,
            study,
            path,
            "build_splits",
        ),
        table(
            "Files that the data came from", ["File", column("SHA-256", wide=True)], files, study, path, "build_splits"
        )
        if files
        else None,
        lead=[
            f"Source: {manifest['source']}. "
            + ("The data are synthetic. " if manifest["synthetic"] else "")
            + f"Reviews without a label, for pretraining: {count(unlabelled.get('n') or 0)}."
        ],
    )


def provenance(study):
    """Versions, hashes, times and machines: what made these results."""
    records = [read_json(path) for path in study.paths("run_records")]
    versions = {}
    for record in records:
        for name, version in (record.get("versions") or {}).items():
            versions.setdefault((name, str(version)), []).append(record)
    arms = arms_of(records)
    rows = []
    for (name, version), having in sorted(versions.items()):
        of = arms_of(having)
        rows.append(
            [name, cell(version, code=True), "all arms" if of == arms else ", ".join(arm_label(*arm) for arm in of)]
        )
    identity = [["SHA-256 of the settings", cell(settings_hash(study_settings(study.settings)), code=True)]]
    if study.commit:
        identity.append(["Commit of the workflow", cell(study.commit, code=True)])
    if study.has("provenance"):
        crate = study.link(study.path("provenance"))
        identity.append(["The same for programs (RO-Crate)", cell(crate, code=True, href=crate)])
    return section(
        "provenance",
        "Provenance",
        table(
            "What identifies this page",
            ["What", column("Value", wide=True)],
            identity,
            note="The hash is that of the settings above as JSON with sorted keys and no spaces"
            f" (without {join(PLACES)}).",
        ),
        table(
            "Every run by its own record: when it started, from which commit and settings, on what",
            [
                "Run",
                "Started (UTC)",
                "Commit",
                "Settings",
                column("Machine", wide=True),
                column("Threads", number=True),
            ],
            [run_row(record) for record in records],
            note="Settings: first digits of the SHA-256 of the run's own settings, alike in runs that differ in "
            "nothing but the seed. The hashes of data and predictions are in the record for programs."
            + (
                " A dash: the run was made before this was recorded."
                if any("started" not in r for r in records)
                else ""
            ),
        )
        if records
        else None,
        table("Versions that the runs recorded", ["Package", "Version", column("Arms", wide=True)], rows)
        if rows
        else None,
    )


def run_row(record):
    """Return the cells of one run's record; an older record that lacks a fact has a dash there."""
    machine = record.get("machine") or {}
    memory = f"{machine['memory_mb'] / 1024:.0f} GiB" if machine.get("memory_mb") else None
    cores = f"{machine['cores']} core{'s' if machine['cores'] > 1 else ''}" if machine.get("cores") else None
    where = [machine.get("cpu"), cores, memory, machine.get("gpu"), machine.get("os")]
    return [
        run_label(record["framework"], record["init"], record["seed"]),
        cell((record.get("started") or "").removesuffix("+00:00").replace("T", " ")),
        cell(record.get("commit") or "", code=True),
        cell((record.get("settings_sha256") or "")[:16], code=True),
        cell(", ".join(fact for fact in where if fact)),
        cell(record.get("threads")),
    ]


def origins(sections):
    """Where every number comes from: made last, from what the other sections name."""
    return section(
        "sources",
        "Where every number comes from",
        table(
            "Each table and figure of this page, its file in the results folder and the rule that made it",
            [column("What", wide=True), "File", "Rule"],
            [
                [cell(what, href=f"#{anchor}"), cell(href, code=True, href=href), cell(rule, code=True)]
                for what, href, rule, anchor in page.sources(sections)
            ],
            row_header=False,
        ),
    )


# The order of the page. A new section: write a function of `Study`, add it here, name its files in rules/report.smk.
SECTIONS = (
    answer,
    test_accuracy,
    curves,
    arms_compared,
    more.statistics,
    more.learned,
    more.checkpoint,
    more.question_answering,
    more.ledgers,
    more.protocol,
    data,
    more.audit,
    more.errors,
    more.cost,
    more.claims,
    settings,
    provenance,
)


def main(files, template, report, settings, commit=""):
    """Write the page.

    Args:
        files: {name: path or list of paths}; a name that is missing or empty leaves out the sections that need it.
        template: path of report.html.j2.
        report: HTML file to write; links are relative to its folder.
        settings: the resolved config.
        commit: the source's commit, or an empty string.

    Raises:
        StudyError: a needed file is missing or lacks a column.
    """
    files = {name: [paths] if isinstance(paths, str) else [str(p) for p in paths] for name, paths in files.items()}
    study = Study(files, os.path.dirname(os.path.abspath(report)), settings, commit)
    for name in ("runs", "test_accuracy", "arms_data", "arms_figure", "manifest"):
        if not study.has(name):
            raise StudyError(f"the report needs {name}; run the study's aggregation first")
    sections = [part for part in (build(study) for build in SECTIONS) if part]
    # The table of origins stands before provenance, which closes the page.
    sections.insert(len(sections) - 1, origins(sections))
    html = page.render(template, study=settings.get("study", ""), synthetic=study.synthetic, sections=sections)
    write_text(report, html)
    print(f"{len(sections)} sections, {len(html.encode('utf-8')) // 1024} KiB")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            {name: paths for name, paths in snakemake.input.items() if name not in ("common", "template")},  # noqa: F821
            snakemake.input.template,  # noqa: F821
            snakemake.output.report,  # noqa: F821
            snakemake.params.settings,  # noqa: F821
            snakemake.params.commit,  # noqa: F821
        )
