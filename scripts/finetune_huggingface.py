"""Fine-tune on labelled reviews with Hugging Face's Trainer: one run of one (init, seed)."""

import dataclasses
import functools
import json
import os
import shutil
import tempfile
import time

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch.utils.data import DataLoader, Dataset
from transformers import RobertaConfig, RobertaForSequenceClassification, Trainer, TrainingArguments, set_seed
from transformers import logging as transformers_logging
from transformers.trainer import TRAINER_STATE_NAME

import common.batching
import common.dropout
import common.scoring
import common.training
from common.batching import STEP, count_updates, epoch_batches, padded_length
from common.dropout import cheap_dropout
from common.errors import StudyError
from common.files import atomic_path, sha256, write_json, write_text, write_tsv
from common.machine import job_record, now
from common.protocol import run_seeds
from common.rule import running
from common.scoring import pad_batch, score, summarize
from common.state import code_hash, load_state, save_state, state_folder
from common.token_ids import read_token_ids
from common.training import choose_device, learning_rate, resolve_precision, set_threads, versions, warmup_updates
from common.weights import describe_draw, prove_weights

COLUMNS = ("epoch", "update", "split", "metric", "value")
HEAD = "classifier."
INITS = ("pretrained", "random")


class Reviews(Dataset):
    """Token ids and labels of a split."""

    def __init__(self, path):
        self.sequences, self.labels = read_token_ids(path)
        self.lengths = [len(sequence) for sequence in self.sequences]

    def __len__(self):
        """Return the number of reviews."""
        return len(self.sequences)

    def __getitem__(self, i):
        """Return the token ids (int32 array) and the label of review `i`."""
        return self.sequences[i], self.labels[i]


class PlannedBatches:
    """Batch sampler of the study's plan; the epoch is set from outside."""

    def __init__(self, lengths, batch_size, seed, rule):
        self.lengths, self.batch_size, self.seed, self.rule = lengths, batch_size, seed, rule
        self.epoch = 1

    def __iter__(self):
        """Yield the epoch's batches, lists of review numbers."""
        yield from epoch_batches(self.lengths, self.batch_size, self.seed, self.epoch, self.rule)

    def set_epoch(self, epoch):
        """Plan the batches of the Trainer's (0-based) epoch; the study counts from 1."""
        self.epoch = epoch + 1

    def __len__(self):
        """Return the batches an epoch."""
        return count_updates(len(self.lengths), self.batch_size, 1)


class PlannedLoader(DataLoader):
    """Loader that passes on the Trainer's epoch."""

    def set_epoch(self, epoch):
        """Plan the batches of that epoch."""
        self.batch_sampler.set_epoch(epoch)


def collate(examples, limit):
    """Turn (ids, label) pairs into a padded batch; `limit`: see `common.batching.padded_length`."""
    sequences, labels = zip(*examples, strict=True)
    return pad_batch(sequences, labels, padded_length(max(map(len, sequences)), limit))


