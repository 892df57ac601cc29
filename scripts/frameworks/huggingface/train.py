"""Fine-tune on labelled reviews with Hugging Face's Trainer: one run of one (arm, seed)."""

import os

import torch
from safetensors.torch import load_file
from transformers import logging as transformers_logging

import tasks
from common.arms import CHECKPOINT
from common.entry import run
from common.errors import StudyError
from common.files import read_json
from finetuning import encoders, parts, scoring
from finetuning.encoders import (
    ATTENTION,
    STATES,
    build_encoder,
    head_dropouts,
    head_prefixes,
    part_read,
    prove_encoder,
)
from finetuning.heads import rescaled
from finetuning.parts import freeze_lower
from finetuning.runs import Run, general_protocol, live_protocol
from frameworks.huggingface import classifier, low_rank, study_trainer
from frameworks.huggingface.classifier import HEAD, build_model
from frameworks.huggingface.low_rank import add_lora
from frameworks.huggingface.study_trainer import Reviews, make_trainer
from training import (
    accumulation,
    batching,
    draws,
    dropout,
    last_layer,
    objective,
    precision,
    resumable_trainer,
    schedule,
)
from training.draws import RecordedDraws, describe_start
from training.last_layer import train_first_position
from training.weights import prove_weights

# These decide a run's result besides its settings and files.
CODE = (
    accumulation,
    batching,
    draws,
    dropout,
    encoders,
    last_layer,
    low_rank,
    objective,
    parts,
    precision,
    resumable_trainer,
    schedule,
    scoring,
    classifier,
    study_trainer,
)
# The run records how these weights were drawn: only the head's are fresh in every run.
HEAD_WEIGHTS = {"head_dense": "classifier.dense.weight", "head_projection": "classifier.out_proj.weight"}
ENCODER_WEIGHTS = {
    "embeddings": "roberta.embeddings.word_embeddings.weight",
    "positions": "roberta.embeddings.position_embeddings.weight",
    "attention_query": "roberta.encoder.layer.0.attention.self.query.weight",
    "attention_output": "roberta.encoder.layer.0.attention.output.dense.weight",
    "feed_forward": "roberta.encoder.layer.0.intermediate.dense.weight",
}


def positions_of(model):
    """Return the number of tokens that the study's RoBERTa has positions for."""
    return model.config.max_position_embeddings - 2


def initialisation(model, init, drawn):
    """Return the distributions that weights were drawn from where they were not loaded.

    Args:
        model: RobertaForSequenceClassification before its first update.
        init: "pretrained": only the head is fresh; "random": all weights are.
        drawn: {name of a parameter: `training.draws.Draw`}.
    """
    return describe_start(model, HEAD_WEIGHTS | (ENCODER_WEIGHTS if init == "random" else {}), drawn)


def start(tuning, checkpoint, classes, task=tasks.DEFAULT):
    """Return a run's model before its first update, and the distributions of its fresh weights.

    Args:
        tuning: the `finetuning.runs.Run`.
        checkpoint, classes, task: see `main`.
    """
    if tuning.init == "pretrained":
        tuning.record["heads_verified"] = read_json(os.path.join(checkpoint, "conversion.json"))["heads_verified"]
    with RecordedDraws() as recorded:
        model = build_model(checkpoint, tuning.init, tuning.seeds["init_seed"], tuning.settings, classes, task)
    return model, initialisation(model, tuning.init, recorded.named(model))


def start_encoder(tuning, folder, classes, task=tasks.DEFAULT):
    """Return the model of an arm that starts from an external encoder, and the names of its fresh tensors.

    Args:
        tuning: the `finetuning.runs.Run`.
        folder: what `finetuning.take_model` wrote.
        classes, task: see `main`.
    """
    return build_encoder(folder, tuning.init, tuning.seeds["init_seed"], tuning.settings, classes, task)


