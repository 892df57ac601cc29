"""Hugging Face's Trainer with the study's batches, optimizer, schedule, precision, records and resumable state."""

import functools
import json
import os

import torch
from torch.utils.data import DataLoader, Dataset

import tasks
from common.errors import StudyError
from common.files import grant
from finetuning.scoring import has_segments, pad_batch, padding_of, score, summarize
from finetuning.token_ids import read_token_ids
from training.batching import count_updates, epoch_batches, padded_length
from training.divergence import refuse_divergence
from training.dropout import cheap_dropout
from training.imports import without
from training.objective import plain_loss
from training.process import release_memory
from training.schedule import learning_rate

# PEFT, which the Trainer loads, would load bitsandbytes for 4-bit weights.
with without("bitsandbytes"):
    from training.resumable_trainer import ResumableTrainer, TrainingArguments, trainer_arguments


class Reviews(Dataset):
    """Token ids and labels of a split."""

    def __init__(self, path):
        self.sequences, self.labels = read_token_ids(path)
        self.lengths = [len(sequence) for sequence in self.sequences]
        # The standard deviation of numbers, where they were divided by it.
        self.spread = 1.0

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


def collate(examples, limit, pad, segments=False):
    """Turn (ids, label) pairs into a padded batch; `limit`: see `training.batching.padded_length`; `pad`: its id."""
    sequences, labels = zip(*examples, strict=True)
    return pad_batch(sequences, labels, padded_length(max(map(len, sequences)), limit), pad, segments)


class StudyTrainer(ResumableTrainer):
    """The Trainer with the study's batch plan, optimizer, schedule, precision and records.

    Attributes:
        tuning: the `finetuning.runs.Run`; it is given the state after every `save_every` updates (0: never).
        merged: function that returns the model to save; None: the one that is trained.
        records: see `finetuning.runs.history_rows`.
        rates: the learning rate of every update.
    """

    SECTION = "finetuning.training"

    def __init__(self, tuning, save_every, saved, merged=None, **kwargs):
        self.tuning, self.settings, self.merged = tuning, tuning.settings, merged
        self.records, self.rates = [], []
        self.kind = tasks.of_problem(kwargs["model"].config.problem_type)
        super().__init__(tuning.save, save_every, saved, **kwargs)
        self._start_sums()

    def _start_sums(self):
        self.sums = torch.zeros(2, device=self.args.device, dtype=torch.float64)
        self.seen, self.noted = 0, []

    def get_train_dataloader(self):
        """Return the loader of the batch plan that both frameworks follow."""
        plan = PlannedBatches(
            self.train_dataset.lengths, self.settings["batch_size"], self.args.data_seed, self.settings["batching"]
        )
        of_model = {"pad": padding_of(self.model), "segments": has_segments(self.model)}
        pad = functools.partial(collate, limit=max(self.train_dataset.lengths), **of_model)
        return PlannedLoader(self.train_dataset, batch_sampler=plan, collate_fn=pad)

    def create_optimizer(self, model=None):
        """Return fused AdamW with decay on every tensor (the Trainer's exempts biases and LayerNorms)."""
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
        warmup, updates = self.tuning.warmup, self.tuning.updates
        if num_training_steps != updates:
            raise StudyError(f"the Trainer plans {num_training_steps} updates, the study {updates}")
        if self.lr_scheduler is None:
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
                optimizer or self.optimizer, lambda n: learning_rate(n + 1, 1.0, warmup, updates)
            )
        return self.lr_scheduler

    def _state(self):
        """Return the state with the records so far."""
        kept = {"records": json.dumps(self.records), "rates": self.rates, "sums": self.sums, "seen": self.seen}
        kept["micro"] = self.tuning.micro.state()
        return super()._state() | kept

    def _take_up(self, state):
        """Restore the records as well."""
        super()._take_up(state)
        self.records, self.rates = json.loads(state["records"]), state["rates"]
        self.sums, self.seen = state["sums"].to(self.sums.device), state["seen"]
        self.tuning.micro.take_up(state["micro"])

    def training_step(self, model, inputs, num_items_in_batch=None):
        """Add up the gradients of an update's micro-batches, and note the update."""
        self._enter_update()
        labels, step, micro = inputs["labels"], super().training_step, self.tuning.micro
        self.rates.append(self.optimizer.param_groups[0]["lr"])

        def train_part(part):
            # None: the batch as a whole, whose mean PyTorch takes itself.
            self.size = None if part.stop - part.start == len(labels) else self.tuning.objective.size(labels)
            return step(model, {name: tensor[part] for name, tensor in inputs.items()}, num_items_in_batch)

        def forget():
            self.noted = []
            model.zero_grad()

        update = self.state.global_step + 1
        losses = micro.run(update, len(labels), train_part, forget)
        for _, _, sums in self.noted:
            self.sums += sums
        self.seen += len(labels)
        shares = [mean if size == len(labels) else mean * size / len(labels) for mean, size, _ in self.noted]
        self.tuning.curves.update(update, sum(shares), self.rates[-1])
        self.noted = []
        return sum(losses)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """Return a micro-batch's share of the objective, with the forward pass under autocast on request.

        Plain cross entropy is noted, whatever is minimized.
        """
        labels = inputs["labels"]
        autocast = torch.autocast(
            self.args.device.type, dtype=torch.bfloat16, enabled=self.tuning.precision == "bfloat16"
        )
        with autocast, cheap_dropout():
            outputs = model(**{name: tensor for name, tensor in inputs.items() if name != "labels"})
        logits, objective = outputs.logits.float(), self.tuning.objective
        whole = self.size is None
        loss = objective.mean(logits, labels) if whole else objective.sum(logits, labels) / self.size
        with torch.no_grad():
            plain = loss if whole and objective.plain else plain_loss(self.kind, logits, labels)
            correct = self.kind.right(self.kind.answers(logits), labels).sum()
            self.noted.append((plain.item(), len(labels), torch.stack([plain * len(labels), correct])))
        refuse_divergence("the training loss", self.noted[-1][0], self.state.global_step + 1, **self._told())
        return (loss, outputs) if return_outputs else loss

    def _told(self):
        """Return what `refuse_divergence` says beside the number and its update."""
        of_run = {"precision": self.tuning.precision, "run": self.tuning.name}
        return {"lr": self.rates[-1], "section": self.SECTION, **of_run}

    def evaluate(self, eval_dataset=None, ignore_keys=None, metric_key_prefix="eval"):
        """Score the validation split in float32, batches sorted by length, and keep the epoch's record."""
        release_memory()
        valid = summarize(
            score(
                self.model if self.kind.COUNTED else self.merged(),
                self.eval_dataset.sequences,
                self.args.per_device_eval_batch_size,
            ),
            self.eval_dataset.labels,
            self.settings.get("measure"),
            self.kind.PROBLEM,
        )
        update = self.state.global_step
        refuse_divergence("the validation loss", valid["loss"], update, **self._told())
        self.tuning.curves.measure("valid", update, **{key: valid[key] for key in ("loss", "accuracy") if key in valid})
        loss, correct = self.sums.tolist()
        train = {"loss": loss / self.seen * self.train_dataset.spread**2}
        if self.kind.COUNTED:
            train |= {"accuracy": correct / self.seen, "n_correct": int(correct)}
        self._start_sums()
        epoch = len(self.records) + 1
        self.records.append(
            {
                "epoch": epoch,
                "update": update,
                "lr": self.rates[-1],
                "train": train,
                "valid": valid,
            }
        )
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in valid.items()}
        self.log(metrics | {f"train_epoch_{name}": value for name, value in train.items() if name != "n_correct"})
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        if self.tuning.stops(self.records):
            # The Trainer saves this epoch's weights first.
            self.control.should_training_stop = True
        return metrics

    def _save_checkpoint(self, model, trial):
        """Save the weights only, under the epoch's number (the Trainer would use the update's)."""
        folder = os.path.join(self.tuning.place("checkpoints"), f"epoch{len(self.records)}")
        (self.merged() if self.merged else self.model).save_pretrained(folder)
        grant(os.path.join(folder, "model.safetensors"))
        release_memory()


