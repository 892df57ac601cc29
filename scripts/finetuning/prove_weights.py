"""Verify the start of every run: a pretrained one has the checkpoint's tensors, a random one has none of them."""

from pathlib import Path

from common.arms import ARM, CHECKPOINT, run_label
from common.entry import run
from common.errors import StudyError
from common.files import read_json, write_tsv
from study.pretrainings import start_name

COUNTS = ("n_tensors", "n_equal", "n_new", "n_constant")
COLUMNS = (*ARM, "seed", *COUNTS, "head")


def head_of(proof, taken):
    """Return whether a run's classification head is new, or kept from an external model.

    Args:
        proof: see `judge`.
        taken: conversion.json of the folder that the run started from.
    """
    named = (taken.get("head") or {}).get("tensors") or ()
    statuses = {proof["tensors"].get(name, {}).get("status") for name in named}
    return "kept" if proof["init"] == "pretrained" and statuses == {"equal"} else "new"


def judge(proof, known, place):
    """Return a run's counts of tensors, without a new classification head.

    Args:
        proof: the run's `weights.json`: findings of `training.weights.prove_weights` before the first update. known:
            set of the content hashes of the checkpoint's tensors.
        place: the file, for messages.

    Returns:
        dict: n_tensors, n_equal (to a tensor of the checkpoint, under any name), n_constant (all values equal, as in
            zero biases and unit LayerNorms, or computed, as sine positions: the same in every draw, so they prove
            nothing and do not count as equal), n_new (the rest).

    Raises:
        StudyError: a pretrained run with a tensor that is not the checkpoint's, or a random one with a tensor that is.
    """
    constant = set(proof["constant"])
    telling = proof["tensors"].keys() - constant
    equal = {name for name in telling if proof["tensors"][name]["sha256"] in known}
    new = telling - equal
    if proof["init"] == "pretrained" and new:
        raise StudyError(f"{place}: tensor {min(new)} is not the checkpoint's: train the run again")
    if proof["init"] == "random" and equal:
        raise StudyError(f"{place}: the random run holds the checkpoint's tensor {min(equal)}: it is not random")
    counts = (proof["tensors"], equal, new, constant)
    return dict(zip(COUNTS, map(len, counts), strict=True))


def main(proofs, converted, models, arms, table, updates=None, pretrainings=None):
    """Write the table of all runs.

    Args:
        proofs: paths of the runs' `weights.json`, at finetuning/<arm>/seed<seed>/.
        converted: folders that the arms start from; `conversion.json` has the hash of every tensor.
        models: their names, in the same order (`study.pretrainings.start_name`): `checkpoint at update 500` is an
            intermediate state of the study's checkpoint, `checkpoint of seed 2` another pretraining.
        arms: {name: the columns of `ARM`}.
        table: TSV to write: `COLUMNS`.
        updates: {arm: update of the pretraining that it starts from, None: the last}; None: all start from the last.
        pretrainings: {run, such as fairseq-pretrained/seed2: seed of the pretraining that its checkpoint is of} of
            other pretrainings than the first; None: there is one. A run at random must have the tensors of none.

    Raises:
        StudyError: see `judge`.
    """
    taken = {
        model: read_json(Path(folder) / "conversion.json") for model, folder in zip(models, converted, strict=True)
    }
    known = {model: set(record["tensors"].values()) for model, record in taken.items()}
    rows = []
    for path in proofs:
        arm, seed = Path(path).parts[-3:-1]
        run = dict(zip(ARM, arms[arm], strict=True)) | {"seed": seed.removeprefix("seed")}
        proof, model = read_json(path), run["model"]
        at_random = pretrainings and proof["init"] == "random"
        other = None if at_random or model != CHECKPOINT else (pretrainings or {}).get(run_label(arm, run["seed"]))
        start = start_name(model, (updates or {}).get(arm), other)
        alike = [name for name in known if name.split()[0] == model] if at_random else [start]
        tensors = set().union(*map(known.get, alike))
        rows.append(run | judge(proof, tensors, path) | {"head": head_of(proof, taken[start])})
    write_tsv(table, rows, COLUMNS)


if __name__ == "__main__":
    run(main, snakemake)
