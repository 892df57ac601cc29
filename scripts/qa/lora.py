"""LoRA's parameters, from a model's configuration alone: no weights, no peft."""

import re

from common.errors import StudyError

# The course tunes this model; every other field of its configuration has BloomConfig's default.
BLOOM_560M = {"model_type": "bloom", "vocab_size": 250880, "hidden_size": 1024, "n_layer": 24, "n_head": 16}
FIELDS = (
    "r",
    "lora_alpha",
    "target_modules",
    "lora_dropout",
    "bias",
    "task_type",
    "modules_to_save",
    "layers_to_transform",
    "layers_pattern",
    "rank_pattern",
    "alpha_pattern",
)
BIASES = ("none", "all", "lora_only")


def empty_model(config):
    """Return the causal language model of a configuration, without storage for its weights.

    Args:
        config: dict with `model_type` and the model's fields, as in config.json.

    Returns:
        transformers.PreTrainedModel on the `meta` device.

    Raises:
        StudyError: a model of another kind, or one that Transformers does not have.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    refuse_other_kinds(config)
    fields = {key: value for key, value in config.items() if key != "model_type"}
    try:
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(
                AutoConfig.for_model(config["model_type"], **fields), trust_remote_code=False
            )
    except (KeyError, ValueError) as error:
        raise StudyError(f"model_type {config['model_type']!r}: config.json gives no model: {error}") from error


def refuse_other_kinds(config):
    """Refuse a base that is no causal language model, whatever Transformers would make of it.

    From BERT's weights `AutoModelForCausalLM` makes a model that sees what follows, with a head of random numbers.

    Args:
        config: as in config.json.

    Raises:
        StudyError: an encoder, a sequence-to-sequence model, or a kind that Transformers does not have.
    """
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    kind = config.get("model_type")
    remedy = "give qa.base a causal language model, such as a GPT-2, Llama, Qwen2 or BLOOM"
    if config.get("is_encoder_decoder"):
        raise StudyError(f"model_type {kind!r} is a sequence-to-sequence model: {remedy}")
    if kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not config.get("is_decoder"):
        raise StudyError(f"model_type {kind!r} is an encoder, which cannot write an answer: {remedy}")
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise StudyError(f"model_type {kind!r} is no causal language model that Transformers has: {remedy}")


def describe(model):
    """Return what the counts need to know of a model.

    Args:
        model: torch.nn.Module; the weights may be on any device, `meta` among them, but not quantised.

    Returns:
        dict: `linear` {name: (in, out, has_bias)}, `modules` {name: its parameters}, `biases` {name: size} of
        every parameter called bias, `total` (tied weights once), `output`, the name of the output layer.
    """
    linear = {name: facts for name, module in model.named_modules() if (facts := _linear(module))}
    head = model.get_output_embeddings()
    modules = {name: sum(p.numel() for p in module.parameters()) for name, module in model.named_modules() if name}
    biases = {name: p.numel() for name, p in model.named_parameters() if name.split(".")[-1] == "bias"}
    return {
        "linear": linear,
        "modules": modules,
        "biases": biases,
        "total": sum(p.numel() for p in model.parameters()),
        "output": next((name for name, module in model.named_modules() if module is head), None),
    }


def _linear(module):
    """Return a linear module's in, out and whether it has a bias; None for another module."""
    import torch
    from transformers.pytorch_utils import Conv1D

    if isinstance(module, torch.nn.Linear):
        return module.in_features, module.out_features, module.bias is not None
    # GPT-2's linear layers: the weight is (in, out).
    return (*module.weight.shape, True) if isinstance(module, Conv1D) else None


def resolve_targets(lora, model, kind):
    """Return a run's LoRA settings with `auto` replaced: the attention projections that peft has for the model's kind.

    Args:
        lora: settings of a run.
        model: what `describe` returns.
        kind: `model_type` of the model.

    Returns:
        dict: `target_modules` is a list of name ends, a pattern, or all-linear where peft has none for the kind.
    """
    if lora["target_modules"] != "auto":
        return lora
    # These names are listed here because importing peft takes seconds.
    targets = ["query_key_value"] if kind == "bloom" else None
    if targets is None:
        from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING

        targets = TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.get(kind)
    wanted = {**lora, "target_modules": targets}
    return wanted if targets and adapted(wanted, model) else {**lora, "target_modules": "all-linear"}


