"""Fine-tune on labelled reviews with `fairseq-train`: one run of one (init, seed)."""

import os
import shutil
import time

import common.batching
import common.dropout
import common.fairseq_state
import common.training
from common.batching import STEP, count_updates
from common.checkpoints import allow_fairseq_classes, load_fairseq_checkpoint
from common.errors import StudyError
from common.fairseq_commands import architecture_flags, import_fairseq, train
from common.fairseq_scoring import HEAD
from common.fairseq_state import require
from common.files import atomic_path, read_json, sha256, write_json, write_tsv
from common.machine import job_record, now
from common.protocol import run_seeds
from common.rule import running
from common.state import STATE, code_hash, load_state, save_state, state_folder
from common.training import choose_device, resolve_precision, set_threads, versions, warmup_updates
from common.weights import describe_draw, prove_weights

COLUMNS = ("epoch", "update", "split", "metric", "value")


def training_arguments(data, folder, init, seed, checkpoint, architecture, settings, n_train, precision, state=None):
    """Return `fairseq-train`'s arguments.

    Args:
        data: binarized train and valid reviews, `input0/` and `label/`.
        folder: where checkpoints, history and TensorBoard files go.
        init: "pretrained" (restores `checkpoint`) or "random".
        seed: of dropout, and of initialisation and data order where the settings have no other.
        checkpoint: path of `model.pt`, or None.
        architecture: sizes of the encoder (config section `checkpoint.architecture`).
        settings: what `common.protocol.framework_settings` returns.
        n_train: training reviews, from which the number of updates follows.
        precision: "float32" or "bfloat16".
        state: path of the saved state to go on from, or None.
    """
    updates = count_updates(n_train, settings["batch_size"], settings["epochs"])
    flags = {
        "--task": "review_classification",
        "--criterion": "sentence_prediction",
        "--num-classes": 2,
        "--classification-head-name": HEAD,
        "--init-token": 0,
        "--separator-token": 2,
        "--shorten-method": "truncate",
        **architecture_flags(architecture),
        "--dropout": settings["dropout"],
        "--attention-dropout": settings["dropout"],
        "--pooler-dropout": settings["classifier_dropout"],
        "--optimizer": "fused_adamw",
        "--adam-betas": str(tuple(settings["betas"])),
        "--adam-eps": settings["eps"],
        "--weight-decay": settings["weight_decay"],
        "--clip-norm": settings["clip_norm"],
        "--lr-scheduler": "polynomial_decay",
        "--lr": settings["lr"],
        "--warmup-updates": warmup_updates(updates, settings["warmup_ratio"]),
        "--total-num-update": updates,
        "--max-update": updates,
        "--max-epoch": settings["epochs"],
        "--batch-size": settings["batch_size"],
        "--batch-size-valid": 64,
        "--required-batch-size-multiple": 1,
        "--batching": settings["batching"],
        "--autocast": precision,
        "--seed": seed,
        "--init-seed": run_seeds(settings, seed)["init_seed"],
        "--data-seed": run_seeds(settings, seed)["data_seed"],
        "--history-file": os.path.join(folder, "history.jsonl"),
        "--save-dir": os.path.join(folder, "checkpoints"),
        "--tensorboard-logdir": os.path.join(folder, "tensorboard"),
        "--best-checkpoint-metric": "accuracy",
        "--num-workers": 0,
        "--distributed-world-size": 1,
        "--log-format": "simple",
        "--log-interval": 25,
    }
    # What a checkpoint holds besides weights is another run's; what a state holds is this one's.
    switches = ("--reset-optimizer", "--reset-dataloader", "--reset-meters", "--reset-lr-scheduler")
    if state is not None:
        flags["--restore-file"], switches = os.path.abspath(state), ()
    elif init == "pretrained":
        flags["--restore-file"] = os.path.abspath(require(checkpoint, "the pretrained arm cannot start without it"))
    else:
        # A path that cannot exist: fairseq then keeps its fresh weights. Said here so that it is explicit.
        flags["--restore-file"] = os.path.join(os.path.abspath(folder), "random-initialisation")
    arguments = [data]
    for flag, value in flags.items():
        arguments += [flag, str(value)]
    # Examples keep their file's order inside the data set: the batch plan does the shuffling.
    switches += ("--no-shuffle", "--maximize-best-checkpoint-metric")
    return [*arguments, *switches, "--no-last-checkpoints", "--no-save-optimizer-state"]


