"""Predictions that are there already, of whatever trained them: facts."""

import os

import tasks

LABEL = "given predictions"
ENVIRONMENT = "data"
INITS = ("none",)
PAIRS = True
TASKS = tuple(tasks.names())
PLACE = "file of predictions, with {seed} where each run has one; predictions only"
SETTINGS = {
    "predictions": {"description": PLACE, "type": "string", "minLength": 1},
    "valid_predictions": {"description": f"the same for the validation texts: a {PLACE}", "type": "string"},
    "fixed": {
        "description": "whether the file is of a system that no seed changes, whose answers all runs repeat; "
        "predictions only",
        "type": "boolean",
    },
}


TRAINS = False
METHOD = "were not trained by this study, which took their predictions from files and saw nothing of their training"


def VALIDATED(arm):
    """Tell whether an arm has predictions on validation."""
    return bool(arm.get("valid_predictions"))


def READS(arm, seed):
    """Return the files of a run: the seed takes the place of {seed}, and other braces stay."""
    keys = ("predictions", "valid_predictions")
    return [arm[key].replace("{seed}", str(seed)) for key in keys if arm.get(key)]


def faults(finetuning, name):
    """Yield the files that are missing, or that cannot be of several runs."""
    arm, place = finetuning["arms"][name], f"finetuning.arms.{name}"
    if not arm.get("predictions"):
        yield f"{place} has no predictions; name its files, such as predictions: folder/{{seed}}.tsv"
        return
    for key in ("predictions", "valid_predictions"):
        if arm.get(key) and arm.get("fixed") and "{seed}" in arm[key]:
            yield f"{place}.fixed is true, and {key} has a file for each seed; take {{seed}} or fixed out"
    for path in dict.fromkeys(path for seed in finetuning["seeds"] for path in READS(arm, seed)):
        if not os.path.isfile(path):
            yield f"{place}: there is no file {path}; put it there, or take its seed out of finetuning.seeds"
