"""A run's steps in every framework: resume from its saved state, record itself, publish its results atomically."""

import os
import shutil
import time

import tasks
from common.arms import run_label
from common.errors import StudyError
from common.files import atomic_path, sha256, write_json, write_tsv
from common.machine import job_record, now
from finetuning.prediction_files import HISTORY
from finetuning.seeds import run_seeds
from finetuning.selection import RULE, stalled
from frameworks.matched import OPTIONAL
from training.accumulation import MicroBatches
from training.batching import STEP, count_updates
from training.loss_curves import Curves
from training.objective import Objective, OfKind
from training.precision import choose_device, resolve_precision
from training.process import flush_denormals, set_threads, versions
from training.schedule import warmup_updates
from training.state import code_hash, load_state, save_state, state_folder


class Run:
    """One run: `aim`, `resume`, `start`, train (and `save`), `end`, `finish`.

    Attributes:
        init, seed, settings: as given.
        name: of the run, for messages.
        micro: `training.accumulation.MicroBatches` of its updates.
        objective: `training.objective.Objective`; known after `aim`.
        seeds: init_seed and data_seed (see `finetuning.seeds.run_seeds`).
        dropout_seed: of all else that is random in training.
        device, precision: the device and number format of training.
        updates, warmup: updates and warmup of the whole run; known after `resume`.
        folder: the run's state folder, also for what else it writes while it is unfinished; known after `resume`.
    """

    def __init__(self, arm, seed, settings, threads, **more):
        """Set the process's threads and note when the run started.

        Args:
            arm: dict of the columns of `common.arms.ARM`.
            seed: int.
            settings: what `finetuning.protocol.framework_settings` returns.
            threads: CPU threads.
            **more: the other settings that decide the result.
        """
        set_threads(threads)
        self.record = job_record({"settings": settings, **more})
        self.init, self.seed, self.settings, self.threads, self.more = arm["init"], seed, settings, threads, more
        self.seeds = run_seeds(settings, seed)
        self.dropout_seed = self.seeds.get("dropout_seed", seed)
        self.name = run_label(arm["arm"], seed) if "arm" in arm else None
        self.micro = MicroBatches(settings.get("batch_size", 1), settings.get("accumulation", 1))
        self.device = choose_device()
        self.precision = resolve_precision(settings["precision"], self.device)
        self.record |= {**arm, "seed": seed, **self.seeds, "settings": settings}
        self.record |= {"precision": self.precision, "threads": threads, "versions": versions()}

    def aim(self, labels, n_classes, task=tasks.DEFAULT):
        """Decide what training minimizes, by the labels of the run's training texts: see `training.objective`."""
        classes = task == tasks.DEFAULT
        self.objective = Objective(self.settings, labels, n_classes) if classes else OfKind(tasks.load(task))
        if self.objective.weights is not None:
            self.record["class_weights"] = self.objective.weights

    def stops(self, records):
        """Tell whether the records so far end the run: `patience` epochs without a better one."""
        return stalled(records, self.settings.get("patience"), self.settings.get("select_by", "accuracy"))

    def optional(self, rates):
        """Return what `protocol` records of settings that most runs leave alone.

        Args:
            rates: the learning rate of every update.
        """
        found = {key: self.settings[key] for key in OPTIONAL if key in self.settings} | restricted(self.settings)
        if "class_weights" in found:
            found["class_weights"] = self.objective.weights
        if "patience" in found:
            # Where two runs alike stopped is their result, no difference between their settings.
            found["lr_last"] = "of the epoch that the run ended with"
            if len(rates) <= self.warmup:
                found |= {"peak_lr": self.settings["lr"], "warmup_updates": self.warmup}
        return found

    def resume(self, states, sizes, files, code):
        """Open the run's state folder and return the saved state, or None.

        Only a run with the same settings, input, code, versions, device and threads finds a state.

        Args:
            states: folder that reruns do not wipe, for the states of this (arm, seed) while it is unfinished; removed
                at the end, together with states of other settings.
            sizes: {split: reviews} of train and valid.
            files: {name: path} of the files that the result depends on.
            code: modules, classes and functions that the result depends on.

        Returns:
            dict: the state given to `save`; only the caller keeps a reference to it.
        """
        self.updates = count_updates(sizes["train"], self.settings["batch_size"], self.settings["epochs"])
        self.warmup = warmup_updates(self.updates, self.settings["warmup_ratio"])
        key = {
            "init": self.init,
            "seed": self.seed,
            "settings": self.settings,
            **self.more,
            "precision": self.precision,
            # Another number of threads, or a GPU, adds numbers in another order.
            "threads": self.threads,
            "device": self.device,
            "files": {name: sha256(path) for name, path in files.items()},
            "versions": versions(),
            "code": code_hash(set_threads, flush_denormals, *code),
        }
        self.states, self.folder = states, state_folder(states, key)
        state = load_state(self.folder)
        done, self.seconds = (state["updates"], state["seconds"]) if state else (0, 0.0)
        if state:
            print(f"going on after update {done}")
        self.record |= {"n_train": sizes["train"], "n_valid": sizes["valid"], "resumed_after": done}
        self.record |= {"total_updates": self.updates, "warmup_updates": self.warmup}
        return state

    def place(self, name):
        """Return the path of a file or folder that the unfinished run writes."""
        return os.path.join(self.folder, name)

    def start(self):
        """Start the clock at the time of earlier processes, and return the curves to write."""
        self.began = time.monotonic() - self.seconds
        self.curves = Curves(
            self.place("tensorboard"), self.record["resumed_after"], self.updates, self.settings["epochs"]
        )
        return self.curves

    def save(self, state):
        """Save a state: `updates` (number made) and everything that the rest of the run depends on."""
        self.curves.flush()
        save_state(self.folder, {**state, "seconds": time.monotonic() - self.began})

    def end(self, records):
        """Stop the clock and end the curves.

        Raises:
            StudyError: training ended before the last update, and `patience` is no reason.
        """
        self.record["train_seconds"] = time.monotonic() - self.began
        self.curves.close()
        done = records[-1]["update"] if records else 0
        if self.micro.halvings:
            self.record["halvings"] = self.micro.halvings
        if 0 < len(records) < self.settings["epochs"] and self.stops(records):
            self.record["stopped"] = {"epoch": len(records), "update": done}
        elif done != self.updates or len(records) != self.settings["epochs"]:
            raise StudyError(f"training ended after {done} of {self.updates} updates: see the log")

    def finish(self, outputs, records, proof, protocol, **facts):
        """Write the run's results, then remove its state.

        Args:
            outputs: {name: path}: weights, run (JSON), history (TSV), tensorboard, checkpoints (folders, which the run
                has at `place(name)`).
            records: see `history_rows`.
            proof: findings of `training.weights.prove_weights` before the first update.
            protocol: the settings that the run really had.
            **facts: further entries of `run.json`.
        """
        write_json(outputs["weights"], proof)
        write_tsv(outputs["history"], history_rows(records), HISTORY)
        write_json(outputs["run"], {**self.record, **facts, "protocol": protocol, "ended": now()})
        for name in ("tensorboard", "checkpoints"):
            with atomic_path(outputs[name]) as temporary:
                shutil.move(self.place(name), temporary)
        shutil.rmtree(self.states)