def lora_arguments(lora):
    """Return the keyword arguments of peft's `LoraConfig` for a run's settings."""
    return {field: lora[field] for field in FIELDS if lora.get(field) is not None}


def check_lora(lora, model):
    """Check one run's LoRA settings against the model, before any weight is loaded.

    Args:
        lora: the run's settings; `target_modules` is resolved.
        model: what `describe` returns.

    Raises:
        StudyError: a setting that cannot work; the message names its key and what would.
    """
    rank = lora["r"]
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1:
        raise StudyError(f"qa.lora.r: the rank is {rank}; it must be an integer of at least 1")
    for pattern, value in (lora.get("rank_pattern") or {}).items():
        if not isinstance(value, int) or value < 1:
            raise StudyError(f"qa.lora.rank_pattern: the rank of {pattern!r} is {value}; it must be at least 1")
    if not lora["lora_alpha"] > 0:
        raise StudyError(f"qa.lora.lora_alpha: {lora['lora_alpha']} must be above 0")
    if not 0 <= lora["lora_dropout"] < 1:
        raise StudyError(f"qa.lora.lora_dropout: {lora['lora_dropout']} must be from 0 up to, not including, 1")
    if lora["bias"] not in BIASES:
        raise StudyError(f"qa.lora.bias: {lora['bias']!r} is not one of {', '.join(BIASES)}")
    if lora["task_type"] != "CAUSAL_LM":
        raise StudyError(f"qa.lora.task_type: {lora['task_type']!r}: this branch tunes causal models, so CAUSAL_LM")
    available = ", ".join(sorted({name.split(".")[-1] for name in model["linear"]}))
    wanted = lora["target_modules"]
    for target in [wanted] if isinstance(wanted, str) else wanted:
        if not any(_targets([target] if wanted is not target else target, name, model) for name in model["linear"]):
            raise StudyError(
                f"qa.lora.target_modules: the model has no linear module {target!r}; its linear modules are {available}"
            )
    for name in lora.get("modules_to_save") or []:
        if not any(_is_saved([name], module) for module in model["modules"]):
            raise StudyError(f"qa.lora.modules_to_save: the model has no module {name!r}")
    if lora.get("layers_pattern") and lora.get("layers_to_transform") is None:
        raise StudyError("qa.lora.layers_pattern has no effect without qa.lora.layers_to_transform")
    if not adapted(lora, model):
        raise StudyError(
            f"qa.lora.layers_to_transform: {lora.get('layers_to_transform')} with layers_pattern "
            f"{lora.get('layers_pattern')} and modules_to_save {lora.get('modules_to_save')} leaves no module to adapt"
        )
    for key in ("rank_pattern", "alpha_pattern"):
        for pattern in lora.get(key) or {}:
            if not any(_pattern([pattern], name) for name in adapted(lora, model)):
                raise StudyError(f"qa.lora.{key}: no adapted module matches {pattern!r}")


def adapted(lora, model):
    """Return the adapted linear modules.

    Args:
        lora: the run's settings; `target_modules` is resolved.
        model: what `describe` returns.

    Returns:
        dict: name -> {in, out, bias, rank, alpha, parameters}; parameters = rank * (in + out), the matrices
        A (rank, in) and B (out, rank).

    Source: Hu et al. 2022, section 4.1; the matching follows peft's `check_target_module_exists`.
    """
    rank_pattern, alpha_pattern = lora.get("rank_pattern") or {}, lora.get("alpha_pattern") or {}
    found = {}
    for name, (n_in, n_out, has_bias) in model["linear"].items():
        if _inside_saved(lora.get("modules_to_save"), name) or not _targets(lora["target_modules"], name, model):
            continue
        if not isinstance(lora["target_modules"], str) and not _in_layers(lora, name):
            continue
        r = rank_pattern.get(_pattern(rank_pattern, name), lora["r"])
        alpha = alpha_pattern.get(_pattern(alpha_pattern, name), lora["lora_alpha"])
        found[name] = {"in": n_in, "out": n_out, "bias": has_bias, "rank": r, "alpha": alpha}
        found[name]["parameters"] = r * (n_in + n_out)
    return found