def history_rows(records):
    """Turn the plug-in's records into rows of `history.tsv`; loss is the mean in nats, accuracy a fraction."""
    for record in records:
        place = {"epoch": record["epoch"], "update": record["update"]}
        yield {**place, "split": "train", "metric": "lr", "value": record["lr"]}
        for split in ("train", "valid"):
            sums = record[split]
            yield {**place, "split": split, "metric": "loss", "value": sums["loss"] / sums["n"]}
            yield {**place, "split": split, "metric": "accuracy", "value": sums["n_correct"] / sums["n"]}
            yield {**place, "split": split, "metric": "n_correct", "value": sums["n_correct"]}


def initialisation(model, init):
    """Return how the weights that were not loaded were drawn, told from the values before the first update.

    Args:
        model: fairseq's RobertaModel with a classification head.
        init: "pretrained": only the head is fresh; "random": everything is.
    """
    head, encoder = model.classification_heads[HEAD], model.encoder.sentence_encoder
    fresh = {"head_dense": head.dense, "head_projection": head.out_proj}
    if init == "random":
        fresh |= {
            "embeddings": encoder.embed_tokens,
            "positions": encoder.embed_positions,
            "attention_query": encoder.layers[0].self_attn.q_proj,
            "attention_output": encoder.layers[0].self_attn.out_proj,
            "feed_forward": encoder.layers[0].fc1,
        }
    return {name: describe_draw(module.weight) for name, module in fresh.items()}


def live_protocol(task, settings, records, precision, drawn):
    """Return the settings that the run really had, read from fairseq's live objects.

    Args:
        task: the plug-in's task of the finished run.
        settings: config section `sentiment.finetuning` (only for what fairseq has no object for).
        records: the plug-in's history records.
        precision: "float32" or "bfloat16".
        drawn: what `initialisation` returned before training.
    """
    optimizer, model = task.optimizer.optimizer, task.live_model
    group = optimizer.param_groups[0]
    args = model.args
    dropouts = {module.p for name, module in model.named_modules() if name.endswith("dropout_module")}
    head = model.classification_heads[HEAD]
    n_decayed = sum(len(g["params"]) for g in optimizer.param_groups if g["weight_decay"] > 0)
    return {
        "optimizer": f"{type(optimizer).__module__.split('.')[0]}.{type(optimizer).__name__}",
        "betas": list(group["betas"]),
        "eps": group["eps"],
        "weight_decay": group["weight_decay"],
        "decayed_parameters": "every tensor"
        if n_decayed == len(list(model.parameters()))
        else f"{n_decayed} of {len(list(model.parameters()))} tensors",
        "schedule": "linear warm-up, then linear to 0",
        "lr_first": task.rates[0],
        "lr_last": records[-1]["lr"],
        "peak_lr": max(task.rates),
        "warmup_updates": task.rates.index(max(task.rates)),
        "total_updates": records[-1]["update"],
        "clip_norm": settings["clip_norm"],
        "batch_size": settings["batch_size"],
        "batching": task.cfg.batching,
        "padding": f"to the batch's longest, in steps of {STEP}",
        "truncation": f"first {task.cfg.max_positions - 2} pieces between <s> and </s>",
        "dropout": sorted({args.dropout} | dropouts - {head.dropout.p}),
        "attention_dropout": args.attention_dropout,
        "classifier_dropout": head.dropout.p,
        "head": f"dense {tuple(head.dense.weight.shape)}, tanh, projection {tuple(head.out_proj.weight.shape)}",
        "initialisation": drawn,
        "precision": precision,
        "evaluation_precision": "float32",
        "loss_unit": "nats, mean over examples",
        "tie_rule": "earliest of equals",
    }


def state_key(data, checkpoint, init, seed, architecture, settings, precision, threads):
    """Return everything that the run's result follows from: arguments of `main`, content of files, versions, code."""
    import fairseq_plugin.optimizer
    import fairseq_plugin.tasks

    paths = sorted(os.path.join(place, name) for place, _, names in os.walk(data) for name in names)
    modules = (common.batching, common.dropout, common.fairseq_state, common.training)
    modules += (fairseq_plugin.optimizer, fairseq_plugin.tasks)
    return {
        "init": init,
        "seed": seed,
        "architecture": architecture,
        "settings": settings,
        "precision": precision,
        # Sums are made in another order by another number of threads, or by a GPU.
        "threads": threads,
        "device": choose_device(),
        "data": {os.path.relpath(path, data): sha256(path) for path in paths},
        "checkpoint": sha256(checkpoint) if init == "pretrained" else None,
        "versions": versions(),
        "code": code_hash(*modules, training_arguments),
    }


