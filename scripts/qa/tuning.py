"""A LoRA run: settings checked, trained by the Trainer or resumed, and what it records."""

import functools
import json
import os

import torch

import qa.answer_trainer
import qa.causal_lm
import qa.lora
import qa.question_pairs
import training.batching
import training.resumable_trainer
from common.errors import StudyError
from common.files import atomic_path, grant, read_json, read_lines, sha256, visible
from common.machine import package_versions
from qa.answer_trainer import make_trainer
from qa.causal_lm import (
    PRECISIONS,
    check_length,
    count_parameters,
    encode_pairs,
    first_tokens,
    load_base,
    load_tokenizer,
)
from qa.lora import check_lora, describe, empty_model, lora_arguments, resolve_targets
from qa.question_pairs import BASE_FILES, check_base
from training.precision import choose_device
from training.process import flush_denormals
from training.state import code_hash, load_state, save_state, state_folder

COLUMNS = ["update", "split", "loss", "objective", "n_tokens", "lr"]
OPTIMIZERS = ("auto", "adamw", "paged_adamw_8bit")


# ---------------------------------------------------------------- optimizer, precision


def make_optimizer(name, parameters, training, device):
    """Return the optimizer and its name for the record.

    Args:
        name: "adamw", "paged_adamw_8bit" (bitsandbytes, GPU) or "auto": paged on a GPU, else AdamW. Both are
            AdamW; the paged one keeps its two averages in 8 bits and lets them leave the GPU's memory.
        parameters: list of trainable parameters.
        training: dict: lr, betas, eps, weight_decay.
        device: torch.device.

    Returns:
        tuple: torch.optim.Optimizer; str.

    Raises:
        StudyError: unknown name, or the paged one on a CPU.
    """
    if name not in OPTIMIZERS:
        raise StudyError(f"qa.training.optimizer: {name!r} is not one of {', '.join(OPTIMIZERS)}")
    settings = {
        "lr": training["lr"],
        "betas": tuple(training["betas"]),
        "eps": training["eps"],
        "weight_decay": training["weight_decay"],
    }
    if name == "adamw" or (name == "auto" and device.type != "cuda"):
        return torch.optim.AdamW(parameters, fused=True, **settings), "torch.optim.AdamW(fused=True)"
    if device.type != "cuda":
        raise StudyError("qa.training.optimizer: paged_adamw_8bit needs a GPU; auto takes AdamW on a CPU")
    from bitsandbytes.optim import PagedAdamW8bit

    return PagedAdamW8bit(parameters, **settings), "bitsandbytes.optim.PagedAdamW8bit"


def choose_precision(precision, device):
    """Return "float32" or "bfloat16"; "auto" is bfloat16 on a GPU and float32, which resumes bit by bit, on a CPU."""
    if precision == "auto":
        return "bfloat16" if device.type == "cuda" else "float32"
    if precision not in PRECISIONS:
        raise StudyError(f"qa.training.precision: {precision!r} is not one of auto, {', '.join(PRECISIONS)}")
    return precision


# ---------------------------------------------------------------- training


def trainable(model):
    """Return the trainable parameters by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def state_key(settings, files):
    """Return everything that a run's result follows from.

    Args:
        settings: plain values.
        files: paths whose content counts.
    """
    modules = (qa.answer_trainer, qa.causal_lm, qa.lora, qa.question_pairs)
    modules += (training.batching, training.resumable_trainer)
    functions = (flush_denormals, make_optimizer, tune, adapted_model, whole_model)
    return {
        "settings": settings,
        "files": [sha256(path) for path in files],
        "versions": versions(),
        "code": code_hash(*modules, *functions),
    }


def versions():
    """Return the versions of what the numbers come from."""
    return package_versions(("torch", "numpy", "transformers", "accelerate", "tokenizers", "peft", "bitsandbytes"))


def tune(model, pairs, protocol, seed, precision, device, pad, folder, save_every, saved):
    """Train in place, or go on, and return the loss curve.

    Args:
        model: a peft model; only its trainable parameters change.
        pairs: dict of lists from `encode_pairs`: train, and heldout (to measure only).
        protocol: dict of `qa.training` of the config, without `save_every`.
        seed: seed of the order of pairs and of LoRA's dropout.
        precision: "float32" or "bfloat16" (autocast).
        device: torch.device.
        pad: id for padding.
        folder: the run's state folder.
        save_every: updates between two saved states; 0: none.
        saved: such a state, to resume from, or None.

    Returns:
        tuple: rows (`COLUMNS`: held-out row k is measured after update k, train row k before it); dict for the record.
    """
    optimizer, name = make_optimizer(protocol["optimizer"], list(trainable(model).values()), protocol, device)
    done = saved["updates"] if saved else 0
    if saved:
        print(f"resumed after update {done}")
    about = (model, pairs, protocol, seed, precision, device, pad, optimizer, os.path.join(folder, "trainer"))
    trainer = make_trainer(*about, functools.partial(save_state, folder), save_every, saved)
    trainer.train()
    return trainer.rows, {
        "optimizer": name,
        "schedule": "cosine to 0 after a linear warm-up",
        "warmup_updates": trainer.args.get_warmup_steps(protocol["updates"]),
        "loss_mean": "over the learnt tokens of an update",
        "resumed_after": done,
        "update_seconds": trainer.pace.seconds,
        "training_bytes": training_bytes(model, optimizer),
        "saved_bytes": saved_bytes(model),
    }


def saved_bytes(model):
    """Return the bytes of the trained weights: what a run has to keep beside the base."""
    return sum(p.numel() * p.element_size() for p in trainable(model).values())


def training_bytes(model, optimizer):
    """Return the bytes that training takes beside frozen weights and activations.

    Args:
        model: a peft model, or a whole one.
        optimizer: optimizer of its trainable parameters, after an update.

    Returns:
        int: the trainable weights, as much again for their gradients, and the optimizer's averages.
    """
    states = (value for state in optimizer.state.values() for value in state.values())
    averages = sum(v.numel() * v.element_size() for v in states if isinstance(v, torch.Tensor) and v.dim())
    return 2 * saved_bytes(model) + averages


# ---------------------------------------------------------------- one run


def model_files(folder):
    """Return the paths of a base model's files that its numbers follow from."""
    return [os.path.join(folder, name) for name in visible(folder) if name.endswith(BASE_FILES)]