def encoder_protocol(trainer, fresh, taken):
    """Return the `protocol` of an arm that starts from an external encoder, with that encoder's head and draw.

    Args:
        trainer: StudyTrainer of the finished run.
        fresh: names of the tensors that were drawn.
        taken: conversion.json of the folder that the model came from.
    """
    model, config = trainer.model, trainer.model.config
    plan = trainer.get_train_dataloader().batch_sampler
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
    head = {
        name: tuple(tensor.shape) for name, tensor in model.named_parameters() if name.startswith(head_prefixes(model))
    }
    return general_protocol(optimizer, model, trainer.rates) | {
        "truncation": f"{part_read(taken)} {taken['max_positions']} tokens, as the model's own tokenizer cuts",
        "head": f"{type(model).__name__}: {', '.join(f'{name} {shape}' for name, shape in head.items())}"
        + ("" if head.keys() & set(fresh) else f"; {taken['head']['status']}, as it came with the model"),
        "initialisation": f"the model's own rule for {len(fresh)} tensors",
        "total_updates": trainer.state.max_steps,
        "clip_norm": trainer.args.max_grad_norm,
        "batch_size": plan.batch_size,
        "batching": plan.rule,
        "dropout": sorted({getattr(config, name) for name in STATES if hasattr(config, name)}),
        "attention_dropout": max([getattr(config, name) for name in ATTENTION if hasattr(config, name)], default=0.0),
        "classifier_dropout": max((module.p for module in head_dropouts(model)), default=0.0),
        "precision": trainer.tuning.precision,
        **trainer.tuning.optional(trainer.rates),
    }


def always_trained(model, fresh):
    """Return the prefixes of the modules that every arm trains in an external encoder: its head and new parts.

    A pooler that was drawn at random and frozen would hide the encoder from the head.

    Args:
        model: the classifier.
        fresh: names of the tensors that were drawn.
    """
    return tuple(dict.fromkeys([*head_prefixes(model), *(f"{name.rpartition('.')[0]}." for name in fresh)]))


def restrict(model, settings, head, arm):
    """Freeze what the arm does not train, or add LoRA.

    Args:
        model: the classifier, its weights proved.
        settings: settings of the run.
        head: prefix or prefixes of the modules that every arm trains.
        arm: its name.

    Returns:
        function: returns the model to save (see `frameworks.huggingface.low_rank.add_lora`); None: the model itself.
    """
    if settings.get("freeze") is not None:
        freeze_lower(model, settings["freeze"], head, f"finetuning.arms.{arm}")
    return add_lora(model, settings["lora"], head, f"finetuning.arms.{arm}") if settings.get("lora") else None


def protocol(trainer, drawn):
    """Return the settings that the run really had, read from the Trainer's objects after training.

    Args:
        trainer: StudyTrainer of the finished run.
        drawn: result of `initialisation` before training.
    """
    model = trainer.model
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)  # Accelerate wraps the optimizer
    positions = positions_of(model)
    modules = [(n, module) for n, module in model.roberta.named_modules() if "lora_" not in n]
    dropouts = {n: module.p for n, module in modules if isinstance(module, torch.nn.Dropout)}
    attention = {p for name, p in dropouts.items() if name.endswith("attention.self.dropout")}
    states = {p for name, p in dropouts.items() if not name.endswith("attention.self.dropout")}
    plan = trainer.get_train_dataloader().batch_sampler
    found = live_protocol(optimizer, model, model.classifier, trainer.rates, positions) | {
        "total_updates": trainer.state.max_steps,
        "clip_norm": trainer.args.max_grad_norm,
        "batch_size": plan.batch_size,
        "batching": plan.rule,
        "dropout": sorted(states),
        "attention_dropout": max(attention),
        "initialisation": drawn,
        "precision": trainer.tuning.precision,
    }
    found |= trainer.tuning.optional(trainer.rates)
    # Settings that fairseq's model lacks are recorded only where they take part; matched mode then refuses them.
    if model.roberta.embeddings.token_type_embeddings.weight.requires_grad:
        found["token_types"] = "one vector, added to every token"
    return found


