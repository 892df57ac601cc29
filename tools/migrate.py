"""Bring the results of a study that was finished before arms had names to today's paths, once.

Run by hand: `make migrate [STUDY=FILE]`. Folders of runs, predictions, logs, benchmarks and states are renamed, the
runs' records and weights.tsv get the arm's name and model; nothing is trained. `make regenerate` makes the rest.
"""

import os
import re
import sys

from common.arms import CHECKPOINT, named_arms
from common.errors import StudyError
from common.files import read_json, read_tsv, write_json, write_tsv
from finetuning.prove_weights import COLUMNS
from study.configuration import load_study

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Old path below results/<study>: new path. The first that fits counts.
PATHS = {
    r"sentiment/token-ids": f"finetuning/token-ids/{CHECKPOINT}",
    r"sentiment/(data-bin|pieces|logits)": r"finetuning/\1",
    r"sentiment/(fairseq|huggingface)/(pretrained|random)": r"finetuning/\1-\2",
    r"predictions/(fairseq|huggingface)/(pretrained|random)": r"predictions/\1-\2",
    r"(logs|benchmarks)/tokenize_texts/(\w+\.\w+)": rf"\1/tokenize_texts/{CHECKPOINT}/\2",
    # Of rules for one framework, and of rules for both.
    r"(logs|benchmarks|state)/(\w+_(fairseq|huggingface))/(pretrained|random)": r"\1/\2/\3-\4",
    r"(logs|benchmarks)/(\w+)/(fairseq|huggingface)/(pretrained|random)": r"\1/\2/\3-\4",
}


def renamed(path):
    """Return the new path of a file or folder below results/<study>, or None where it keeps its own."""
    for old, new in PATHS.items():
        found = re.fullmatch(old, path)
        if found:
            return found.expand(new)
    return None


def rename(results):
    """Rename what has another name now; return how many folders."""
    folders = [
        os.path.relpath(os.path.join(place, name), results)
        for place, names, files in os.walk(results)
        for name in names + files
    ]
    moves = {folder: renamed(folder.replace(os.sep, "/")) for folder in folders}
    moves = {old: new for old, new in moves.items() if new}
    for old, new in moves.items():
        if os.path.exists(os.path.join(results, new)):
            raise StudyError(f"{results} has both {old} and {new}: remove the one that you do not want")
    for old, new in moves.items():
        os.makedirs(os.path.dirname(os.path.join(results, new)), exist_ok=True)
        os.rename(os.path.join(results, old), os.path.join(results, new))
    for place, _, _ in os.walk(results, topdown=False):
        if re.search(r"/(sentiment|fairseq|huggingface)$", place) and not os.listdir(place):
            os.rmdir(place)
    return len(moves)


def main(results, arms):
    """Migrate one study's results.

    Args:
        results: its folder.
        arms: `finetuning.arms` of its settings.

    Raises:
        StudyError: no results, or both old and new ones.
    """
    if not os.path.isdir(results):
        raise StudyError(f"there is no folder {results}: name the study's file")
    moved = rename(results)
    for name in arms:
        for place, _, files in os.walk(os.path.join(results, "finetuning", name)):
            if "run.json" in files:
                path = os.path.join(place, "run.json")
                record = read_json(path)
                facts = {key: arms[name][key] for key in ("framework", "model", "init")}
                write_json(path, {"arm": name, **facts} | record)
    table = os.path.join(results, "weights.tsv")
    if os.path.exists(table):
        write_tsv(table, named_arms(read_tsv(table)), COLUMNS)
    settings = os.path.join(results, "settings.json")
    if os.path.exists(settings):
        recorded = read_json(settings)
        # Named arms were recorded by a release that has them: what a study was run with stays.
        if not isinstance(recorded["finetuning"].get("arms"), dict):
            recorded["finetuning"]["arms"] = arms
            write_json(settings, recorded)
    print(f"{results}: {moved} folders renamed; `make regenerate` makes tables, figures and report again")


if __name__ == "__main__":
    try:
        config, _ = load_study(ROOT, *filter(None, sys.argv[1:2]))
        main(os.path.join("results", config["study"]), config["finetuning"]["arms"])
    except StudyError as error:
        sys.exit(f"migrate: {error}")
