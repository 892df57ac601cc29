"""Fine-tune on labelled reviews with `fairseq-train`: one run of one (arm, seed)."""

import os

from common.entry import run
from common.files import read_json, read_lines, write_json
from finetuning import parts
from finetuning.parts import freeze_lower
from finetuning.runs import Run, live_protocol
from finetuning.scoring import measured
from frameworks.fairseq.scoring import HEAD
from training import accumulation, batching, draws, dropout, fairseq_state, last_layer, objective, precision
from training.draws import describe_start
from training.fairseq_checkpoint import load_fairseq_checkpoint, tells_heads
from training.fairseq_commands import import_fairseq
from training.fairseq_train import architecture_flags, train
from training.last_layer import train_first_position
from training.roberta import ENCODER
from training.state import STATE
from training.weights import prove_weights

HISTORY = "history.jsonl"
# The run records how these weights were drawn: only the head's are fresh in every run.
HEAD_WEIGHTS = {
    "head_dense": f"classification_heads.{HEAD}.dense.weight",
    "head_projection": f"classification_heads.{HEAD}.out_proj.weight",
}
ENCODER_WEIGHTS = {
    "embeddings": f"{ENCODER}embed_tokens.weight",
    "positions": f"{ENCODER}embed_positions.weight",
    "attention_query": f"{ENCODER}layers.0.self_attn.q_proj.weight",
    "attention_output": f"{ENCODER}layers.0.self_attn.out_proj.weight",
    "feed_forward": f"{ENCODER}layers.0.fc1.weight",
}


def protocol_flags(tuning):
    """Return the flags set by the study: dropout, optimizer, schedule, batches, seeds."""
    settings = tuning.settings
    return {
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
        "--warmup-updates": tuning.warmup,
        "--total-num-update": tuning.updates,
        "--max-update": tuning.updates,
        "--max-epoch": settings["epochs"],
        "--batch-size": settings["batch_size"],
        "--batch-size-valid": 64,
        "--required-batch-size-multiple": 1,
        "--batching": settings["batching"],
        "--autocast": tuning.precision,
        "--seed": tuning.dropout_seed,
        "--init-seed": tuning.seeds["init_seed"],
        "--data-seed": tuning.seeds["data_seed"],
    }


def training_arguments(tuning, data, checkpoint, architecture, resumed):
    """Return `fairseq-train`'s arguments.

    Args:
        tuning: the `finetuning.runs.Run`; checkpoints and history go to its folder.
        data: binarized train and valid reviews, `input0/` and `label/`.
        checkpoint: path of `model.pt`, restored by a pretrained run.
        architecture: sizes of the encoder (config section `checkpoint.architecture`).
        resumed: True where the run continues from its saved state.
    """
    # Everything besides weights belongs to another run in a checkpoint, and to this run in a saved state.
    switches = ("--reset-optimizer", "--reset-dataloader", "--reset-meters", "--reset-lr-scheduler")
    if resumed:
        start, switches = os.path.abspath(tuning.place(STATE)), ()
    elif tuning.init == "pretrained":
        start = os.path.abspath(checkpoint)
    else:
        # This path cannot exist, so fairseq keeps its fresh weights.
        start = os.path.abspath(tuning.place("random-initialisation"))
    flags = {
        "--task": "review_classification",
        "--criterion": "sentence_prediction" if tuning.objective.plain else "study_classification",
        "--num-classes": count_classes(data),
        "--classification-head-name": HEAD,
        "--init-token": 0,
        "--separator-token": 2,
        "--shorten-method": "truncate",
        **architecture_flags(architecture),
        **protocol_flags(tuning),
        "--history-file": tuning.place(HISTORY),
        "--save-dir": tuning.place("checkpoints"),
        "--best-checkpoint-metric": "accuracy",
        "--num-workers": 0,
        "--distributed-world-size": 1,
        "--log-format": "simple",
        "--log-interval": 25,
        "--restore-file": start,
    }
    arguments = [data, *(str(word) for flag in flags.items() for word in flag)]
    # Examples keep their file's order inside the data set; the batch plan shuffles them.
    switches += ("--no-shuffle", "--maximize-best-checkpoint-metric")
    return [*arguments, *switches, "--no-last-checkpoints", "--no-save-optimizer-state"]


def means(record, measure):
    """Return a record of the plug-in with means in place of sums: loss in nats, accuracy a fraction.

    Args:
        record: record of one epoch.
        measure: see `finetuning.scoring.measured`: to return of validation, too.
    """
    found = {key: record[key] for key in ("epoch", "update", "lr")}
    for split in ("train", "valid"):
        sums = record[split]
        n, n_correct = sums["n"], sums["n_correct"]
        found[split] = {"loss": sums["loss"] / n, "accuracy": n_correct / n, "n_correct": n_correct}
    if measure:
        found["valid"] |= measured(measure, record["valid"]["logits"], record["valid"]["labels"])
    return found


def initialisation(model, init, drawn):
    """Return the distributions that weights were drawn from where they were not loaded.

    Args:
        model: fairseq's RobertaModel with a classification head, before its first update.
        init: "pretrained": only the head is fresh; "random": all weights are.
        drawn: {name of a parameter: `training.draws.Draw`}.
    """
    return describe_start(model, HEAD_WEIGHTS | (ENCODER_WEIGHTS if init == "random" else {}), drawn)


