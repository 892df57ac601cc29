"""Recipes: the learning rate and the number of epochs of arms that are otherwise trained alike."""

import json

import frameworks
from common.arms import CHECKPOINT
from finetuning.protocol import arm_training

RECIPE = ("lr", "epochs")
# Settings of an arm that change nothing of its result.
IDLE = ("match", "framework", "model", "init", "training")


def describe(finetuning, name, without=()):
    """Return what an arm starts from and its recipe.

    Args:
        finetuning: config section `finetuning`.
        name: name of the arm.
        without: settings of the arm that are not told.

    Returns:
        dict: `pair` (what arms of both starts share, in words), `start` (the same with what the arm starts from),
        `lr`, `epochs`.
    """
    arm, training = finetuning["arms"][name], arm_training(finetuning, name)
    model = [] if arm["model"] == CHECKPOINT else [arm["model"]]
    own = {key: value for key, value in arm.items() if key not in (*IDLE, *without) and value is not None}
    own |= {key: value for key, value in training.items() if key not in (*RECIPE, "save_every")}
    for key, value in (finetuning["training"] | {"protocol": finetuning["protocol"]}).items():
        if own.get(key) == value:
            del own[key]
    others = [f"{key} {in_words(value)}" for key, value in sorted(own.items())]
    shared = [frameworks.label(arm["framework"]), *model]
    return {
        "pair": ", ".join([*shared, *others]),
        "start": ", ".join([*shared, arm["init"], *others]),
        **{key: training[key] for key in RECIPE},
    }


def in_words(value):
    """Return a setting's value: a mapping as `(key value, …)`, the rest as JSON without quotes around a text."""
    if isinstance(value, dict):
        return f"({', '.join(f'{key} {in_words(of)}' for key, of in value.items() if of is not None)})"
    return value if isinstance(value, str) else json.dumps(value)


def tried_recipes(finetuning):
    """Return the recipes of those starts that have several: validation chooses one of each start.

    Args:
        finetuning: config section `finetuning`.

    Returns:
        dict: {arm: what `describe` returns and `init`}, every arm of these starts; of two arms that are the same, the
        first. Empty: there is nothing to choose.
    """
    found = {}
    for name, arm in finetuning["arms"].items():
        facts = describe(finetuning, name) | {"init": arm["init"]}
        found.setdefault(facts["start"], {}).setdefault((facts["lr"], facts["epochs"]), (name, facts))
    return dict(of for cells in found.values() if len(cells) > 1 for of in cells.values())


def compared_recipes(recipes):
    """Return the recipes of those starts whose comparison can depend on the recipe.

    These are pretrained and random arms that are otherwise trained alike and share at least two recipes.

    Args:
        recipes: what `tried_recipes` returns.
    """
    cells = {}
    for facts in recipes.values():
        cells.setdefault(facts["pair"], {}).setdefault(facts["init"], set()).add((facts["lr"], facts["epochs"]))
    several = {pair for pair, of in cells.items() if len(of.get("pretrained", set()) & of.get("random", set())) > 1}
    return {name: facts for name, facts in recipes.items() if facts["pair"] in several}
