"""Arms that train LoRA's updates beside a frozen encoder."""

import copy

import torch

from common.errors import StudyError


def linear_names(model, wanted, head, arm):
    """Return the names of the encoder's linear modules that LoRA is to adapt.

    Args:
        model: the classifier.
        wanted: "all-linear", or a list of ends of names.
        head: prefix of the head's names, or prefixes of everything that every arm trains.
        arm: its name in messages.

    Raises:
        StudyError: no linear module of the encoder ends that way.
    """
    names = [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and not f"{name}.".startswith(head)
    ]
    if wanted == "all-linear":
        return names
    for end in wanted:
        if not any(name == end or name.endswith(f".{end}") for name in names):
            ends = sorted({name.rsplit(".", 1)[-1] for name in names})
            raise StudyError(
                f"{arm}: lora.target_modules names {end}; the linear modules of its encoder end in {', '.join(ends)}"
            )
    return [name for name in names if any(name == end or name.endswith(f".{end}") for end in wanted)]


def add_lora(model, lora, head, arm):
    """Add LoRA to the encoder's linear modules in place: they are frozen; the updates and the head are trained.

    Args:
        model: the classifier, its weights proved; the updates' first values follow from PyTorch's random state.
        lora: `r`, `lora_alpha`; optional `lora_dropout` (0), `target_modules` ("all-linear").
        head, arm: see `linear_names`.

    Returns:
        function: returns a copy of the model to save, with the updates merged into its weights.

    Raises:
        StudyError: see `linear_names`.
    """
    from peft import LoraConfig
    from peft.tuners.lora import LoraModel

    names = linear_names(model, lora.get("target_modules", "all-linear"), head, arm)
    config = LoraConfig(
        r=lora["r"],
        lora_alpha=lora["lora_alpha"],
        lora_dropout=lora.get("lora_dropout", 0.0),
        target_modules=names,
        bias="none",
    )
    tuner = LoraModel(model, config, "default")
    for name, parameter in model.named_parameters():
        if name.startswith(head):
            parameter.requires_grad_(True)
    return lambda: copy.deepcopy(tuner).merge_and_unload()
