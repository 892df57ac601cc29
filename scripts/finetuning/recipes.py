"""Recipes: the learning rate and number of epochs of arms that are otherwise trained alike."""

import json

import frameworks
from common.arms import CHECKPOINT
from finetuning.protocol import arm_training

RECIPE = ("lr", "epochs")
# Settings of an arm that change nothing of its result.
IDLE = ("match", "framework", "model", "init", "training")


def describe(finetuning, name, without=()):
    """Return an arm's start and its recipe.

    Args:
        finetuning: config section `finetuning`.
        name: name of the arm.
        without: settings of the arm that the words leave out.

    Returns:
        dict: `pair` (what arms of both starts share, in words), `start` (the same with the arm's start),
        `lr`, `epochs`.
    """
    arm, training = finetuning["arms"][name], arm_training(finetuning, name)
    model = [] if arm["model"] == CHECKPOINT else [arm["model"]]
    settings = {key: value for key, value in arm.items() if key not in (*IDLE, *without) and value is not None}
    settings |= {key: value for key, value in training.items() if key not in (*RECIPE, "save_every")}
    for key, value in (finetuning["training"] | {"protocol": finetuning["protocol"]}).items():
        if settings.get(key) == value:
            del settings[key]
    others = [f"{key} {in_words(value)}" for key, value in sorted(settings.items())]
    shared = [frameworks.label(arm["framework"]), *model]
    return {
        "pair": ", ".join([*shared, *others]),
        "start": ", ".join([*shared, arm["init"], *others]),
        **{key: training[key] for key in RECIPE},
    }


def in_words(value):
    """Return a setting's value: a mapping as `(key value, …)`, the rest as JSON without quotes around a text."""
    if isinstance(value, dict):
        return f"({', '.join(f'{key} {in_words(item)}' for key, item in value.items() if item is not None)})"
    return value if isinstance(value, str) else json.dumps(value)


def tried_recipes(finetuning):
    """Return the recipes of each start that has several: validation chooses one.

    Args:
        finetuning: config section `finetuning`.

    Returns:
        dict: {arm: what `describe` returns and `init`}, every arm of these starts, without a second arm of the same
            recipe. Empty: there is nothing to choose.
    """
    found = {}
    for name, arm in finetuning["arms"].items():
        facts = describe(finetuning, name) | {"init": arm["init"]}
        found.setdefault(facts["start"], {}).setdefault((facts["lr"], facts["epochs"]), (name, facts))
    return dict(cell for cells in found.values() if len(cells) > 1 for cell in cells.values())


def compared_recipes(recipes):
    """Return the recipes of those starts whose comparison can depend on the recipe.

    These are pretrained and random arms that are otherwise trained alike and share at least two recipes.

    Args:
        recipes: what `tried_recipes` returns.
    """
    cells = {}
    for facts in recipes.values():
        cells.setdefault(facts["pair"], {}).setdefault(facts["init"], set()).add((facts["lr"], facts["epochs"]))
    several = {
        pair for pair, starts in cells.items() if len(starts.get("pretrained", set()) & starts.get("random", set())) > 1
    }
    return {name: facts for name, facts in recipes.items() if facts["pair"] in several}
