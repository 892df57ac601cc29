"""Write ro-crate-metadata.json: the provenance of the study's numbers, as a Process Run Crate that programs can read.

One action a training run (when, where, from which commit, settings, versions and data, with the hashes of what it
gave). Everything comes from the study's files: no clock is read, so it is the same at every build. The report is
therefore no action, which would need a time, but a file with what it is based on and the software that built it.
The reviews are no files of the crate, since nobody may pass them on: it has their hashes only. roc-validator finds
nothing required or recommended missing (tests/integration/test_crates.py).

Not ro-crate-py (`rocrate`), which lacks one guarantee: the same bytes at every build, since a crate without a date gets
the clock's. Not Snakemake's RO-Crate reporter (snakemake-report-plugin-rocrate): it packs every file
of the DAG into a zip, checkpoints among them, and knows neither seeds nor hashes of settings.

Source: RO-Crate 1.1; Process Run Crate 0.5 (https://w3id.org/ro/wfrun/process/0.5).
"""

import json
import os
from urllib.parse import quote

from common.arms import run_label
from common.entry import run
from common.errors import StudyError
from common.files import read_json, sha256, write_text
from common.machine import package_versions, settings_hash, study_settings
from data.reviews import noun_of
from frameworks import NONE
from study.guests import guests

CRATE = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
# The two terms of its context that are used here are spelled out, so that a reader fetches only one context.
WFRUN = "https://w3id.org/ro/terms/workflow-run"
CONTEXT = [f"{CRATE}/context", {term: f"{WFRUN}#{term}" for term in ("resourceUsage", "sha256")}]
FORMATS = {
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".label": "text/plain",
    ".md": "text/markdown",
    ".png": "image/png",
    ".review": "text/plain",
    ".svg": "image/svg+xml",
    ".tsv": "text/tab-separated-values",
}
OPERATOR = "#operator"
# These packages can change a byte of the report's figures and tables.
REPORT_PACKAGES = ("jinja2", "matplotlib", "numpy", "pandas", "scipy", "seaborn", "snakemake", "statsmodels")
# Facts of a run's record that become its action's parameters and measurements.
PARAMETERS = ("arm", "framework", "model", "init", "rank", "seed", "precision", "threads", "settings_sha256", "commit")
MACHINE = ("cpu", "cores", "memory_mb", "gpu", "os")


def reference(*identifiers):
    """Return JSON-LD references: one object for one identifier, else a list."""
    found = [{"@id": identifier} for identifier in identifiers]
    return found[0] if len(found) == 1 else found


def encoding(path):
    """Return a file's media type by its ending.

    Raises:
        StudyError: an ending that no file of a study has.
    """
    ending = os.path.splitext(path)[1]
    if ending not in FORMATS:
        raise StudyError(f"{path}: no media type is known for {ending or 'a file without an ending'}")
    return FORMATS[ending]


def package_page(name, version):
    """Return the address of a package at a version; a local part such as `+cpu` is no part of the index's path."""
    if name == "python":
        return f"https://www.python.org/downloads/release/python-{version.replace('.', '')}/"
    public, _, local = version.partition("+")
    return f"https://pypi.org/project/{quote(name)}/{public}/" + (f"#{local}" if local else "")


