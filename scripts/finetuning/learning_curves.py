"""Learning curves: arms that differ only in how much they learn from."""

from common.arms import CHECKPOINT
from finetuning.recipes import RECIPE, describe

# Each key of an arm that says how much it learns from, and the axis that it belongs to.
REVIEWS, UPDATES = "labelled reviews", "pretraining updates"
CURVES = {"n_train": REVIEWS, "at_update": UPDATES}


def learning_points(finetuning):
    """Return the points of a study's learning curves.

    Each start has a curve of labelled reviews. On a curve of pretraining updates, random weights count as 0 updates.

    Args:
        finetuning: config section `finetuning`.

    Returns:
        list[dict]: `curve`, `start` (whose curve, in words), `arm`, `init`, `amount` (None: all training reviews, or
        the whole checkpoint); of two arms at one place only the first is kept. Empty: no curve has two places.
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
            group: places
            for group, places in groups.items()
            if len(places) > 1 and any(arm.get(key) is not None for _, arm in places.values())
        }
        names = [whose for whose, *_ in kept]
        for (whose, lr, epochs), places in kept.items():
            recipe = f", learning rate {lr:g}, {epochs} epochs" if names.count(whose) > 1 else ""
            for amount, (name, arm) in places.items():
                facts = {"curve": curve, "start": whose + recipe, "arm": name, "init": arm["init"], "amount": amount}
                found.append(facts)
    return found


def _amount(arm, key):
    """Return how much an arm learns from, by one of `CURVES`, or None where it is everything."""
    return 0 if key == "at_update" and arm["init"] == "random" else arm.get(key)
