"""Rebuild a published study's results folder from its records without training, and compare it with what was published.

Run by hand: `python -m tools.restore STUDY [--mirror FOLDER]`, where STUDY is the name of a file of studies/, or of a
folder in it, with a folder in published/. Records (runs, predictions, what was read from weights) are unpacked to
results/<study>; texts are downloaded again; every table, figure and page is computed and compared with its published
SHA-256.
`python -m tools.publish STUDY` publishes the result.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys

from common.errors import StudyError
from common.files import read_json, sha256
from finetuning.seals import sealed_files, write_seal
from study.addresses import retrievals, source_addresses
from study.configuration import load_study
from study.guests import guests
from study.products import page_rules
from tools import packs
from tools.checked import CRATE, check_results
from tools.study_files import file_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# These tables are read from weights, corpora or logs, which are not published.
KEPT = (
    # The register says when each question was asked, which no rebuild may change.
    "questions.json",
    "audit.tsv",
    "weights.tsv",
    "parameter_ledger.tsv",
    "logit_parity.tsv",
    "frameworks",
    "checkpoint",
    "finetuning",
    "predictions",
    "benchmarks",
    *(place for guest in guests().values() for place in guest.records),
)
# These rules restore the texts and record the settings.
EXTRA = ("build_splits", "draw_subset", "record_settings")
# Simple models are records like other runs; these rules fit them again, with other times in their records.
REFIT = ("finetune_linear", "evaluate_linear")
# These files name the commit that built them.
BUILT = ("report.html", "report_numbers.tsv", CRATE)


def restored_rules():
    """Return the rules that make the page from records, without the audit: its corpora are not published."""
    return [name for name in page_rules() if name != "audit_data"]


def retrieving_rules(config, pins):
    """Return the rules that download a study's texts; none where they are in the project or on this machine.

    Args:
        config, pins: what `load_study` returns.
    """
    texts = set(source_addresses(config["data"]))
    return [f"retrieve_{name}" for name, entry in retrievals(config, pins).items() if texts.intersection(entry["urls"])]


def copy_records(source, target):
    """Copy a published study's records to a results folder that is not there yet.

    Args:
        source: folder of the published study, packed or not.
        target: folder to make.

    Raises:
        StudyError: the results folder is there, or a published file is not the one that was published.
    """
    source = packs.opened(source)
    check_results(source)
    if os.path.exists(target):
        raise StudyError(f"{target} exists; move it away, or its results would be overwritten")
    for name in KEPT:
        path = os.path.join(source, name)
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(target, name))
        elif os.path.exists(path):
            os.makedirs(target, exist_ok=True)
            shutil.copyfile(path, os.path.join(target, name))
    # Studies were published before evaluations wrote seals; the crate has vouched for these files.
    for predictions in glob.glob(os.path.join(target, "predictions", "*", "seed*.tsv")):
        seal = f"{os.path.splitext(predictions)[0]}.json"
        if not os.path.exists(seal):
            write_seal(seal, **{name: file for name, file in sealed_files(seal).items() if os.path.exists(file)})


def built_by(folder):
    """Return the commit that built a study's page, by its crate."""
    graph = read_json(os.path.join(folder, CRATE))["@graph"]
    return next((entity["softwareVersion"] for entity in graph if entity.get("name") == "build_report"), "")


def compared(results, published):
    """Return whether a rebuilt study has the published files, and a sentence that says so or names those that differ.

    Args:
        results: folder of the rebuilt study.
        published: folder of the published one, packed.
    """
    sums = {name: digest for name, digest in packs.listed(published).items() if name != packs.PACK}
    paths = {name: os.path.join(results, name) for name in sums}
    lacking = [name for name, path in paths.items() if not os.path.exists(path)]
    other = [name for name, path in paths.items() if name not in lacking and sha256(path) != sums[name]]
    said = [f"{len(sums) - len(lacking) - len(other)} of {len(sums)} files the same as in {published}"]
    commits = [built_by(folder) for folder in (packs.opened(published), results)]
    named = [name for name in other if name in BUILT] if len(set(commits)) == 2 else []
    if named:
        said.append("{} name the commit that built them, {} there and {} here".format(", ".join(named), *commits))
    faults = [name for name in other if name not in named]
    said += [f"missing: {', '.join(lacking)}"] if lacking else []
    said += [f"not the same: {', '.join(faults)}"] if faults else []
    return not lacking and not faults, "; ".join(said)


def main(arguments):
    """Restore a study, build its page and compare it with the published one."""
    parser = argparse.ArgumentParser(prog="python -m tools.restore", description=__doc__)
    parser.add_argument("study", help="name of a file of studies/ or of a folder in it")
    parser.add_argument("--mirror", help="folder laid out HOST/PATH that stands in for the network")
    parser.add_argument("--refit", action="store_true", help="also fit the simple models again, from the texts")
    parser.add_argument("--cores", default="1")
    chosen = parser.parse_args(arguments)
    file = file_of(chosen.study)
    config, pins = load_study(ROOT, file, **({"mirror": chosen.mirror} if chosen.mirror else {}))
    results = os.path.join("results", config["study"])
    published = os.path.join("published", chosen.study)
    copy_records(os.path.join(ROOT, published), results)
    rules = [*restored_rules(), *EXTRA, *(REFIT if chosen.refit else ()), *retrieving_rules(config, pins)]
    # `all` is not used because it also requires the audit's other files.
    targets = [os.path.join(results, name) for name in ("report_numbers.tsv", "settings.json")]
    command = ["snakemake", *targets, "--cores", chosen.cores, "--rerun-triggers", "mtime", "--configfile", file]
    command += ["--config", f"mirror={chosen.mirror}"] if chosen.mirror else []
    code = subprocess.run([*command, "--allowed-rules", *rules], check=False).returncode
    if code or not packs.is_packed(published):
        return code
    same, sentence = compared(results, published)
    print(f"restore: {sentence}")
    return 0 if same else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StudyError as error:
        sys.exit(f"restore: {error}")