def adapted_model(base, seed, lora, protocol, precision, device):
    """Return the base model with a new adapter, ready for training: a peft model."""
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    model = load_base(base, protocol["quantization"], protocol["double_quantization"], precision, device)
    if protocol["quantization"] != "none":
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    torch.manual_seed(seed)
    return get_peft_model(model, LoraConfig(**lora_arguments(lora)))


def whole_model(base, seed, protocol, precision, device):
    """Return the base model with all its weights to be trained, for a run without LoRA.

    Raises:
        StudyError: 4-bit weights are asked for, which nothing trains.
    """
    if protocol["quantization"] != "none":
        raise StudyError(
            "a run with `tune: all` trains the base's weights, and 4-bit ones cannot be trained; leave it out"
        )
    model = load_base(base, "none", False, precision, device)
    torch.manual_seed(seed)
    return model.requires_grad_(True)


def write_adapter(folder, model):
    """Write a peft model's adapter, whole or not at all; its card comes with `export_adapter`."""
    with atomic_path(folder) as temporary:
        # The hub is not searched for resized embeddings: nothing here resizes them.
        model.save_pretrained(temporary, safe_serialization=True, save_embedding_layers=False)
        # peft's card has "[More Information Needed]" everywhere.
        os.remove(os.path.join(temporary, "README.md"))
        grant(os.path.join(temporary, "adapter_model.safetensors"))


def train_run(train, heldout, base, seed, lora, protocol, template, states, save_every, keep_result=False):
    """Train one run, or go on with it.

    Args:
        train: JSON Lines of pairs to train on.
        heldout: JSON Lines of pairs to measure.
        base: the base model's folder.
        seed: seed of A's first values, dropout and order.
        lora: the run's LoRA settings; None: all weights are trained.
        protocol: the run's training.
        template: `qa.prompt` of the config.
        states: folder that reruns do not wipe, for the states of this run while it is unfinished.
        save_every: see `tune`.
        keep_result: keep rows and record there once training ended, for a job that has other runs to train.

    Returns:
        tuple: the model as training left it, or None where the result was kept; rows of `COLUMNS`; dict for run.json.

    Raises:
        StudyError: settings that do not fit the model, or a base that cannot be loaded.
    """
    flush_denormals()
    # Settings are checked against the model's shapes before weights are read.
    check_base(base)
    shell = empty_model(read_json(os.path.join(base, "config.json")))
    if lora is not None:
        shapes = describe(shell)
        lora = resolve_targets(lora, shapes, shell.config.model_type)
        check_lora(lora, shapes)
    device = torch.device(choose_device())
    precision = choose_precision(protocol["precision"], device)
    settings = {"rank": lora["r"] if lora else None, "seed": seed, "prompt": template}
    settings |= {"precision": precision, "device": device.type, "threads": torch.get_num_threads()}
    key = state_key({**settings, "lora": lora, "training": protocol}, [train, heldout, *model_files(base)])
    folder = state_folder(states, key)
    saved = load_state(folder)
    if saved and "result" in saved:
        rows, record = json.loads(saved["result"])
        return None, rows, record | {"resumed_after": protocol["updates"]}

    tokenizer, end_of_text = load_tokenizer(base)
    pairs = {
        split: encode_pairs(map(json.loads, read_lines(path)), tokenizer, end_of_text, template, protocol)
        for split, path in (("train", train), ("heldout", heldout))
    }
    lengths = [len(pair["input_ids"]) for side in pairs.values() for pair in side]
    check_length(max(lengths), shell.config, f"qa.training.max_tokens: {protocol['max_tokens']}")
    about = (protocol, precision, device)
    model = adapted_model(base, seed, lora, *about) if lora else whole_model(base, seed, *about)
    n_trainable, n_total = count_parameters(model)
    print(f"{n_trainable} trainable of {n_total} parameters ({n_trainable / n_total:.4%}), on {device}, {precision}")
    rows, made = tune(model, pairs, protocol, seed, precision, device, end_of_text, folder, save_every, saved)
    record = settings | made | {"n_train": len(pairs["train"]), "n_heldout": len(pairs["heldout"])}
    record |= {"n_cut": lengths.count(protocol["max_tokens"]), "quantization": protocol["quantization"]}
    record |= {"trainable_params": n_trainable, "total_params": n_total, "end_of_text": end_of_text}
    record |= {"lora": lora_arguments(lora) if lora else None, "protocol": protocol, "versions": versions()}
    record |= {"first_tokens": first_tokens(tokenizer)}
    if keep_result:
        save_state(folder, {"result": json.dumps([rows, record])})
    return model, rows, record