def history_rows(records):
    """Turn a run's records into rows of `history.tsv`; loss is the mean in nats, accuracy a fraction.

    Args:
        records: one an epoch: {epoch, update, lr (of the last update), train and valid: {loss, accuracy, n_correct}};
            valid also has another measure where that chooses the epoch.
    """
    for record in records:
        place = {"epoch": record["epoch"], "update": record["update"]}
        yield {**place, "split": "train", "metric": "lr", "value": record["lr"]}
        for split in ("train", "valid"):
            for metric, value in record[split].items():
                yield {**place, "split": split, "metric": metric, "value": value}


def restricted(settings):
    """Return the entries of `protocol` for an arm that trains part of its model."""
    return {key: settings[key] for key in ("freeze", "lora") if settings.get(key) is not None}


def live_protocol(optimizer, model, head, rates, positions):
    """Return the settings that a run really had, as far as PyTorch's objects show them in both frameworks.

    Args:
        optimizer: optimizer of PyTorch.
        model: the trained classifier.
        head: its classification head: `dense`, `dropout`, `out_proj`.
        rates: the learning rate of every update.
        positions: tokens that the model has places for.
    """
    return general_protocol(optimizer, model, rates) | {
        "truncation": f"first {positions - 2} pieces between <s> and </s>",
        "classifier_dropout": head.dropout.p,
        "head": f"dense {tuple(head.dense.weight.shape)}, tanh, projection {tuple(head.out_proj.weight.shape)}",
    }


def general_protocol(optimizer, model, rates):
    """Return the settings outside the classification head, which every model has; part of `live_protocol`."""
    group = optimizer.param_groups[0]
    n_trained = sum(weights.requires_grad for weights in model.parameters())
    n_decayed = sum(len(group["params"]) for group in optimizer.param_groups if group["weight_decay"] > 0)
    return {
        "optimizer": f"{type(optimizer).__module__.split('.')[0]}.{type(optimizer).__name__}",
        "betas": list(group["betas"]),
        "eps": group["eps"],
        "weight_decay": group["weight_decay"],
        "decayed_parameters": "every tensor" if n_decayed == n_trained else f"{n_decayed} of {n_trained} tensors",
        "schedule": "linear warm-up, then linear to 0",
        "lr_first": rates[0],
        "lr_last": rates[-1],
        "peak_lr": max(rates),
        "warmup_updates": rates.index(max(rates)),
        "padding": f"to the batch's longest, in steps of {STEP}",
        "evaluation_precision": "float32",
        "loss_unit": tasks.of_problem(getattr(getattr(model, "config", None), "problem_type", None)).LOSS_UNIT,
        "tie_rule": RULE,
    }
