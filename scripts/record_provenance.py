"""Write ro-crate-metadata.json: what made this study's numbers, as a Process Run Crate that programs can read.

One action a training run (when, where, from which commit, settings, versions and data, with the hashes of what it
gave) and one for the report. Everything comes from the study's files: no clock is read, so it is the same at every
build. The report's action has therefore neither time nor machine: neither can change a byte of it.

Not Snakemake's RO-Crate reporter (snakemake-report-plugin-rocrate): it packs every file of the DAG into a zip,
checkpoints among them, and knows neither seeds nor hashes of settings.

Source: RO-Crate 1.1; Process Run Crate 0.5 (https://w3id.org/ro/wfrun/process/0.5).
"""

import json
import os
from urllib.parse import quote

from common.arms import run_label
from common.errors import StudyError
from common.files import read_json, sha256, write_text
from common.machine import package_versions, settings_hash, study_settings
from common.rule import running

CRATE = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
# What can change a byte of the report's figures and tables.
REPORT_PACKAGES = ("jinja2", "matplotlib", "numpy", "scipy", "snakemake", "statsmodels")
# Facts of a run's record that become its action's parameters and measurements.
PARAMETERS = ("framework", "init", "rank", "seed", "precision", "threads", "settings_sha256", "commit")
MACHINE = ("cpu", "cores", "memory_mb", "gpu", "os")


def reference(*identifiers):
    """Return JSON-LD references: one object for one identifier, else a list."""
    found = [{"@id": identifier} for identifier in identifiers]
    return found[0] if len(found) == 1 else found


class Crate:
    """Entities of an RO-Crate by identifier, each once."""

    def __init__(self, folder):
        """Start an empty crate whose root is `folder`."""
        self.folder, self.entities = os.path.abspath(folder), {}

    def add(self, identifier, kind, **properties):
        """Add an entity, without the properties that are None or empty; return its identifier."""
        kept = {name: value for name, value in properties.items() if value not in (None, "", [])}
        self.entities.setdefault(identifier, {"@id": identifier, "@type": kind, **kept})
        return identifier

    def value(self, identifier, name, value):
        """Add a named value."""
        return self.add(identifier, "PropertyValue", name=name, value=value)

    def file(self, path, digest=None, **properties):
        """Add a file of the study with its hash; a hash that is given spares reading the file.

        Raises:
            StudyError: the file is missing.
        """
        name = os.path.relpath(os.path.abspath(path), self.folder).replace(os.sep, "/")
        if digest is None:
            if not os.path.isfile(path):
                raise StudyError(f"{path} is missing: run the study first, it is a part of the record")
            digest = sha256(path)
        return self.add(quote(name), "File", name=name, sha256=digest, **properties)

    def software(self, name, version):
        """Add a package at a version."""
        return self.add(
            f"#software-{quote(name)}-{quote(version)}", "SoftwareApplication", name=name, softwareVersion=version
        )


def add_machine(crate, facts):
    """Add the machine of a run, once for all runs on its like; return its identifier, or None if none was recorded."""
    if not facts:
        return None
    identifier = f"#machine-{settings_hash(facts)[:12]}"
    values = [crate.value(f"{identifier}-{name}", name, facts[name]) for name in MACHINE if facts.get(name) is not None]
    return crate.add(identifier, "Place", name=facts.get("cpu"), additionalProperty=reference(*values))


def add_run(crate, label, record, script, used, made):
    """Add the action of one training run.

    Args:
        crate: `Crate`.
        label: the run's name, such as `fairseq/random/seed2`.
        record: its run.json; a fact that an older record lacks is left out.
        script: name of the rule that trained it.
        used: identifiers of the files that it read.
        made: paths of the files that it gave.

    Returns:
        str: the action's identifier.

    Raises:
        StudyError: a file is missing.
    """
    identifier = f"#run-{quote(label)}"
    requirements = [crate.software(name, str(version)) for name, version in sorted(record["versions"].items())]
    # One instrument a script, commit and set of versions: runs that differ in one name another.
    tool = settings_hash([script, record.get("commit"), record["versions"]])[:12]
    instrument = crate.add(
        f"#{script}-{tool}",
        "SoftwareApplication",
        name=script,
        softwareVersion=record.get("commit") or "not recorded",
        softwareRequirements=reference(*requirements),
    )
    values = [
        crate.value(f"{identifier}-{name}", name, record[name])
        for name in PARAMETERS
        if record.get(name) not in (None, "")
    ]
    seconds = record.get("train_seconds", record.get("seconds"))
    usage = [crate.value(f"{identifier}-seconds", "training seconds", seconds)] if seconds is not None else []
    return crate.add(
        identifier,
        "CreateAction",
        name=f"Training of {label}",
        instrument=reference(instrument),
        startTime=record.get("started"),
        endTime=record.get("ended"),
        location=reference(place) if (place := add_machine(crate, record.get("machine"))) else None,
        object=reference(*values, *used),
        resourceUsage=reference(*usage) if usage else None,
        result=reference(*(crate.file(path) for path in made)),
        actionStatus=reference("http://schema.org/CompletedActionStatus"),
    )