class StudyTrainer(Trainer):
    """The Trainer with the study's batch plan, optimizer, schedule, precision and records.

    `records` gets one entry an epoch: {epoch, update, lr (of the last update), train: sums, valid: summary}.
    `save` is a function that is given the state after every `save_every` updates (0: never); `saved` is such a
    state, to go on from, or None.
    """

    def __init__(self, settings, precision, updates, warmup, checkpoints, save, save_every, saved=None, **kwargs):
        self.settings, self.precision = settings, precision
        self.updates, self.warmup, self.checkpoints = updates, warmup, checkpoints
        self.save, self.save_every, self.saved = save, save_every, saved
        self.records, self.rates = [], []
        super().__init__(**kwargs)
        self._start_sums()

    def _start_sums(self):
        # On the device, so that no update waits for a number.
        self.sums = torch.zeros(2, device=self.args.device, dtype=torch.float64)
        self.seen = 0

    def get_train_dataloader(self):
        """Return batches of the plan that both frameworks follow."""
        plan = PlannedBatches(
            self.train_dataset.lengths, self.settings["batch_size"], self.args.data_seed, self.settings["batching"]
        )
        pad = functools.partial(collate, limit=max(self.train_dataset.lengths))
        return PlannedLoader(self.train_dataset, batch_sampler=plan, collate_fn=pad)

    def create_optimizer(self, model=None):
        """Return fused AdamW with decay on every tensor (the Trainer's own spares biases and LayerNorms)."""
        if self.optimizer is None:
            self.optimizer = torch.optim.AdamW(
                [weights for weights in self.model.parameters() if weights.requires_grad],
                lr=self.settings["lr"],
                betas=tuple(self.settings["betas"]),
                eps=self.settings["eps"],
                weight_decay=self.settings["weight_decay"],
                fused=True,
            )
        return self.optimizer

    def create_scheduler(self, num_training_steps, optimizer=None):
        """Return fairseq's polynomial decay as a factor of the peak rate; n counts the updates made."""
        if num_training_steps != self.updates:
            raise StudyError(f"the Trainer plans {num_training_steps} updates, the study {self.updates}")
        if self.lr_scheduler is None:
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
                optimizer or self.optimizer, lambda n: learning_rate(n + 1, 1.0, self.warmup, self.updates)
            )
        return self.lr_scheduler

    def training_step(self, model, inputs, num_items_in_batch=None):
        """Take up or hand out the state before an update: what belongs to the updates so far is then done.

        The random state is that of this very moment, so it does not matter what a resumed Trainer drew before.
        """
        done = self.state.global_step
        if self.saved is not None:
            self._take_up(self.saved)
            self.saved = None
        elif self.save_every and done and done % self.save_every == 0:
            self.save(self._state())
        return super().training_step(model, inputs, num_items_in_batch)

    def _state(self):
        """Return all that the rest of the run depends on: tensors (the live ones) and plain values."""
        return {
            "updates": self.state.global_step,
            "trainer": json.dumps(dataclasses.asdict(self.state)),
            "weights": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.lr_scheduler.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            "records": json.dumps(self.records),
            "rates": self.rates,
            "sums": self.sums,
            "seen": self.seen,
            # The losses that the Trainer will log are means since it last did, and since the start.
            "loss_to_log": self._tr_loss,
            "logged_after": self._globalstep_last_logged,
            "logged_losses": self._total_loss_scalar,
        }

    def _take_up(self, state):
        """Become the Trainer that `_state` described; the Trainer itself has skipped to the place in the epoch."""
        self.model.load_state_dict(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.lr_scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["random"])
        if state["random_cuda"]:
            torch.cuda.set_rng_state_all(state["random_cuda"])
        self.records, self.rates = json.loads(state["records"]), state["rates"]
        self.sums, self.seen = state["sums"].to(self.sums.device), state["seen"]
        self._tr_loss.copy_(state["loss_to_log"])
        self._globalstep_last_logged = state["logged_after"]
        self._total_loss_scalar, self._initial_global_step = state["logged_losses"], 0

    def _load_from_checkpoint(self, resume_from_checkpoint, model=None):
        """Load nothing: see `_take_up`."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """Return the mean cross entropy of a training batch, the forward pass under autocast when asked for."""
        labels = inputs["labels"]
        autocast = torch.autocast(self.args.device.type, dtype=torch.bfloat16, enabled=self.precision == "bfloat16")
        with autocast, cheap_dropout():
            outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        logits = outputs.logits.float()
        loss = torch.nn.functional.cross_entropy(logits, labels)
        with torch.no_grad():
            self.sums += torch.stack([loss.detach() * len(labels), (logits.argmax(dim=1) == labels).sum()])
        self.seen += len(labels)
        self.rates.append(self.optimizer.param_groups[0]["lr"])
        return (loss, outputs) if return_outputs else loss

    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        """Score the validation split in float32, batches sorted by length, and keep the epoch's record."""
        valid = summarize(
            score(self.model, self.eval_dataset.sequences, self.args.per_device_eval_batch_size),
            self.eval_dataset.labels,
        )
        loss, correct = self.sums.tolist()
        train = {"loss": loss / self.seen, "accuracy": correct / self.seen, "n_correct": int(correct)}
        self._start_sums()
        epoch = len(self.records) + 1
        self.records.append(
            {
                "epoch": epoch,
                "update": self.state.global_step,
                "lr": self.rates[-1],
                "train": train,
                "valid": valid,
            }
        )
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in valid.items()}
        self.log(metrics | {"train_epoch_loss": train["loss"], "train_epoch_accuracy": train["accuracy"]})
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save_checkpoint(self, model, trial):
        """Save the weights only, under the epoch's number (the Trainer's name is the update's)."""
        self.model.save_pretrained(os.path.join(self.checkpoints, f"epoch{len(self.records)}"))

    def _get_grad_norm(self, model, grad_norm=None):
        """Skip the norm that the Trainer computes for its log only."""
        return grad_norm

    def floating_point_ops(self, inputs):
        """Skip the estimate that walks over all modules at every update."""
        return 0