def commit_page(commit, tool):
    """Return the address of a tool at a commit, in the archive that names commits by their content; a fragment if none.

    The address is right everywhere; a page answers there once someone has archived the code.
    """
    digest = commit.removesuffix("-dirty")
    known = len(digest) == 40 and set(digest) <= set("0123456789abcdef")
    return (f"https://archive.softwareheritage.org/swh:1:rev:{digest}" if known else "") + f"#{tool}"


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

    def file(self, path, **properties):
        """Add a file of the study with its hash.

        Raises:
            StudyError: the file is missing.
        """
        if not os.path.isfile(path):
            raise StudyError(f"{path} is missing: run the study first, it is a part of the record")
        return self.add(quote(name := self.name(path)), "File", **self.facts(name), sha256=sha256(path), **properties)

    def outside(self, path, digest, **properties):
        """Add a file that is no part of the crate, by the hash that was recorded."""
        return self.add(
            f"#{quote(name := self.name(path))}", "CreativeWork", **self.facts(name), sha256=digest, **properties
        )

    def name(self, path):
        """Return a path relative to the crate's root."""
        return os.path.relpath(os.path.abspath(path), self.folder).replace(os.sep, "/")

    def facts(self, name):
        """Return the properties that every file has."""
        return {"name": name, "encodingFormat": encoding(name)}

    def software(self, name, version):
        """Add a package at a version."""
        page = package_page(name, version)
        return self.add(page, "SoftwareApplication", name=name, softwareVersion=version, url=page)

    def script(self, name, commit, versions):
        """Add a script at a commit with the packages that it ran with: one entity for all runs that share them."""
        requirements = [self.software(package, str(version)) for package, version in sorted(versions.items())]
        page = commit_page(commit or "", f"{name}-{settings_hash([name, commit, versions])[:12]}")
        return self.add(
            page,
            "SoftwareApplication",
            name=name,
            description=f"Script of the workflow's rule {name}.",
            url=page if page.startswith("http") else None,
            softwareVersion=commit or "not recorded",
            softwareRequirements=reference(*requirements),
        )


def add_machine(crate, facts):
    """Add the machine of a run, once for all runs on its like; return its identifier, or None if none was recorded."""
    if not facts:
        return None
    identifier = f"#machine-{settings_hash(facts)[:12]}"
    values = [crate.value(f"{identifier}-{name}", name, facts[name]) for name in MACHINE if facts.get(name) is not None]
    return crate.add(identifier, "Place", name=facts.get("cpu"), additionalProperty=reference(*values))


def add_run(crate, label, description, record, script, used, made):
    """Add the action of one training run.

    Args:
        crate: `Crate`.
        label: the run's name, such as `fairseq-random/seed2`.
        description: what was trained, in a sentence.
        record: its run.json; a fact that an older record lacks is left out.
        script: name of the rule that trained it.
        used: identifiers of the files that it read.
        made: {path: description} of the files that it gave.

    Returns:
        str: the action's identifier.

    Raises:
        StudyError: a file is missing.
    """
    identifier = f"#run-{quote(label)}"
    instrument = crate.script(script, record.get("commit"), record["versions"])
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
        description=description,
        agent=reference(OPERATOR),
        instrument=reference(instrument),
        startTime=record.get("started"),
        endTime=record.get("ended"),
        location=reference(place) if (place := add_machine(crate, record.get("machine"))) else None,
        object=reference(*values, *used),
        resourceUsage=reference(*usage) if usage else None,
        result=reference(*(crate.file(path, description=words) for path, words in made.items())),
        actionStatus="http://schema.org/CompletedActionStatus",
    )


def add_data(crate, manifest, folder):
    """Add the splits by the manifest's hashes; return {split: [identifiers]}."""
    names = manifest.get("labels") or ("negative", "positive")
    numbers = ", ".join(f"{k} {name}" for k, name in enumerate(names))
    words = {"review": "texts, one a line", "label": f"labels, one a line: {numbers}"}
    return {
        split: [
            crate.outside(
                os.path.join(folder, f"{split}.{ending}"),
                counts[f"sha256_{ending}"],
                description=f"Reviews of split {split}: {words[ending]}. Not in the crate: under their source's terms.",
            )
            for ending in ("review", "label")
            if counts.get(f"sha256_{ending}")
        ]
        for split, counts in sorted(manifest["splits"].items())
    }


def add_runs(crate, records, predictions, used, texts):
    """Add the actions of the fine-tuning runs on `texts` (their name); return their identifiers."""
    actions = []
    for (path, record), predicted in zip(records, predictions, strict=True):
        framework, init, seed = record["framework"], record["init"], record["seed"]
        label = run_label(record["arm"], seed)
        start = "" if init == NONE else f" from {init} weights"
        words = f"Fine-tuning of a classifier of {texts} in {framework}{start} with seed {seed}."
        made = {path: f"Record of {label}: settings, versions, time.", predicted: f"Test predictions of {label}."}
        actions.append(add_run(crate, label, words, record, f"finetune_{framework}", used, made))
    return actions


