"""The settings of runs that train an encoder, whatever their framework."""

import measures

# Settings of `finetuning.training` that most studies leave alone, and what has no effect, beside null. A run's settings
# have them only where they have one.
OPTIONAL = {"class_weights": None, "label_smoothing": 0, "patience": None, "accumulation": 1}


def in_effect(training):
    """Return settings of training without those of `OPTIONAL` that have no effect."""
    return {key: value for key, value in training.items() if key not in OPTIONAL or value not in (None, OPTIONAL[key])}


def leave_out(finetuning):
    """Take the settings of `OPTIONAL` that have no effect out of a study, in place: it is as if nobody knew them.

    Args:
        finetuning: config section `finetuning`, checked, its grids written out.
    """
    finetuning["training"] = in_effect(finetuning["training"])
    for arm in finetuning["arms"].values():
        if arm.get("training"):
            kept = in_effect(arm["training"])
            # An arm may also undo what the study sets.
            undone = {key: None for key in arm["training"] if key not in kept and key in finetuning["training"]}
            arm["training"] = kept | undone


def matched_settings(finetuning):
    """Return the settings that all frameworks share when they train an encoder.

    They are `finetuning.training`, and a classification head drawn as PyTorch's `nn.Linear` (fairseq's way) without
    separate dropout.

    Args:
        finetuning: config section `finetuning`; `measure` is the study's leading one.

    Returns:
        dict: `finetuning.training` with `classifier_dropout` (share), `head_initialisation` ("linear" or "bert"), and
        `init_seed` and `data_seed` as `finetuning` has them; `measure`, which chooses the epoch or leads the
        study where no history has it anyway (a list of two); `select_by` where `patience` counts by it; without
        `save_every`, which no result depends on.
    """
    settings = {key: value for key, value in in_effect(finetuning["training"]).items() if key != "save_every"}
    settings |= {"classifier_dropout": 0.0, "head_initialisation": "linear"}
    settings |= {key: finetuning[key] for key in ("init_seed", "data_seed")}
    if more := measures.unrecorded(finetuning.get("select_by"), finetuning.get("measure")):
        settings["measure"] = more[0] if len(more) == 1 else more
    if "patience" in settings:
        settings["select_by"] = finetuning.get("select_by") or finetuning.get("measure") or "accuracy"
    return settings