def protocol(task, tuning, drawn):
    """Return the settings that the run really had, read from fairseq's live objects.

    Args:
        task: the plug-in's task of the finished run.
        tuning: the `finetuning.runs.Run` (only for what fairseq has no object for).
        drawn: result of `initialisation` before training.
    """
    model = task.live_model
    args, head = model.args, model.classification_heads[HEAD]
    dropouts = {module.p for name, module in model.named_modules() if name.endswith("dropout_module")}
    return live_protocol(task.optimizer.optimizer, model, head, task.rates, task.cfg.max_positions) | {
        "total_updates": tuning.updates,
        "clip_norm": tuning.settings["clip_norm"],
        "batch_size": tuning.settings["batch_size"],
        "batching": task.cfg.batching,
        "dropout": sorted({args.dropout} | dropouts - {head.dropout.p}),
        "attention_dropout": args.attention_dropout,
        "initialisation": drawn,
        "precision": tuning.precision,
        **tuning.optional(task.rates),
    }


def first_weights(tuning, checkpoint):
    """Return the weights that a run starts from ({name: tensor}), and record the checkpoint's facts.

    Args:
        tuning: the `finetuning.runs.Run`; a random one starts from nothing.
        checkpoint: `model.pt`.
    """
    if tuning.init != "pretrained":
        return {}
    loaded = load_fairseq_checkpoint(checkpoint)
    tuning.record["heads_verified"] = tells_heads(loaded["settings"])
    return loaded["model"]


def restrict(model, settings, arm):
    """Train only the parts that the arm asks for, and compute only the outputs that the head reads.

    Args:
        model: fairseq's RobertaModel with a classification head.
        settings: settings of the run.
        arm: its name.
    """
    if settings.get("freeze") is not None:
        freeze_lower(model, settings["freeze"], "classification_heads.", f"finetuning.arms.{arm}")
    train_first_position(model.encoder.sentence_encoder.layers)


def count_reviews(data):
    """Return {split: reviews} of the binarized data of a run."""
    from fairseq.data import data_utils

    label = os.path.join(data, "label")
    return {s: len(data_utils.load_indexed_dataset(os.path.join(label, s), None)) for s in ("train", "valid")}


def training_labels(data):
    """Return the labels of the training reviews in the binarized data of a run, integers from 0."""
    from fairseq.data import Dictionary, data_utils

    # Behind the dictionary's special symbols, as fairseq's task takes them; then comes the end of the line.
    first = Dictionary().nspecial
    labels = data_utils.load_indexed_dataset(os.path.join(data, "label", "train"), None)
    return [int(labels[i][0]) - first for i in range(len(labels))]


def count_classes(data):
    """Return the classes of the binarized data of a run: its label dictionary has a line for each."""
    return len(read_lines(os.path.join(data, "label", "dict.txt")))


def main(
    *,
    data,
    facts,
    seed: int,
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
    checkpoint=None,
):
    """Train or resume one run, and write its checkpoints (one per epoch), history, settings and TensorBoard files.

    Long: the steps of a run, in their order, and a description of each argument.

    Args:
        data: binarized train and valid reviews, without the test split.
        facts: dict of the columns of `common.arms.ARM`.
        seed: seed of the run.
        architecture: config section `checkpoint.architecture`.
        settings: what `finetuning.protocol.framework_settings` returns.
        checkpoints, history, run, weights, tensorboard: outputs.
        threads: CPU threads.
        states: see `finetuning.runs.Run.resume`.
        save_every: updates between two saved states; 0: none.
        checkpoint: `model.pt`, restored by a pretrained run.

    Raises:
        StudyError: a missing checkpoint, weights that were not loaded, or a run that ended early.
    """
    import_fairseq()
    from training.fairseq_plugin import criterion, optimizer, tasks

    tuning = Run(facts, seed, settings, threads, architecture=architecture)
    reference = first_weights(tuning, checkpoint)
    files = {os.path.join(place, name) for place, _, names in os.walk(data) for name in names if name[0] != "."}
    files = {os.path.relpath(path, data): path for path in files} | ({"checkpoint": checkpoint} if reference else {})
    code = (
        accumulation,
        batching,
        draws,
        dropout,
        fairseq_state,
        last_layer,
        objective,
        parts,
        precision,
        criterion,
        optimizer,
        tasks,
        protocol_flags,
        training_arguments,
    )
    tuning.aim(training_labels(data), count_classes(data))
    # fairseq reads the state from its file.
    resumed = tuning.resume(states, count_reviews(data), files, code) is not None
    if resumed:
        reference.clear()  # verified when the run began

    def inspect(model, drawn):
        laws = initialisation(model, tuning.init, drawn)
        proof = prove_weights(dict(model.named_parameters()), reference, tuning.init, head="classification_heads.")
        reference.clear()  # training would keep this whole copy of the weights in memory
        write_json(tuning.place("start.json"), {"proof": proof, "drawn": laws})

    task = tasks.ReviewClassification
    task.inspect, task.save, task.save_every = inspect, tuning.save, save_every
    task.keep_scores = "measure" in settings
    task.restrict = staticmethod(lambda model: restrict(model, settings, facts["arm"]))
    task.curves, task.run = tuning.start(), tuning.name
    task.micro, task.objective = tuning.micro, tuning.objective
    task.stops = staticmethod(lambda records: tuning.stops([means(each, settings.get("measure")) for each in records]))
    train(training_arguments(tuning, data, checkpoint, architecture, resumed), lambda: task.current.stopped)
    records = [means(record, settings.get("measure")) for record in tasks.read_history(tuning.place(HISTORY))]
    tuning.end(records)
    start = read_json(tuning.place("start.json"))
    outputs = {"checkpoints": checkpoints, "tensorboard": tensorboard}
    outputs |= {"history": history, "run": run, "weights": weights}
    tuning.finish(outputs, records, start["proof"], protocol(task.current, tuning, start["drawn"]))


if __name__ == "__main__":
    run(main, snakemake)
