"""Rebuild a published study's results folder from its records, to make its tables and page anew without training.

Run by hand: `python -m tools.restore STUDY [--mirror FOLDER]`, where STUDY is the name of a file of studies/ with a
folder in published/. Records (runs, predictions, what was read from weights) are copied to results/<study>; texts are
downloaded again; every derived file is computed. `python -m tools.publish STUDY` publishes the result.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys

from common.errors import StudyError
from finetuning.seals import sealed_files, write_seal
from study.configuration import load_study
from study.guests import guests
from study.products import page_rules
from tools.checked import check_results

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# These tables are read from weights, corpora or logs, which are not published.
KEPT = (
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
# These rules restore the texts, fit the simple models and record the settings.
EXTRA = ("build_splits", "draw_subset", "finetune_linear", "evaluate_linear", "record_settings")


def restored_rules():
    """Return the rules that make the page from records, without the audit: its corpora are not published."""
    return [name for name in page_rules() if name != "audit_data"]


def copy_records(source, target):
    """Copy a published study's records to a results folder that is not there yet.

    Args:
        source: folder of the published study.
        target: folder to make.

    Raises:
        StudyError: the results folder is there, or a published file is not the one that its crate names.
    """
    check_results(source)
    if os.path.exists(target):
        raise StudyError(f"{target} is there; move it away, since its results would be overwritten")
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


def main(arguments):
    """Restore a study and build its page."""
    parser = argparse.ArgumentParser(prog="python -m tools.restore", description=__doc__)
    parser.add_argument("study", help="name of a file of studies/")
    parser.add_argument("--mirror", help="folder laid out HOST/PATH that stands in for the network")
    parser.add_argument("--cores", default="1")
    chosen = parser.parse_args(arguments)
    file = os.path.join("studies", f"{chosen.study}.yaml")
    config, _ = load_study(ROOT, file, **({"mirror": chosen.mirror} if chosen.mirror else {}))
    results = os.path.join("results", config["study"])
    copy_records(os.path.join(ROOT, "published", chosen.study), results)
    source = config["data"]["source"]
    rules = [*restored_rules(), *EXTRA, *([] if source in ("embedded", "table") else [f"retrieve_{source}"])]
    # `all` is not used because it also requires the audit's other files.
    targets = [os.path.join(results, name) for name in ("report_numbers.tsv", "settings.json")]
    command = ["snakemake", *targets, "--cores", chosen.cores, "--rerun-triggers", "mtime", "--configfile", file]
    command += ["--config", f"mirror={chosen.mirror}"] if chosen.mirror else []
    return subprocess.run([*command, "--allowed-rules", *rules], check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StudyError as error:
        sys.exit(f"restore: {error}")