def build_model(checkpoint, init, seed, settings):
    """Return a RobertaForSequenceClassification with two classes.

    Args:
        checkpoint: Hugging Face folder: its weights when `init` is "pretrained", its sizes only when "random".
        init: "pretrained" or "random" (Hugging Face's own rule: normal with sd 0.02, zero biases).
        seed: of the new weights.
        settings: `dropout` (of states and attention), `classifier_dropout`, `head_initialisation`: "bert"
            (Hugging Face's own) or "linear" (PyTorch's for `nn.Linear`, which is fairseq's), and `token_types`: whether
            the token-type vector is drawn and trained, or left out as in fairseq's model.

    Raises:
        StudyError: the folder is unusable, or anything but the classification head would stay random.
    """
    if init not in INITS:
        raise StudyError(f"init is {init!r}: use one of {', '.join(INITS)}")
    weights = os.path.join(checkpoint, "model.safetensors")
    if not os.path.isfile(weights):
        raise StudyError(f"{weights} is missing: convert the checkpoint again")
    try:
        config = RobertaConfig.from_pretrained(
            checkpoint,
            local_files_only=True,
            num_labels=2,
            hidden_dropout_prob=settings["dropout"],
            attention_probs_dropout_prob=settings["dropout"],
            classifier_dropout=settings["classifier_dropout"],
        )
        set_seed(seed)
        if init == "random":
            config._attn_implementation = "sdpa"
            return adapt(RobertaForSequenceClassification(config), init, settings)
        model, info = RobertaForSequenceClassification.from_pretrained(
            checkpoint,
            config=config,
            local_files_only=True,
            attn_implementation="sdpa",
            dtype=torch.float32,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise StudyError(f"{checkpoint} cannot be loaded ({error}): convert the checkpoint again") from error
    missing = sorted(name for name in info["missing_keys"] if not name.startswith(HEAD))
    unexpected = sorted(name for name in info["unexpected_keys"] if not name.startswith("lm_head."))
    mismatched = sorted(str(name) for name in info["mismatched_keys"])
    if missing or mismatched:
        raise StudyError(f"{weights} has no tensor {(missing or mismatched)[0]} that fits: it would stay random")
    if unexpected:
        raise StudyError(f"{weights} has a tensor {unexpected[0]} that the model has no place for")
    return adapt(model, init, settings)


def adapt(model, init, settings):
    """Return the model made fairseq's where the settings ask for it: its head's draw, no token-type vector.

    A random vector that is added to every token takes a third of the variance that the first LayerNorm sees, so a
    random arm that has one learns more slowly.
    """
    if settings["head_initialisation"] == "linear":
        model.classifier.dense.reset_parameters()
        model.classifier.out_proj.reset_parameters()
    if not settings["token_types"]:
        vector = model.roberta.embeddings.token_type_embeddings.weight
        if init == "random":
            torch.nn.init.zeros_(vector)
        vector.requires_grad_(False)
    return model


def training_arguments(folder, seed, settings, device):
    """Return the Trainer's arguments; what they do not govern (see `StudyTrainer`) is left out.

    Args:
        folder: scratch folder.
        seed: of dropout, and of data order where the settings have no other.
        settings: what `common.protocol.framework_settings` returns.
        device: "cpu" or "cuda".
    """
    arguments = TrainingArguments(
        output_dir=folder,
        seed=seed,
        data_seed=run_seeds(settings, seed)["data_seed"],
        use_cpu=device == "cpu",
        num_train_epochs=settings["epochs"],
        per_device_train_batch_size=settings["batch_size"],
        per_device_eval_batch_size=64,
        max_grad_norm=settings["clip_norm"],
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="steps",
        logging_steps=25,
        # Else every update looks for a loss that is not a number; the history would show it.
        logging_nan_inf_filter=False,
        report_to=["tensorboard"],
        remove_unused_columns=False,
        disable_tqdm=False,
    )
    # One device, however many there are: two would change the batch.
    arguments._n_gpu = min(1, arguments.n_gpu)
    return arguments


def history_rows(records):
    """Turn the Trainer's records into rows of `history.tsv`; loss is the mean in nats, accuracy a fraction."""
    for record in records:
        place = {"epoch": record["epoch"], "update": record["update"]}
        yield {**place, "split": "train", "metric": "lr", "value": record["lr"]}
        for split in ("train", "valid"):
            for metric in ("loss", "accuracy", "n_correct"):
                yield {**place, "split": split, "metric": metric, "value": record[split][metric]}


def initialisation(model, init):
    """Return how the weights that were not loaded were drawn, told from the values before the first update.

    Args:
        model: RobertaForSequenceClassification.
        init: "pretrained": only the head is fresh; "random": everything is.
    """
    embeddings, layer = model.roberta.embeddings, model.roberta.encoder.layer[0]
    fresh = {"head_dense": model.classifier.dense, "head_projection": model.classifier.out_proj}
    if init == "random":
        fresh |= {
            "embeddings": embeddings.word_embeddings,
            "positions": embeddings.position_embeddings,
            "attention_query": layer.attention.self.query,
            "attention_output": layer.attention.output.dense,
            "feed_forward": layer.intermediate.dense,
        }
    return {name: describe_draw(module.weight) for name, module in fresh.items()}


def live_protocol(trainer, drawn):
    """Return the settings that the run really had, read from the Trainer's objects after training.

    Args:
        trainer: StudyTrainer of the finished run.
        drawn: what `initialisation` returned before training.
    """
    optimizer, model = trainer.optimizer, trainer.model
    optimizer = getattr(optimizer, "optimizer", optimizer)  # Accelerate wraps it
    group = optimizer.param_groups[0]
    n_all = sum(weights.requires_grad for weights in model.parameters())
    # What fairseq's model has no place for is recorded only where it takes part: matched mode then refuses it.
    trained = model.roberta.embeddings.token_type_embeddings.weight.requires_grad
    token_types = {"token_types": "one vector, added to every token"} if trained else {}
    n_decayed = sum(len(g["params"]) for g in optimizer.param_groups if g["weight_decay"] > 0)
    head = model.classifier
    dropouts = {n: module.p for n, module in model.roberta.named_modules() if isinstance(module, torch.nn.Dropout)}
    attention = {p for name, p in dropouts.items() if name.endswith("attention.self.dropout")}
    states = {p for name, p in dropouts.items() if not name.endswith("attention.self.dropout")}
    plan = trainer.get_train_dataloader().batch_sampler
    longest = model.config.max_position_embeddings - 2
    return {
        "optimizer": f"{type(optimizer).__module__.split('.')[0]}.{type(optimizer).__name__}",
        "betas": list(group["betas"]),
        "eps": group["eps"],
        "weight_decay": group["weight_decay"],
        "decayed_parameters": "every tensor" if n_decayed == n_all else f"{n_decayed} of {n_all} tensors",
        "schedule": "linear warm-up, then linear to 0",
        "lr_first": trainer.rates[0],
        "lr_last": trainer.rates[-1],
        "peak_lr": trainer.lr_scheduler.base_lrs[0],
        "warmup_updates": trainer.rates.index(max(trainer.rates)),
        "total_updates": trainer.state.global_step,
        "clip_norm": trainer.args.max_grad_norm,
        "batch_size": plan.batch_size,
        "batching": plan.rule,
        "padding": f"to the batch's longest, in steps of {STEP}",
        "truncation": f"first {longest - 2} pieces between <s> and </s>",
        "dropout": sorted(states),
        "attention_dropout": max(attention),
        "classifier_dropout": head.dropout.p,
        "head": f"dense {tuple(head.dense.weight.shape)}, tanh, projection {tuple(head.out_proj.weight.shape)}",
        "initialisation": drawn,
        "precision": trainer.precision,
        "evaluation_precision": "float32",
        "loss_unit": "nats, mean over examples",
        "tie_rule": "earliest of equals",
        **token_types,
    }


def state_key(train, valid, checkpoint, init, seed, settings, precision, threads):
    """Return everything that the run's result follows from: arguments of `main`, content of files, versions, code."""
    paths = {"train": train, "valid": valid}
    paths |= {name: os.path.join(checkpoint, name) for name in ("config.json", "model.safetensors")}
    modules = (common.batching, common.dropout, common.scoring, common.training)
    return {
        "init": init,
        "seed": seed,
        "settings": settings,
        "precision": precision,
        # Sums are made in another order by another number of threads, or by a GPU.
        "threads": threads,
        "device": choose_device(),
        "files": {name: sha256(path) for name, path in paths.items()},
        "versions": versions(),
        "code": code_hash(*modules, StudyTrainer, collate, build_model, adapt, training_arguments),
    }


def main(
    train,
    valid,
    checkpoint,
    init,
    seed,
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
        train: `.npz` of the training split's token ids.
        valid: `.npz` of the validation split's; the test split is not an input.
        checkpoint: Hugging Face folder: loaded when `init` is "pretrained", only its sizes when it is "random".
        init: "pretrained" or "random".
        seed: int.
        settings: what `common.protocol.framework_settings` returns.
        checkpoints: folder to write: `epoch1/`, `epoch2/`, ...
        history: TSV file to write.
        run: JSON file to write.
        weights: JSON file to write: the proof of what the run started from.
        tensorboard: folder to write.
        threads: CPU threads.
        states: folder that reruns do not wipe, for the states of this (init, seed) while it is unfinished; removed
            at the end, with what other settings left in it.
        save_every: updates between two saved states; 0: none.

    Raises:
        StudyError: a missing or partial checkpoint, weights that were not loaded, or a run that ended early.
    """
    transformers_logging.set_verbosity_warning()
    set_threads(threads)
    record = job_record({"settings": settings})
    device = choose_device()
    precision = resolve_precision(settings["precision"], device)
    reviews = {"train": Reviews(train), "valid": Reviews(valid)}
    updates = count_updates(len(reviews["train"]), settings["batch_size"], settings["epochs"])
    warmup = warmup_updates(updates, settings["warmup_ratio"])
    model = build_model(checkpoint, init, run_seeds(settings, seed)["init_seed"], settings)
    longest, limit = max(reviews["train"].lengths + reviews["valid"].lengths), model.config.max_position_embeddings - 2
    if longest > limit:
        raise StudyError(f"{train} or {valid} has an input of {longest} tokens, the model {limit} positions")
    folder = state_folder(states, state_key(train, valid, checkpoint, init, seed, settings, precision, threads))
    state = load_state(folder)
    resumed_after, seconds_before = (state["updates"], state["seconds"]) if state else (0, 0.0)
    if state:
        print(f"going on after update {resumed_after}")
    scratch = {name: os.path.join(folder, name) for name in ("checkpoints", "tensorboard", "trainer")}
    # The callback reads it when the Trainer is made; transformers 5 has no argument for it.
    os.environ["TENSORBOARD_LOGGING_DIR"] = scratch["tensorboard"]
    trainer = StudyTrainer(
        settings,
        precision,
        updates,
        warmup,
        scratch["checkpoints"],
        lambda state: save_state(folder, {**state, "seconds": seconds_before + time.monotonic() - started}),
        save_every,
        state,
        model=model,
        args=training_arguments(scratch["trainer"], seed, settings, device),
        train_dataset=reviews["train"],
        eval_dataset=reviews["valid"],
    )
    # Of a resumed run too: its state is taken up at its first update, and the start is drawn again, alike.
    proof = prove_weights(
        dict(trainer.model.named_parameters()),
        load_file(os.path.join(checkpoint, "model.safetensors")),
        init,
        head=HEAD,
    )
    drawn = initialisation(trainer.model, init)
    started = time.monotonic()
    if state:
        # The number of updates made is all that the Trainer takes from a file; the rest is `_take_up`'s.
        with tempfile.TemporaryDirectory() as place:
            write_text(os.path.join(place, TRAINER_STATE_NAME), state["trainer"])
            del state
            trainer.train(resume_from_checkpoint=place)
    else:
        trainer.train()
    seconds = seconds_before + time.monotonic() - started
    if trainer.state.global_step != updates or len(trainer.records) != settings["epochs"]:
        raise StudyError(f"the Trainer ended after {trainer.state.global_step} of {updates} updates: see the log")
    write_json(weights, proof)
    write_tsv(history, history_rows(trainer.records), COLUMNS)
    write_json(
        run,
        {
            "framework": "huggingface",
            "init": init,
            "seed": seed,
            **run_seeds(settings, seed),
            "n_train": len(reviews["train"]),
            "n_valid": len(reviews["valid"]),
            "total_updates": trainer.state.global_step,
            "warmup_updates": warmup,
            "train_seconds": seconds,
            "resumed_after": resumed_after,
            "precision": precision,
            "device": device,
            "threads": threads,
            **record,
            "ended": now(),
            "versions": versions(),
            "protocol": live_protocol(trainer, drawn),
        },
    )
    for name, destination in (("tensorboard", tensorboard), ("checkpoints", checkpoints)):
        with atomic_path(destination) as temporary:
            shutil.move(scratch[name], temporary)
    shutil.rmtree(states)


if __name__ == "__main__":
    with running(snakemake):  # noqa: F821
        main(
            snakemake.input.train,  # noqa: F821
            snakemake.input.valid,  # noqa: F821
            snakemake.input.checkpoint,  # noqa: F821
            snakemake.wildcards.init,  # noqa: F821
            int(snakemake.wildcards.seed),  # noqa: F821
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
