"""A LoRA run: settings checked, the loop that can be killed and started again, what it records."""

import itertools
import json
import math
import os
import time

import torch

import qa.causal_lm
import qa.lora
import qa.question_pairs
import training.batching
from common.errors import StudyError
from common.files import atomic_path, grant, read_json, read_lines, sha256, visible
from common.machine import package_versions
from qa.causal_lm import (
    PRECISIONS,
    as_tensors,
    check_length,
    count_parameters,
    encode_pairs,
    first_tokens,
    load_base,
    load_tokenizer,
    score,
    token_nats,
)
from qa.lora import check_lora, describe, empty_model, lora_arguments, resolve_targets
from qa.question_pairs import BASE_FILES, IGNORED, check_base
from training.batching import epoch_batches
from training.divergence import refuse_divergence
from training.precision import choose_device
from training.process import flush_denormals
from training.state import code_hash, load_state, save_state, state_folder

COLUMNS = ["update", "split", "loss", "objective", "n_tokens", "lr"]
OPTIMIZERS = ("auto", "adamw", "paged_adamw_8bit")


# ---------------------------------------------------------------- schedule, order, optimizer


def cosine_rate(step, updates, warmup_ratio, peak):
    """Return the learning rate of one update.

    Args:
        step: updates done before, from 0.
        updates: all updates.
        warmup_ratio: share of them to rise in, rounded up.
        peak: highest rate.

    Returns:
        float: peak * step / warmup while step < warmup, then peak * (1 + cos(pi * progress)) / 2.

    Source: Transformers' `get_cosine_schedule_with_warmup`, whose first update has rate 0 where there is a warm-up.
    """
    warmup = math.ceil(updates * warmup_ratio)
    if step < warmup:
        return peak * step / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, updates - warmup)))


def microbatches(n_pairs, batch_size, seed):
    """Yield batches of pair numbers without end: every epoch in an order of its own.

    Args:
        n_pairs: pairs to train on.
        batch_size: pairs a micro-batch; an epoch's last may be short.
        seed: of the run; a resumed run draws the same.
    """
    for epoch in itertools.count(1):
        yield from epoch_batches([1] * n_pairs, batch_size, seed, epoch, "random")


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
    modules = (qa.causal_lm, qa.lora, qa.question_pairs, training.batching)
    functions = (flush_denormals, cosine_rate, microbatches, make_optimizer, take_up, update, tune, adapted_model)
    return {
        "settings": settings,
        "files": [sha256(path) for path in files],
        "versions": versions(),
        "code": code_hash(*modules, *functions),
    }


def versions():
    """Return the versions of what the numbers come from."""
    return package_versions(("torch", "numpy", "transformers", "tokenizers", "peft", "bitsandbytes"))


