"""Settings of `finetuning` that contradict each other: its arms, their models, names and colours."""

import os

from common.arms import CHECKPOINT, KNOWN
from frameworks import NONE
from study.hub import WEIGHTS, lacking
from study.near_names import near_or

# The least contrast of an arm's colour with white, as a ratio of luminances; Okabe and Ito's orange has 2.25, their
# yellow 1.3.
LEAST_CONTRAST = 2
# These names are beside the arms' folders in results/<study>/finetuning.
FOLDERS = ("data-bin", "pieces", "token-ids", "logits", "models", "features")


def check_subsets(config):
    """Yield the arms that learn from more reviews than there are, as far as the settings show."""
    n_train = config["data"]["n_train"]
    for name, arm in config["finetuning"]["arms"].items():
        wanted = arm.get("n_train")
        if wanted is not None and n_train is not None and wanted > n_train:
            key = f"finetuning.arms.{name}.n_train"
            yield f"{key} is {wanted}, more than data.n_train = {n_train}; lower it or raise that"


def check_models(finetuning):
    """Yield the models without a place or with two, and the arms that start from an unknown model."""
    models = finetuning["models"]
    for name, model in models.items():
        place = f"finetuning.models.{name}"
        if name == CHECKPOINT:
            yield f"{place}: that name is the section checkpoint's; choose another"
        if bool(model.get("folder")) == bool(model.get("hub")):
            yield f"{place} must have either folder (a path) or hub (repo, revision, files)"
        elif model.get("folder") and not os.path.isdir(model["folder"]):
            yield f"{place}.folder: there is no folder {model['folder']}; name one that `save_pretrained` wrote"
        elif missing := lacking(model["hub"]["files"], WEIGHTS) if model.get("hub") else "":
            yield f"{place}.hub.files lacks {missing}; add it"
    for name, arm in finetuning["arms"].items():
        if arm["model"] not in (CHECKPOINT, NONE) and arm["model"] not in models:
            known = [CHECKPOINT, *models]
            otherwise = f"Give it under finetuning.models; so far there are {', '.join(known)}"
            hint = near_or(arm["model"], known, otherwise)
            yield f"finetuning.arms.{name}.model is {arm['model']}, no model of the study. {hint}"


def check_finetuning_arms(arms, colours):
    """Yield misleading names of arms, and colours of unknown arms."""
    for name, arm in arms.items():
        match = arm.get("match")
        if match == name or (match is not None and match not in arms):
            others = [other for other in arms if other != name]
            hint = near_or(match, others, "Name another arm of the study, or leave match out")
            yield f"finetuning.arms.{name}.match is {match}, no other arm of the study. {hint}"
        elif name == min(circle := _circle(arms, name), default=None):
            yield (
                f"finetuning.arms: match goes in a circle, {' -> '.join([*circle, name])}; take match out of one arm"
            )
        if arm.get("lora") is not None and arm.get("freeze") is not None:
            yield f"finetuning.arms.{name}: lora freezes the encoder already; take freeze out"
        if name in FOLDERS:
            yield f"finetuning.arms.{name}: results/<study>/finetuning has a folder of that name; choose another"
        known = f"{arm['framework']}-{arm['init']}"
        if name in KNOWN and name != known:
            yield (
                f"finetuning.arms.{name}: by its framework and init it is {known}; call it so, or give it a name of "
                "your own"
            )
    for name in colours:
        if name not in arms and name not in KNOWN:
            hint = near_or(name, arms, f"The arms are {', '.join(arms)}")
            yield f"report.colours.{name}: the study has no such arm. {hint}"


def _circle(arms, name):
    """Return the arms that `match` leads through from an arm back to itself; empty where it does not."""
    way, other = [name], arms[name].get("match")
    while other in arms and other not in way:
        way.append(other)
        other = arms[other].get("match")
    return way if other == name else []


def check_case(place, names):
    """Yield names that some disks do not distinguish: they become folders."""
    seen = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            yield f"{place}.{other} and {place}.{name} differ only in case, which some disks ignore; rename one"


def check_colours(names, colours):
    """Yield colours that are invisible on white, or that two arms of the study share."""
    arms = {}
    for arm, colour in colours.items():
        ratio = 1.05 / (_luminance(colour) + 0.05)
        if ratio < LEAST_CONTRAST:
            yield (
                f"report.colours.{arm} is {colour!r}, whose contrast with the figures' white is {ratio:.1f} to 1; "
                f"choose a darker colour (at least {LEAST_CONTRAST} to 1)"
            )
        other = arms.setdefault(colour.upper(), arm) if arm in names else arm
        if other != arm:
            yield f"report.colours.{other} and report.colours.{arm} are both {colour!r}; give each arm its own colour"


def _luminance(colour):
    """Return the relative luminance of `#RRGGBB`, 0 (black) to 1 (white).

    Source: Web Content Accessibility Guidelines 2.2, definition of relative luminance.
    """
    shares = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
