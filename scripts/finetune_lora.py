"""Tune the base model on the question/answer pairs with LoRA, in a loop that can be killed and started again."""

import hashlib
import inspect
import itertools
import json
import math
import os
import platform
import shutil
import time

import torch

import common.causal_lm
import common.lora
import common.qa
from common.batching import epoch_batches
from common.causal_lm import (
    PRECISIONS,
    as_tensors,
    choose_device,
    count_parameters,
    encoder,
    load_base,
    load_tokenizer,
    score,
    token_nats,
)
from common.errors import StudyError
from common.files import atomic_path, read_json, read_lines, sha256, write_json, write_tsv
from common.lora import check_lora, describe, empty_model, lora_arguments
from common.machine import job_record, now
from common.qa import check_base, encode_pair
from common.rule import running

COLUMNS = ["step", "split", "loss", "objective", "n_tokens", "lr"]
OPTIMIZERS = ("auto", "adamw", "paged_adamw_8bit")
# Held-out pairs scored at once: they are few.
SCORED_AT_ONCE = 8


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


# ---------------------------------------------------------------- the state of a run


def state_key(settings, files):
    """Return the SHA-256 that names a run's state: of everything that its result follows from.

    Args:
        settings: plain values.
        files: paths whose content counts.

    Returns:
        str: 64 hexadecimal digits.
    """
    code = [inspect.getsource(function) for function in (cosine_rate, microbatches, make_optimizer, train)]
    code += [inspect.getsource(module) for module in (common.causal_lm, common.lora, common.qa)]
    content = {"settings": settings, "files": [sha256(path) for path in files], "code": code, "versions": versions()}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def versions():
    """Return the versions of what the numbers come from."""
    import peft
    import transformers

    found = {"python": platform.python_version(), "torch": torch.__version__}
    return {**found, "transformers": transformers.__version__, "peft": peft.__version__}


