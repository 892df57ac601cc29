"""Hugging Face's Trainer on answers: every learnt token of an update weighs the same; held-out pairs are measured."""

import functools
import itertools
import json
import math
import time

import torch
from torch.utils.data import DataLoader
from transformers import TrainerCallback

from qa.causal_lm import as_tensors, score, token_nats
from qa.question_pairs import IGNORED
from training.batching import epoch_batches
from training.divergence import refuse_divergence
from training.resumable_trainer import ResumableTrainer, trainer_arguments

SECTION = "qa.training"


def microbatches(n_pairs, batch_size, seed):
    """Yield batches of pair numbers without end: every epoch in a different order.

    Args:
        n_pairs: pairs to train on.
        batch_size: pairs a micro-batch; an epoch's last may be short.
        seed: seed of the run; a resumed run draws the same.
    """
    for epoch in itertools.count(1):
        yield from epoch_batches([1] * n_pairs, batch_size, seed, epoch, "random")


class Pace(TrainerCallback):
    """The clock of the updates, without measuring and saving; the last update is measured whatever its number."""

    def __init__(self):
        self.begun, self.seconds = None, 0.0

    def on_step_end(self, args, state, control, **kwargs):
        """Stop the clock, and measure after the last update."""
        self.seconds += time.monotonic() - self.begun
        if state.global_step >= state.max_steps:
            control.should_evaluate = True


class AnswerTrainer(ResumableTrainer):
    """The Trainer with the answers' loss, the run's stream of batches and its rows.

    Attributes:
        protocol: dict of `qa.training` of the config.
        precision: "float32" or "bfloat16" (autocast).
        pad: id for padding.
        rows: one an update (split train, measured before it) and one a measurement (split heldout, after it).
        pace: see `Pace`.
    """

    # `compute_loss` divides by the learnt tokens of all the update's batches.
    loss_is_scaled_for_ga = True

    def __init__(self, protocol, precision, pad, **kwargs):
        self.protocol, self.precision, self.pad = protocol, precision, pad
        self.rows, self.rate, self.pace = [], protocol["lr"], Pace()
        super().__init__(callbacks=[self.pace], **kwargs)
        self._start_sums()

    def _start_sums(self):
        self.objective = self.answer_sum = 0.0
        self.n_answer = 0

    def get_train_dataloader(self):
        """Return all batches of the run, so that an update takes its batches across an epoch's end."""
        protocol = self.protocol
        stream = microbatches(len(self.train_dataset), protocol["batch_size"], self.args.seed)
        batches = list(itertools.islice(stream, protocol["updates"] * protocol["accumulation"]))
        collate = functools.partial(as_tensors, pad=self.pad, device=torch.device("cpu"))
        return DataLoader(self.train_dataset, batch_sampler=batches, collate_fn=collate)

    def _get_num_items_in_batch(self, batch_samples, device):
        """Return the learnt tokens of an update's batches, so that a long answer weighs by its tokens."""
        return sum(int((batch["labels"][:, 1:] != IGNORED).sum()) for batch in batch_samples)

    def _begin_update(self):
        """Draw dropout from the run's seed alone, and start the clock once a state is taken up or saved."""
        if self.state.global_step == 0:
            torch.manual_seed(self.args.seed)
        super()._begin_update()
        self.pace.begun = time.monotonic()

    def training_step(self, model, inputs, num_items_in_batch=None):
        """Train on a batch; at an update's last, note the update."""
        loss = super().training_step(model, inputs, num_items_in_batch)
        if self.accelerator.sync_gradients:
            update, self.rate = self.state.global_step + 1, self.optimizer.param_groups[0]["lr"]
            refuse_divergence("the training loss", self.objective, update, self.rate, SECTION)
            costs = {"loss": self.answer_sum / self.n_answer, "objective": self.objective, "n_tokens": self.n_answer}
            self.rows.append({"update": update, "split": "train", **costs, "lr": self.rate})
            self._start_sums()
        return loss

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """Return a batch's share of the update's loss: nats per learnt token of all its batches."""
        with torch.autocast(self.args.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            nats, learnt, answer = token_nats(model, inputs)
        loss = nats[learnt].sum() / num_items_in_batch
        self.objective += loss.item()
        self.answer_sum += nats.detach()[answer].double().sum().item()
        self.n_answer += int(answer.sum())
        return (loss, {}) if return_outputs else loss

    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        """Measure the held-out pairs in the model's precision, and keep the row."""
        costs, update = score(self.model, self.eval_dataset, self.pad, self.args.device), self.state.global_step
        print(f"update {update}: held-out {costs['loss']:.4f} nats an answer token")
        refuse_divergence("the held-out loss", costs["loss"], update, self.rate, SECTION)
        kept = {key: costs[key] for key in ("loss", "objective", "n_tokens")}
        self.rows.append({"update": update, "split": "heldout", **kept, "lr": None})
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in kept.items()}
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _state(self):
        """Return the state with the rows and the clock so far."""
        return super()._state() | {"rows": json.dumps(self.rows), "rate": self.rate, "seconds": self.pace.seconds}

    def _take_up(self, state):
        """Take up rows and clock as well."""
        super()._take_up(state)
        self.rows, self.rate, self.pace.seconds = json.loads(state["rows"]), state["rate"], state["seconds"]


def make_trainer(model, pairs, protocol, seed, precision, device, pad, optimizer, folder, save, save_every, saved):
    """Return the Trainer of a run.

    Args:
        model, pairs, protocol, seed, precision, device, pad, folder, save_every: see `qa.tuning.tune`.
        optimizer: optimizer of the model's trainable parameters.
        save, saved: see `ResumableTrainer`.
    """
    arguments = trainer_arguments(
        folder,
        seed,
        device.type,
        max_steps=protocol["updates"],
        per_device_train_batch_size=protocol["batch_size"],
        gradient_accumulation_steps=protocol["accumulation"],
        lr_scheduler_type="cosine",
        warmup_steps=math.ceil(protocol["updates"] * protocol["warmup_ratio"]),
        max_grad_norm=protocol["clip_norm"],
        eval_strategy="steps",
        eval_steps=protocol["evaluate_every"],
        eval_on_start=saved is None,
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
    )
    sets = {"train_dataset": pairs["train"], "eval_dataset": pairs["heldout"]}
    resuming = {"save": save, "save_every": save_every, "saved": saved}
    return AnswerTrainer(
        protocol, precision, pad, model=model, args=arguments, optimizers=(optimizer, None), **sets, **resuming
    )