def run_state(model, optimizer):
    """Return what the next update depends on: weights, optimizer, random state."""
    return {
        "weights": {name: parameter.detach() for name, parameter in trainable(model).items()},
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def take_up(state, model, optimizer):
    """Bring weights, optimizer and random state back to where `run_state` found them."""
    with torch.no_grad():
        for name, parameter in trainable(model).items():
            parameter.copy_(state["weights"][name])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    if state["random_cuda"]:
        torch.cuda.set_rng_state_all(state["random_cuda"])
    print(f"resumed after update {state['step']}")


def update(model, optimizer, batches, clip_norm, precision):
    """Make one update, whose loss is the mean over all learnt tokens of its micro-batches.

    So a long answer weighs by its tokens, not by its micro-batch.

    Args:
        model: a peft model.
        optimizer: of its trainable parameters.
        batches: micro-batches from `as_tensors`.
        clip_norm: bound of the gradient's norm; 0: none.
        precision: "float32" or "bfloat16" (autocast).

    Returns:
        dict: loss (nats per token of the answers), objective (nats per learnt token), n_tokens (of the answers).
    """
    n_learnt = sum(int((batch["labels"][:, 1:] != IGNORED).sum()) for batch in batches)
    optimizer.zero_grad()
    objective = answer_sum = 0.0
    n_answer = 0
    for batch in batches:
        with torch.autocast(batch["labels"].device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            nats, learnt, answer = token_nats(model, batch)
        loss = nats[learnt].sum() / n_learnt
        loss.backward()
        objective += loss.item()
        answer_sum += nats.detach()[answer].double().sum().item()
        n_answer += int(answer.sum())
    if clip_norm:
        torch.nn.utils.clip_grad_norm_(list(trainable(model).values()), clip_norm)
    optimizer.step()
    return {"loss": answer_sum / n_answer, "objective": objective, "n_tokens": n_answer}


def tune(model, pairs, protocol, seed, precision, device, pad, folder, save_every, keep_last=False):
    """Train in place, or go on, and return the loss curve.

    Args:
        model: a peft model; only its trainable parameters change.
        pairs: dict of lists from `encode_pairs`: train, and heldout (to measure only).
        protocol: dict of `qa.training` of the config, without `save_every`.
        seed: of the order of pairs and of LoRA's dropout.
        precision: "float32" or "bfloat16" (autocast).
        device: torch.device.
        pad: id for padding.
        folder: the run's state folder.
        save_every: updates between two saved states; 0: none.
        keep_last: also save the last update's state, for a job that has other runs to make.

    Returns:
        tuple: rows (`COLUMNS`: held-out row k is measured after update k, train row k before it); dict for the record.
    """
    updates, accumulation = protocol["updates"], protocol["accumulation"]
    optimizer, name = make_optimizer(protocol["optimizer"], list(trainable(model).values()), protocol, device)
    torch.manual_seed(seed)

    def measure(step):
        costs = score(model, pairs["heldout"], pad, device)
        print(f"update {step}: held-out {costs['loss']:.4f} nats an answer token")
        refuse_divergence("the held-out loss", costs["loss"], step, optimizer.param_groups[0]["lr"], "qa.training")
        told = {key: costs[key] for key in ("loss", "objective", "n_tokens")}
        return {"update": step, "split": "heldout", **told, "lr": None}

    if state := load_state(folder):
        take_up(state, model, optimizer)
    start = (state["step"], json.loads(state["rows"]), state["seconds"]) if state else (0, [measure(0)], 0.0)
    done, rows, seconds = start
    batches = microbatches(len(pairs["train"]), protocol["batch_size"], seed)
    batches = itertools.islice(batches, done * accumulation, None)
    model.train()
    for step in range(done + 1, updates + 1):
        started = time.monotonic()
        rate = cosine_rate(step - 1, updates, protocol["warmup_ratio"], protocol["lr"])
        for group in optimizer.param_groups:
            group["lr"] = rate
        taken = [as_tensors([pairs["train"][i] for i in next(batches)], pad, device) for _ in range(accumulation)]
        costs = update(model, optimizer, taken, protocol["clip_norm"], precision)
        refuse_divergence("the training loss", costs["objective"], step, rate, "qa.training")
        seconds += time.monotonic() - started
        rows.append({"update": step, "split": "train", **costs, "lr": rate})
        if step % protocol["evaluate_every"] == 0 or step == updates:
            rows.append(measure(step))
        if keep_last if step == updates else save_every and step % save_every == 0:
            progress = {"step": step, "rows": json.dumps(rows), "seconds": seconds}
            save_state(folder, progress | run_state(model, optimizer))
    return rows, {
        "optimizer": name,
        "schedule": "cosine to 0 after a linear warm-up",
        "warmup_updates": math.ceil(updates * protocol["warmup_ratio"]),
        "loss_mean": "over the learnt tokens of an update",
        "resumed_after": done,
        "update_seconds": seconds,
        "training_bytes": training_bytes(model, optimizer),
    }


def training_bytes(model, optimizer):
    """Return the bytes that training takes beside the frozen model and its activations.

    Args:
        model: a peft model.
        optimizer: of its trainable parameters, after an update.

    Returns:
        int: the trainable weights, as much again for their gradients, and the optimizer's averages.
    """
    weights = sum(p.numel() * p.element_size() for p in trainable(model).values())
    states = (value for state in optimizer.state.values() for value in state.values())
    averages = sum(v.numel() * v.element_size() for v in states if isinstance(v, torch.Tensor) and v.dim())
    return 2 * weights + averages


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


def write_adapter(folder, model):
    """Write a peft model's adapter, whole or not at all; its card comes with `export_adapter`."""
    with atomic_path(folder) as temporary:
        # No look at the hub for resized embeddings: nothing here resizes them.
        model.save_pretrained(temporary, safe_serialization=True, save_embedding_layers=False)
        # peft's card says "[More Information Needed]" of everything.
        os.remove(os.path.join(temporary, "README.md"))
        grant(os.path.join(temporary, "adapter_model.safetensors"))


def train_run(train, heldout, base, seed, lora, protocol, template, states, save_every, keep_last=False):
    """Train one run, or go on with it.

    Args:
        train: JSON Lines of pairs to train on.
        heldout: JSON Lines of pairs to measure.
        base: the base model's folder.
        seed: of A's first values, dropout and order.
        lora: the run's LoRA settings.
        protocol: the run's training.
        template: `qa.prompt` of the config.
        states: folder that reruns do not wipe, for the states of this run while it is unfinished.
        save_every, keep_last: see `tune`.

    Returns:
        tuple: peft model, as training left it; rows of `COLUMNS`; dict for run.json.

    Raises:
        StudyError: settings that do not fit the model, or a base that cannot be loaded.
    """
    flush_denormals()
    # Settings against the model's shapes, before weights are read.
    check_base(base)
    shell = empty_model(read_json(os.path.join(base, "config.json")))
    shapes = describe(shell)
    lora = resolve_targets(lora, shapes, shell.config.model_type)
    check_lora(lora, shapes)
    device = torch.device(choose_device())
    precision = choose_precision(protocol["precision"], device)
    threads = torch.get_num_threads()
    settings = {"rank": lora["r"], "seed": seed, "precision": precision, "device": device.type, "threads": threads}
    settings["prompt"] = template
    key = state_key({**settings, "lora": lora, "training": protocol}, [train, heldout, *model_files(base)])
    folder = state_folder(states, key)

    tokenizer, end_of_text = load_tokenizer(base)
    pairs = {
        split: encode_pairs(map(json.loads, read_lines(path)), tokenizer, end_of_text, template, protocol)
        for split, path in (("train", train), ("heldout", heldout))
    }
    lengths = [len(pair["input_ids"]) for side in pairs.values() for pair in side]
    check_length(max(lengths), shell.config, f"qa.training.max_tokens: {protocol['max_tokens']}")
    model = adapted_model(base, seed, lora, protocol, precision, device)
    n_trainable, n_total = count_parameters(model)
    print(f"{n_trainable} trainable of {n_total} parameters ({n_trainable / n_total:.4%}), on {device}, {precision}")
    rows, made = tune(model, pairs, protocol, seed, precision, device, end_of_text, folder, save_every, keep_last)
    record = settings | made | {"n_train": len(pairs["train"]), "n_heldout": len(pairs["heldout"])}
    record |= {"n_cut": lengths.count(protocol["max_tokens"]), "quantization": protocol["quantization"]}
    record |= {"trainable_params": n_trainable, "total_params": n_total}
    record |= {"end_of_text": end_of_text, "first_tokens": first_tokens(tokenizer)}
    return model, rows, record | {"lora": lora_arguments(lora), "protocol": protocol, "versions": versions()}