def trainable(model):
    """Return the trainable parameters by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def save_state(folder, step, model, optimizer, rows):
    """Write what the next update depends on, atomically: weights, optimizer, random state, rows so far."""
    state = {
        "step": step,
        "weights": {name: parameter.detach().cpu() for name, parameter in trainable(model).items()},
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "rows": json.dumps(rows),
    }
    with atomic_path(os.path.join(folder, "state.pt")) as temporary:
        torch.save(state, temporary)


def load_state(folder, model, optimizer):
    """Restore a saved state, if there is one.

    Returns:
        tuple: updates done, rows so far; (0, None) without a state.
    """
    path = os.path.join(folder, "state.pt")
    if not os.path.exists(path):
        return 0, None
    state = torch.load(path, map_location="cpu", weights_only=True)
    with torch.no_grad():
        for name, parameter in trainable(model).items():
            parameter.copy_(state["weights"][name])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    if state["random_cuda"]:
        torch.cuda.set_rng_state_all(state["random_cuda"])
    print(f"resumed after update {state['step']}")
    return state["step"], json.loads(state["rows"])


# ---------------------------------------------------------------- training


def train(model, examples, heldout, training, seed, precision, device, pad, state):
    """Train in place and return the loss curve.

    Every update takes `accumulation` micro-batches; its loss is the mean over all their learnt tokens, so a long
    answer weighs by its tokens, not by its micro-batch.

    Args:
        model: a peft model; only its trainable parameters change.
        examples: list from `encode_pair` to train on.
        heldout: likewise, to measure only.
        training: dict of `qa.training` of the config.
        seed: of the order of pairs and of LoRA's dropout.
        precision: "float32" or "bfloat16" (autocast).
        device: torch.device.
        pad: id for padding.
        state: folder to keep the state in.

    Returns:
        tuple: list of rows (`COLUMNS`: step = updates done, so held-out row k is measured after update k and
        train row k is the loss that update k was made from); the optimizer's name; updates done before a resume.
    """
    updates, accumulation = training["updates"], training["accumulation"]
    parameters = list(trainable(model).values())
    optimizer, optimizer_name = make_optimizer(training["optimizer"], parameters, training, device)
    torch.manual_seed(seed)
    done, rows = load_state(state, model, optimizer)

    def measure(step):
        costs = score(model, heldout, SCORED_AT_ONCE, pad, device)
        print(f"update {step}: held-out {costs['loss']:.4f} nats an answer token")
        costs = {key: costs[key] for key in ("loss", "objective", "n_tokens")}
        return {"step": step, "split": "heldout", **costs, "lr": None}

    rows = rows or [measure(0)]
    batches = microbatches(len(examples), training["batch_size"], seed)
    batches = itertools.islice(batches, done * accumulation, None)
    model.train()
    for step in range(done, updates):
        rate = cosine_rate(step, updates, training["warmup_ratio"], training["lr"])
        for group in optimizer.param_groups:
            group["lr"] = rate
        # the micro-batches, and the tokens that the mean is over
        taken = [[examples[i] for i in next(batches)] for _ in range(accumulation)]
        taken = [as_tensors(pairs, pad, device) for pairs in taken]
        n_learnt = sum(int((batch["labels"][:, 1:] != common.qa.IGNORED).sum()) for batch in taken)
        # forward and backward
        optimizer.zero_grad()
        objective = answer_sum = 0.0
        n_answer = 0
        for batch in taken:
            with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
                nats, learnt, answer = token_nats(model, batch)
            loss = nats[learnt].sum() / n_learnt
            loss.backward()
            objective += loss.item()
            answer_sum += nats.detach()[answer].double().sum().item()
            n_answer += int(answer.sum())
        # update
        if training["clip_norm"]:
            torch.nn.utils.clip_grad_norm_(parameters, training["clip_norm"])
        optimizer.step()
        # record
        step += 1
        row = {"step": step, "split": "train", "loss": answer_sum / n_answer, "objective": objective}
        rows.append({**row, "n_tokens": n_answer, "lr": rate})
        if step % training["evaluate_every"] == 0 or step == updates:
            rows.append(measure(step))
        if training["save_every"] and step % training["save_every"] == 0 and step < updates:
            save_state(state, step, model, optimizer, rows)
    return rows, optimizer_name, done


def read_examples(path, tokenizer, end_of_text, training):
    """Return the pairs of a JSON Lines file as `encode_pair` makes them."""
    keys = ("loss_on", "learn_end_of_text", "max_tokens")
    settings = {key: training[key] for key in keys}
    pairs = [json.loads(line) for line in read_lines(path)]
    return [encode_pair(encoder(tokenizer), p["question"], p["answer"], end_of_text, **settings) for p in pairs]


def main(train_path, heldout_path, base, loss_path, adapter_path, run_path, state, rank, seed, lora, training):
    """Train one run.

    Args:
        train_path: JSON Lines of pairs to train on.
        heldout_path: JSON Lines of pairs to measure.
        base: the base model's folder.
        loss_path: TSV to write (`COLUMNS`; nats).
        adapter_path: folder to write, peft's format.
        run_path: JSON to write.
        state: folder for the states of unfinished runs; this run's is removed when it is complete.
        rank: LoRA's r.
        seed: of A's first values, dropout and order.
        lora: `qa.lora` of the config.
        training: `qa.training` of the config.

    Raises:
        StudyError: settings that do not fit the model, or a base that cannot be loaded.
    """
    started = time.monotonic()
    record = job_record({"lora": lora, "training": training})
    # ---- settings against the model's shapes, before weights are read
    check_base(base)
    check_lora(lora, rank, describe(empty_model(read_json(os.path.join(base, "config.json")))))
    device = choose_device()
    precision = choose_precision(training["precision"], device)
    base_files = [os.path.join(base, name) for name in sorted(os.listdir(base))]
    base_files = [path for path in base_files if path.endswith((".json", ".safetensors"))]
    settings = {"rank": rank, "seed": seed, "lora": lora, "training": training}
    settings |= {"precision": precision, "device": device.type}
    state = os.path.join(state, state_key(settings, [train_path, heldout_path, *base_files]))

    # ---- data, model, adapter
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    tokenizer, end_of_text = load_tokenizer(base)
    examples = read_examples(train_path, tokenizer, end_of_text, training)
    heldout = read_examples(heldout_path, tokenizer, end_of_text, training)
    quantization = training["quantization"]
    model = load_base(base, quantization, training["double_quantization"], precision, device)
    if quantization != "none":
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    torch.manual_seed(seed)
    model = get_peft_model(model, LoraConfig(**lora_arguments(lora, rank)))
    n_trainable, n_total = count_parameters(model)
    print(f"{n_trainable} trainable of {n_total} parameters ({n_trainable / n_total:.4%}), on {device}, {precision}")

    # ---- training
    rows, optimizer_name, done = train(model, examples, heldout, training, seed, precision, device, end_of_text, state)

    # ---- results
    write_tsv(loss_path, rows, COLUMNS)
    with atomic_path(adapter_path) as temporary:
        # No look at the hub for resized embeddings: nothing here resizes them.
        model.save_pretrained(temporary, safe_serialization=True, save_embedding_layers=False)
        # safetensors writes for the owner alone; others may read results.
        os.chmod(os.path.join(temporary, "adapter_model.safetensors"), 0o644)
    write_json(
        run_path,
        {
            "rank": rank,
            "seed": seed,
            "n_train": len(examples),
            "n_heldout": len(heldout),
            "n_cut": sum(len(example["input_ids"]) == training["max_tokens"] for example in examples + heldout),
            "trainable_params": n_trainable,
            "total_params": n_total,
            "optimizer": optimizer_name,
            "schedule": "cosine to 0 after a linear warm-up",
            "warmup_updates": math.ceil(training["updates"] * training["warmup_ratio"]),
            "loss_mean": "over the learnt tokens of an update",
            "precision": precision,
            "quantization": quantization,
            "device": device.type,
            "threads": torch.get_num_threads(),
            "resumed_after": done,
            "seconds": time.monotonic() - started,
            **record,
            "ended": now(),
            "versions": versions(),
            "lora": lora_arguments(lora, rank),
            "protocol": training,
        },
    )
    shutil.rmtree(state, ignore_errors=True)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.train,  # noqa: F821
            snakemake.input.heldout,  # noqa: F821
            snakemake.input.base,  # noqa: F821
            snakemake.output.loss,  # noqa: F821
            snakemake.output.adapter,  # noqa: F821
            snakemake.output.run,  # noqa: F821
            snakemake.params.state,  # noqa: F821
            int(snakemake.wildcards.rank),  # noqa: F821
            int(snakemake.wildcards.seed),  # noqa: F821
            snakemake.params.lora,  # noqa: F821
            snakemake.params.training,  # noqa: F821
        )
