"""Arms that must be trained alike (`match`): differences in the settings are refused before anything is trained."""

from frameworks.matched import OPTIONAL, in_effect

# These keys of an arm, beside its block `training`, make another training where they differ.
OWN = ("freeze", "lora", "n_train")


def as_written(value):
    """Return a setting's value, an empty one as YAML has it."""
    return "null" if value is None else value


def check_matches(finetuning):
    """Yield the arms whose settings differ from those of the arm that they must match.

    What frameworks really had is compared after training, too (rule build_protocol_diff).

    Args:
        finetuning: config section `finetuning`, its grids written out.
    """
    arms = finetuning["arms"]
    if finetuning["protocol"] != "matched" or finetuning["grids"]:
        return
    for name, arm in arms.items():
        other = arms.get(arm.get("match"))
        if other is None or "published" in (arm.get("protocol"), other.get("protocol")):
            continue
        ours, theirs = (in_effect(finetuning["training"] | (one.get("training") or {})) for one in (arm, other))
        ours, theirs = (
            dict.fromkeys(OPTIONAL) | settings | {key: one.get(key) for key in OWN}
            for settings, one in ((ours, arm), (theirs, other))
        )
        for key in ours:
            if key != "save_every" and ours[key] != theirs.get(key):
                place = key if key in OWN else f"training.{key}"
                yield (
                    f"finetuning.arms.{name} must match {arm['match']}, and its {place} is {as_written(ours[key])}, "
                    f"not {as_written(theirs.get(key))}; give both the same, or leave match out"
                )
