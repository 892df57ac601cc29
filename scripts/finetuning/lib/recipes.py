"""Recipes: the learning rate and the number of epochs of arms that are otherwise trained alike."""

import json

from common.arms import CHECKPOINT, FRAMEWORKS
from finetuning.lib.protocol import arm_training

RECIPE = ("lr", "epochs")
# What recipes/differences.tsv compares: both starts with one recipe, or each with its best.
SAME, OWN = "same recipe", "own best recipe"
# Settings of an arm that change nothing of its result.
IDLE = ("match", "framework", "model", "init", "training")


def describe(finetuning, name, without=()):
    """Return what an arm starts from and its recipe.

    Args:
        finetuning: config section `finetuning`.
        name: of the arm.
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
    others = [f"{key} {value if isinstance(value, str) else json.dumps(value)}" for key, value in sorted(own.items())]
    shared = [FRAMEWORKS[arm["framework"]], *model]
    return {
        "pair": ", ".join([*shared, *others]),
        "start": ", ".join([*shared, arm["init"], *others]),
        **{key: training[key] for key in RECIPE},
    }


def compared_recipes(finetuning):
    """Return the recipes of those starts whose comparison can depend on the recipe.

    These are pretrained and random arms that are otherwise trained alike and share at least two recipes.

    Args:
        finetuning: config section `finetuning`.

    Returns:
        dict: {arm: what `describe` returns and `init`}, every arm of these starts; of two arms that are the same, the
        first. Empty: the study asks nothing of its recipes.
    """
    found, cells = {}, {}
    for name, arm in finetuning["arms"].items():
        facts = describe(finetuning, name) | {"init": arm["init"]}
        of = cells.setdefault(facts["pair"], {}).setdefault(arm["init"], set())
        if (facts["lr"], facts["epochs"]) not in of:
            of.add((facts["lr"], facts["epochs"]))
            found[name] = facts
    several = {pair for pair, of in cells.items() if len(of.get("pretrained", set()) & of.get("random", set())) > 1}
    return {name: facts for name, facts in found.items() if facts["pair"] in several}