def standardise(reviews, path):
    """Give a split's numbers mean 0 and standard deviation 1, in place; return their (mean, spread); None: classes.

    Args:
        reviews: Reviews of train.
        path: their file, for messages.

    Raises:
        StudyError: all numbers are equal.
    """
    if reviews.labels.dtype.kind != "f":
        return None
    mean, reviews.spread = float(reviews.labels.mean()), float(reviews.labels.std())
    if not reviews.spread:
        raise StudyError(f"{path}: every label of train is {mean:g}, so there is nothing to learn; correct the column")
    reviews.labels = (reviews.labels - mean) / reviews.spread
    return mean, reviews.spread


def learnt_on_scale(merged, mean, spread):
    """Return a function that returns the model to save: what `merged` returns, on the scale of the labels."""
    return lambda: rescaled(merged(), mean, spread)


def main(
    *,
    train,
    valid,
    checkpoint,
    facts,
    seed: int,
    settings,
    checkpoints,
    history,
    run,
    weights,
    tensorboard,
    threads,
    states,
    save_every,
    classes=None,
    task=tasks.DEFAULT,
):
    """Train or resume one run, and write its checkpoints (one per epoch), history, settings and TensorBoard files.

    Long: the steps of a run, in their order, and a description of each argument.

    Args:
        train: `.npz` of the training split's token ids.
        valid: `.npz` of the validation split's; the test split is not an input.
        checkpoint: Hugging Face folder: loaded by a pretrained run; a random one takes its sizes only.
        facts: dict of the columns of `common.arms.ARM`.
        seed: seed of the run.
        settings: what `finetuning.protocol.framework_settings` returns.
        checkpoints: folder to write: `epoch1/`, `epoch2/`, ...
        history: TSV file to write.
        run: JSON file to write.
        weights: JSON file to write: the proof of the run's start.
        tensorboard: folder to write.
        threads: CPU threads.
        states: see `finetuning.runs.Run.resume`.
        save_every: updates between two saved states; 0: none.
        classes: names of the classes in order; None: two without names.
        task: kind of the labels.

    Raises:
        StudyError: a missing or partial checkpoint, weights that were not loaded, or a run that ended early.
    """
    transformers_logging.set_verbosity_warning()
    tuning = Run(facts, seed, settings, threads)
    reviews = {"train": Reviews(train), "valid": Reviews(valid)}
    external = facts["model"] != CHECKPOINT
    scale = standardise(reviews["train"], train)
    model, drawn = (start_encoder if external else start)(tuning, checkpoint, classes, task)
    taken = read_json(os.path.join(checkpoint, "conversion.json")) if external else None
    limit = taken["max_positions"] if external else positions_of(model)
    longest = max(reviews["train"].lengths + reviews["valid"].lengths)
    if longest > limit:
        raise StudyError(f"{train} or {valid} has an input of {longest} tokens, the model {limit} positions")
    files = {name: os.path.join(checkpoint, name) for name in ("config.json", "model.safetensors")}
    files |= {"train": train, "valid": valid}
    sizes = {split: len(part) for split, part in reviews.items()}
    # This also applies to a resumed run: its start is drawn again, identically, and its state restored at the first
    # update.
    reference = load_file(files["model.safetensors"])
    if external:
        proof, head = prove_encoder(model, drawn, reference, tuning.init), always_trained(model, drawn)
    else:
        proof, head = prove_weights(dict(model.named_parameters()), reference, tuning.init, head=HEAD), HEAD
    del reference  # training would keep this whole copy of the weights in memory
    if not external:
        train_first_position(model.roberta.encoder.layer)
    merged = restrict(model, settings, head, facts["arm"])
    tuning.aim(reviews["train"].labels, model.config.num_labels, task)
    if scale:
        merged = learnt_on_scale(merged or (lambda: model), *scale)
    trainer = make_trainer(tuning, model, reviews, save_every, tuning.resume(states, sizes, files, CODE), merged)
    tuning.start()
    trainer.train()
    tuning.end(trainer.records)
    found = encoder_protocol(trainer, drawn, taken) if external else protocol(trainer, drawn)
    outputs = {"checkpoints": checkpoints, "tensorboard": tensorboard}
    outputs |= {"history": history, "run": run, "weights": weights}
    tuning.finish(outputs, trainer.records, proof, found, device=tuning.device)


if __name__ == "__main__":
    run(main, snakemake)
