"""Learning curves: arms that differ in how much they learn from, and in nothing else."""

from common.arms import CHECKPOINT
from finetuning.recipes import RECIPE, describe

# What grows, by the key of an arm that says how much.
REVIEWS, UPDATES = "labelled reviews", "pretraining updates"
CURVES = {"n_train": REVIEWS, "at_update": UPDATES}


def learning_points(finetuning):
    """Return the points of a study's learning curves.

    Of labelled reviews a curve belongs to each start. Of pretraining updates a start from random weights is 0 updates.

    Args:
        finetuning: config section `finetuning`.

    Returns:
        list[dict]: `curve`, `start` (whose curve, in words), `arm`, `init`, `amount` (None: all training reviews, or
        the whole checkpoint); of two arms at one place the first. Empty: no curve has two places.
    """
    found = []
    for key, curve in CURVES.items():
        groups = {}
        for name, arm in finetuning["arms"].items():
            if key == "at_update" and arm["model"] != CHECKPOINT:
                continue
            facts = describe(finetuning, name, without=(key,))
            whose = facts["pair" if key == "at_update" else "start"]
            place = groups.setdefault((whose, *(facts[part] for part in RECIPE)), {})
            place.setdefault(_amount(arm, key), (name, arm))
        kept = {
            group: of
            for group, of in groups.items()
            if len(of) > 1 and any(arm.get(key) is not None for _, arm in of.values())
        }
        names = [whose for whose, *_ in kept]
        for (whose, lr, epochs), of in kept.items():
            recipe = f", learning rate {lr:g}, {epochs} epochs" if names.count(whose) > 1 else ""
            for amount, (name, arm) in of.items():
                facts = {"curve": curve, "start": whose + recipe, "arm": name, "init": arm["init"], "amount": amount}
                found.append(facts)
    return found


def _amount(arm, key):
    """Return how much an arm learns from, by one of `CURVES`; None: all that there is."""
    return 0 if key == "at_update" and arm["init"] == "random" else arm.get(key)