def add_data(crate, manifest, folder):
    """Add the splits by the manifest's hashes; return {split: [identifiers]}."""
    return {
        split: [
            crate.file(os.path.join(folder, f"{split}.{ending}"), digest=counts[f"sha256_{ending}"])
            for ending in ("review", "label")
            if counts.get(f"sha256_{ending}")
        ]
        for split, counts in sorted(manifest["splits"].items())
    }


def main(runs, predictions, qa_runs, qa_results, manifest, qa_manifest, tables, crate, settings, commit):
    """Write the crate.

    Args:
        runs: run.json of every sentiment run.
        predictions: its test predictions, in the same order.
        qa_runs: run.json of every question-answering run; empty where the study lacks them.
        qa_results: their evaluations, in the same order.
        manifest: data/manifest.json.
        qa_manifest: qa/data/manifest.json, or None.
        tables: tables and figures that the report shows.
        crate: ro-crate-metadata.json to write, in the study's folder.
        settings: the resolved config.
        commit: the commit that the report is built by, or an empty string.

    Raises:
        StudyError: a file is missing or is not JSON.
    """
    made = Crate(os.path.dirname(os.path.abspath(crate)))
    facts = read_json(manifest)
    data = add_data(made, facts, os.path.dirname(manifest))
    records = [(path, read_json(path)) for path in runs]
    qa_records = [(path, read_json(path)) for path in qa_runs]
    # Training reads train and valid; what was tested is known by the predictions.
    used = [made.file(manifest), *data.get("train", []), *data.get("valid", [])]
    actions = []
    for (path, record), predicted in zip(records, predictions, strict=True):
        label = run_label(record["framework"], record["init"], record["seed"])
        actions.append(add_run(made, label, record, f"finetune_{record['framework']}", used, [path, predicted]))
    qa_used = [made.file(qa_manifest)] if qa_manifest else []
    for (path, record), result in zip(qa_records, qa_results, strict=True):
        label = f"qa/rank{record['rank']}/seed{record['seed']}"
        actions.append(add_run(made, label, record, "finetune_lora", qa_used, [path, result]))
    shown = [made.file(path) for path in tables]
    page = made.add(
        "report.html", "File", name="report.html", description="The study's page.", encodingFormat="text/html"
    )
    packages = [made.software(name, version) for name, version in sorted(package_versions(REPORT_PACKAGES).items())]
    tool = made.add(
        "#build_report",
        "SoftwareApplication",
        name="build_report",
        softwareVersion=commit or "not recorded",
        softwareRequirements=reference(*packages),
    )
    digest = made.value("#settings", "SHA-256 of the study's settings", settings_hash(study_settings(settings)))
    actions.append(
        made.add(
            "#report",
            "CreateAction",
            name="Building of the report",
            instrument=reference(tool),
            object=reference(digest, *shown),
            result=reference(page),
        )
    )
    files = sorted(identifier for identifier, entity in made.entities.items() if entity["@type"] == "File")
    ended = [record["ended"] for _, record in records + qa_records if record.get("ended")]
    head = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": reference("./"),
            "conformsTo": reference(CRATE),
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Study {settings['study']}",
            "description": f"A fine-tuning study on {'synthetic' if facts['synthetic'] else 'real'} reviews "
            f"(source: {facts['source']}): its runs, their predictions and the report.",
            "license": reference("#licence"),
            "conformsTo": reference(PROFILE),
            # The day of the last run, not of this file's making.
            **({"datePublished": max(ended)[:10]} if ended else {}),
            "hasPart": [{"@id": name} for name in files],
            "mentions": [{"@id": action} for action in actions],
        },
        {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        {
            "@id": "#licence",
            "@type": "CreativeWork",
            "name": "MIT for the workflow and what it computed; the reviews stay under their source's terms",
        },
    ]
    graph = {
        "@context": [f"{CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context"],
        "@graph": head + [made.entities[identifier] for identifier in sorted(made.entities)],
    }
    write_text(crate, json.dumps(graph, ensure_ascii=False, indent=1) + "\n")
    print(f"{len(actions)} actions, {len(files)} files")


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.runs,  # noqa: F821
            snakemake.input.predictions,  # noqa: F821
            snakemake.input.get("qa_runs", []),  # noqa: F821
            snakemake.input.get("qa_results", []),  # noqa: F821
            snakemake.input.manifest,  # noqa: F821
            snakemake.input.get("qa_manifest"),  # noqa: F821
            snakemake.input.tables,  # noqa: F821
            snakemake.output.crate,  # noqa: F821
            snakemake.params.settings,  # noqa: F821
            snakemake.params.commit,  # noqa: F821
        )