def main(
    data,
    checkpoint,
    init,
    seed,
    architecture,
    settings,
    checkpoints,
    history,
    run,
    weights,
    tensorboard,
    threads,
    states,
    save_every,
):
    """Train one run, or go on with it, and write its checkpoints (one an epoch), history, settings, TensorBoard files.

    Args:
        data: binarized train and valid reviews; the test split is not in it.
        checkpoint: `model.pt`, restored when `init` is "pretrained"; None when it is "random".
        init: "pretrained" or "random".
        seed: int.
        architecture: config section `checkpoint.architecture`.
        settings: what `common.protocol.framework_settings` returns.
        checkpoints, history, run, weights, tensorboard: outputs.
        threads: CPU threads.
        states: folder that reruns do not wipe, for the states of this (init, seed) while it is unfinished; removed
            at the end, with what other settings left in it.
        save_every: updates between two saved states; 0: none.

    Raises:
        StudyError: a missing checkpoint, weights that were not loaded, or a run that ended early.
    """
    import_fairseq()
    from fairseq.data import data_utils

    set_threads(threads)
    record = job_record({"architecture": architecture, "settings": settings})
    precision = resolve_precision(settings["precision"])
    reference = load_fairseq_checkpoint(checkpoint)["model"] if init == "pretrained" else {}
    n = {
        split: len(data_utils.load_indexed_dataset(os.path.join(data, "label", split), None))
        for split in ("train", "valid")
    }
    updates = count_updates(n["train"], settings["batch_size"], settings["epochs"])
    import fairseq_plugin.tasks as plugin

    allow_fairseq_classes()
    folder = state_folder(states, state_key(data, checkpoint, init, seed, architecture, settings, precision, threads))
    state = load_state(folder)
    resumed_after, seconds_before = (state["updates"], state["seconds"]) if state else (0, 0.0)
    restored = os.path.join(folder, STATE) if state else None
    del state
    if restored:
        print(f"going on after update {resumed_after}")
    start = os.path.join(folder, "start.json")

    def inspect(model):
        proof = prove_weights(dict(model.named_parameters()), reference, init, head="classification_heads.")
        write_json(start, {"proof": proof, "drawn": initialisation(model, init)})

    def save(done, state):
        save_state(folder, {**state, "updates": done, "seconds": seconds_before + time.monotonic() - started})

    task = plugin.ReviewClassification
    task.inspect, task.save, task.save_every = inspect, save, save_every
    started = time.monotonic()
    train(
        training_arguments(
            data, folder, init, seed, checkpoint, architecture, settings, n["train"], precision, restored
        )
    )
    seconds = seconds_before + time.monotonic() - started
    records = plugin.read_history(os.path.join(folder, "history.jsonl"))
    if not records or records[-1]["update"] != updates:
        raise StudyError(f"fairseq-train ended before its {updates} updates: see the log")
    began = read_json(start)
    protocol = live_protocol(task.current, settings, records, precision, began["drawn"])
    write_json(weights, began["proof"])
    write_tsv(history, history_rows(records), COLUMNS)
    write_json(
        run,
        {
            "framework": "fairseq",
            "init": init,
            "seed": seed,
            **run_seeds(settings, seed),
            "n_train": n["train"],
            "n_valid": n["valid"],
            "total_updates": updates,
            "warmup_updates": warmup_updates(updates, settings["warmup_ratio"]),
            "train_seconds": seconds,
            "resumed_after": resumed_after,
            "precision": precision,
            "threads": threads,
            **record,
            "ended": now(),
            "versions": versions(),
            "protocol": protocol,
        },
    )
    for name, destination in (("tensorboard", tensorboard), ("checkpoints", checkpoints)):
        with atomic_path(destination) as temporary:
            shutil.move(os.path.join(folder, name), temporary)
    shutil.rmtree(states)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.data,  # noqa: F821
            snakemake.input.get("checkpoint"),  # noqa: F821
            snakemake.wildcards.init,  # noqa: F821
            int(snakemake.wildcards.seed),  # noqa: F821
            snakemake.params.architecture,  # noqa: F821
            snakemake.params.settings,  # noqa: F821
            snakemake.output.checkpoints,  # noqa: F821
            snakemake.output.history,  # noqa: F821
            snakemake.output.run,  # noqa: F821
            snakemake.output.weights,  # noqa: F821
            snakemake.output.tensorboard,  # noqa: F821
            snakemake.threads,  # noqa: F821
            snakemake.params.states,  # noqa: F821
            snakemake.params.save_every,  # noqa: F821
        )
