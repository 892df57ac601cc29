"""The settings of runs that train an encoder, whatever their framework."""

import measures


def matched_settings(finetuning):
    """Return the settings that all frameworks share when they train an encoder.

    They are `finetuning.training`, and a classification head drawn as PyTorch's `nn.Linear` (fairseq's way) without
    separate dropout.

    Args:
        finetuning: config section `finetuning`; `measure` is the study's leading one.

    Returns:
        dict: `finetuning.training` with `classifier_dropout` (share), `head_initialisation` ("linear" or "bert"), and
        `init_seed` and `data_seed` as `finetuning` has them; `measure`, which chooses the epoch or leads the
        study where no history has it anyway (a list of two); without `save_every`, which no result depends on.
    """
    settings = {key: value for key, value in finetuning["training"].items() if key != "save_every"}
    settings |= {"classifier_dropout": 0.0, "head_initialisation": "linear"}
    settings |= {key: finetuning[key] for key in ("init_seed", "data_seed")}
    if more := measures.unrecorded(finetuning.get("select_by"), finetuning.get("measure")):
        settings["measure"] = more[0] if len(more) == 1 else more
    return settings