def counts(lora, model):
    """Return the parameters of one run, by the setting that they are due to.

    Args:
        lora: the run's settings; `target_modules` is resolved.
        model: what `describe` returns.

    Returns:
        dict: `r` (every target module, in every layer, at this rank), `layers_to_transform` (negative: layers left
        out), `rank_pattern` (difference from one rank for all), `modules_to_save` (trainable copies), `bias`
        (biases that become trainable), and their sum `trainable_params`; `total_params` = the model's, the
        matrices A and B, and the copies; `share` = trainable_params / total_params.
    """
    everywhere = {**lora, "layers_to_transform": None, "layers_pattern": None, "rank_pattern": None}
    chosen = {**lora, "rank_pattern": None}
    uniform = _cost(adapted(everywhere, model))
    in_layers = _cost(adapted(chosen, model))
    modules = adapted(lora, model)
    saved = [name for name in model["modules"] if _is_saved(lora.get("modules_to_save"), name)]
    # A saved module inside another saved one is copied with it.
    saved = [name for name in saved if not any(name.startswith(f"{outer}.") for outer in saved)]
    copies = sum(model["modules"][name] for name in saved)
    if lora["bias"] == "all":
        kept = [n for n in model["biases"] if not any(n.startswith(f"{name}.") for name in saved)]
        biases = sum(model["biases"][name] for name in kept)
    elif lora["bias"] == "lora_only":
        biases = sum(module["out"] for module in modules.values() if module["bias"])
    else:
        biases = 0
    matrices = _cost(modules)
    trainable, total = matrices + copies + biases, model["total"] + matrices + copies
    return {
        "r": uniform,
        "layers_to_transform": in_layers - uniform,
        "rank_pattern": matrices - in_layers,
        "modules_to_save": copies,
        "bias": biases,
        "trainable_params": trainable,
        "total_params": total,
        "share": trainable / total,
    }


def _cost(modules):
    """Parameters of the matrices of `adapted` modules."""
    return sum(module["parameters"] for module in modules.values())


def _targets(wanted, name, model):
    """Return whether peft's `target_modules` takes the module: a list of name ends, a pattern for the whole name, or
    "all-linear" (all but the output layer).
    """
    if wanted == "all-linear":
        return name != model["output"]
    if isinstance(wanted, str):
        return re.fullmatch(wanted, name) is not None
    return any(name == target or name.endswith(f".{target}") for target in wanted)


def _is_saved(names, module):
    """Return whether `modules_to_save` covers the module."""
    return any(module == name or module.endswith(f".{name}") for name in names or [])


def _inside_saved(names, module):
    """Return whether `modules_to_save` covers the module or one around it: peft adapts neither."""
    return any(re.match(rf"(^|.*\.){name}($|\..*)", module) for name in names or [])


def _in_layers(lora, name):
    """Return whether `layers_to_transform` covers the module, by the first number after `layers_pattern`."""
    layers, patterns = lora.get("layers_to_transform"), lora.get("layers_pattern")
    if layers is None or layers == []:
        return True
    patterns = [patterns] if isinstance(patterns, str) else patterns
    tried = [rf"(?:^|.*?\.){pattern}\.(\d+)\." for pattern in patterns] if patterns else [r".*?\.[^.]*\.(\d+)\."]
    found = next((match for match in (re.match(pattern, name) for pattern in tried) if match), None)
    return found is not None and int(found[1]) in ([layers] if isinstance(layers, int) else layers)


def _pattern(patterns, name):
    """Return the first of peft's rank or alpha patterns that ends the module's name, or None."""
    return next((pattern for pattern in patterns if re.match(rf"(.*\.)?({pattern})$", name)), None)