def add_guests(crate, files):
    """Add the actions of the guests' runs.

    Args:
        crate: the crate.
        files: {name: paths} of what `study.guests.Guest.recorded` names.

    Returns:
        tuple[list, list]: the actions' identifiers, and when the runs ended.
    """
    actions, ended = [], []
    for guest in guests().values():
        used = [crate.file(path, description=words) for path, words in guest.used(files).items()]
        for label, words, record, rule, made in guest.runs(files):
            actions.append(add_run(crate, label, words, record, rule, used, made))
            ended += [record["ended"]] if record.get("ended") else []
    return actions, ended


def add_report(crate, tables, settings, commit):
    """Add the report, with the tables and figures that it is based on and the software that built it."""
    shown = [
        crate.file(path, description=f"A {'figure' if path.endswith('.svg') else 'table'} that the report shows.")
        for path in map(str, tables)
    ]
    tool = crate.script("build_report", commit, package_versions(REPORT_PACKAGES))
    digest = crate.value("#settings", "SHA-256 of the study's settings", settings_hash(study_settings(settings)))
    # It has no hash, because the page reads the crate.
    crate.add(
        "report.html",
        "File",
        **crate.facts("report.html"),
        description="The study's page.",
        isBasedOn=reference(*shown),
        mentions=reference(tool, digest),
    )


def head(study, manifest, files, actions, ended):
    """Return the entities that describe the crate.

    Args:
        study: the study's name.
        manifest: content of data/manifest.json.
        files, actions: identifiers of all files and actions.
        ended: times at which runs ended; the day of the last is the crate's date, not that of this file's making.
    """
    texts = noun_of(manifest)["many"]
    return [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": reference("./"),
            "conformsTo": reference(CRATE),
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Study {study}",
            "description": f"A fine-tuning study on {'synthetic' if manifest['synthetic'] else 'real'} {texts} "
            f"(source: {manifest['source']}): its runs, their predictions and the report.",
            "author": reference(OPERATOR),
            "publisher": reference(OPERATOR),
            "license": reference("#licence"),
            "conformsTo": reference(PROFILE),
            **({"datePublished": max(ended)[:10]} if ended else {}),
            "hasPart": reference(*files),
            "mentions": reference(*actions),
        },
        {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        {
            "@id": OPERATOR,
            "@type": "Organization",
            "name": f"Whoever ran study {study}",
            "description": "The workflow records machines and times, and nobody's name: the page stands for them.",
            "url": reference("report.html"),
        },
        {
            "@id": "#licence",
            "@type": "CreativeWork",
            "name": f"MIT for the workflow and what it computed; the {texts} stay under their source's terms",
        },
    ]


def main(records, predictions, manifest, tables, crate, settings, commit, **recorded):
    """Write the crate.

    Args:
        records: run.json of every fine-tuning run.
        predictions: its test predictions, in the same order.
        manifest: data/manifest.json.
        tables: tables and figures that the report shows.
        crate: ro-crate-metadata.json to write, in the study's folder.
        settings: the resolved config.
        commit: the commit that the report is built by, or an empty string.
        **recorded: files of the guests by the names of `study.guests.Guest.recorded`.

    Raises:
        StudyError: a file is missing or is not JSON.
    """
    made, facts = Crate(os.path.dirname(os.path.abspath(crate))), read_json(manifest)
    texts = noun_of(facts)["many"]
    data = add_data(made, facts, os.path.dirname(manifest))
    runs = [(path, read_json(path)) for path in records]
    # Training reads train and valid; the predictions show which texts were tested.
    used = [
        made.file(manifest, description=f"What the {texts} are: source, counts and hashes."),
        *data.get("train", []),
        *data.get("valid", []),
    ]
    actions = add_runs(made, runs, predictions, used, texts)
    more, ended = add_guests(made, recorded)
    actions += more
    add_report(made, tables, settings, commit)
    files = sorted(identifier for identifier, entity in made.entities.items() if entity["@type"] == "File")
    ended += [record["ended"] for _, record in runs if record.get("ended")]
    entities = [made.entities[identifier] for identifier in sorted(made.entities)]
    graph = {
        "@context": CONTEXT,
        "@graph": head(settings["study"], facts, files, actions, ended) + entities,
    }
    write_text(crate, json.dumps(graph, ensure_ascii=False, indent=1) + "\n")
    print(f"{len(actions)} actions, {len(files)} files")


if __name__ == "__main__":
    run(main, snakemake)