def training_arguments(tuning):
    """Return the Trainer's arguments, without those that `StudyTrainer` overrides."""
    settings = tuning.settings
    return trainer_arguments(
        tuning.place("trainer"),
        tuning.dropout_seed,
        tuning.device,
        data_seed=tuning.seeds["data_seed"],
        num_train_epochs=settings["epochs"],
        per_device_train_batch_size=settings["batch_size"],
        per_device_eval_batch_size=64,
        max_grad_norm=settings["clip_norm"],
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="steps",
        logging_steps=25,
        disable_tqdm=False,
    )


def as_call(arguments):
    """Return the call that sets the Trainer's arguments that are not defaults."""
    defaults = TrainingArguments(output_dir=arguments.output_dir, use_cpu=arguments.use_cpu).to_dict()
    given = {name: value for name, value in arguments.to_dict().items() if value != defaults[name]}
    given |= {"output_dir": arguments.output_dir, "use_cpu": arguments.use_cpu}
    return f"TrainingArguments({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def make_trainer(tuning, model, reviews, save_every, saved, merged=None):
    """Return the Trainer of a run, with its scratch files in the run's folder.

    Args:
        tuning: the `finetuning.runs.Run`.
        model: RobertaForSequenceClassification.
        reviews: {split: Reviews} of train and valid.
        save_every, saved, merged: see `StudyTrainer`.
    """
    arguments = training_arguments(tuning)
    print(as_call(arguments))
    sets = {"train_dataset": reviews["train"], "eval_dataset": reviews["valid"]}
    return StudyTrainer(tuning, save_every, saved, merged, model=model, args=arguments, **sets)
