"""Records of the recipe's training: losses, rates and accuracies, and the proof of its weights.

It only observes: the losses, the draws and the order of the recipe are those of a plain Trainer.
"""

import json
import os
import re
import shutil

import torch
from safetensors.torch import load_file
from transformers import Trainer, TrainerCallback

from finetuning.scoring import summarize
from frameworks.huggingface.classifier import HEAD
from frameworks.run_glue.recipe import Watch
from training.divergence import refuse_divergence
from training.draws import RecordedDraws, describe_start
from training.weights import prove_weights

SECTION = "finetuning.training"
# The run records how these weights were drawn.
HEAD_WEIGHTS = {"head_dense": "classifier.dense.weight", "head_projection": "classifier.out_proj.weight"}
# The Trainer saves these for resuming after an epoch; the last epoch's are enough.
TO_RESUME = ("optimizer.pt", "scheduler.pt", "rng_state.pth")
CHECKPOINT = re.compile(r"checkpoint-(\d+)")


def epochs_of(folder):
    """Return the checkpoints that the recipe saved, [(updates made, path)], the earliest first."""
    found = [(CHECKPOINT.fullmatch(name), os.path.join(folder, name)) for name in os.listdir(folder)]
    return sorted((int(match[1]), path) for match, path in found if match)


class WatchedTrainer(Trainer):
    """The Trainer with records of its updates and measurements.

    Attributes:
        tuning: the `finetuning.runs.Run`.
        records: see `finetuning.runs.history_rows`.
        rates: the learning rate of every update.
        widths: lengths of the training batches, tokens with their padding, each once.
    """

    def __init__(self, tuning, saved, **parts):
        """Restore the records of an earlier process (`saved`), or none (None)."""
        stock = parts.pop("compute_metrics")
        super().__init__(compute_metrics=lambda prediction: self._keep(prediction) or stock(prediction), **parts)
        self.tuning = tuning
        self.records = json.loads(saved["records"]) if saved else []
        self.rates = saved["rates"] if saved else []
        self.widths = saved["widths"] if saved else []
        self.prediction = None
        self.add_callback(SaveState(self))
        self._start_sums()

    def _keep(self, prediction):
        self.prediction = prediction

    def _start_sums(self):
        self.sums, self.seen = [0.0, 0], 0

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        """Return the recipe's loss, and record it in training."""
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **kwargs)
        if model.training:
            self._note(inputs, outputs.logits.detach().float())
        return (loss, outputs) if return_outputs else loss

    def _note(self, inputs, logits):
        """Record an update: logits float32 (n, classes) of its batch."""
        labels = inputs["labels"]
        value = torch.nn.functional.cross_entropy(logits, labels).item()
        self.rates.append(self.optimizer.param_groups[0]["lr"])
        update = self.state.global_step + 1
        refuse_divergence("the training loss", value, update, **self._told())
        self.sums[0] += value * len(labels)
        self.sums[1] += int((logits.argmax(dim=1) == labels).sum())
        self.seen += len(labels)
        if (width := inputs["input_ids"].shape[1]) not in self.widths:
            self.widths.append(width)
        self.tuning.curves.update(update, value, self.rates[-1])

    def _told(self):
        """Return what `refuse_divergence` says beside the number and its update."""
        of_run = {"precision": self.tuning.precision, "run": self.tuning.name}
        return {"lr": self.rates[-1], "section": SECTION, **of_run}

    def evaluate(self, *args, **kwargs):
        """Measure as the recipe does, and record the epoch, with validation's numbers computed from the same logits."""
        metrics = super().evaluate(*args, **kwargs)
        if not self.is_in_train:
            return metrics
        logits, labels = torch.as_tensor(self.prediction.predictions).float(), self.prediction.label_ids
        valid = summarize(logits, labels, self.tuning.settings.get("measure"))
        update = self.state.global_step
        refuse_divergence("the validation loss", valid["loss"], update, **self._told())
        self.tuning.curves.measure("valid", update, valid["loss"], valid["accuracy"])
        loss, correct = self.sums
        train = {"loss": loss / self.seen, "accuracy": correct / self.seen, "n_correct": correct}
        self._start_sums()
        epoch = len(self.records) + 1
        self.records.append({"epoch": epoch, "update": update, "lr": self.rates[-1], "train": train, "valid": valid})
        return metrics

    def train(self, *args, **kwargs):
        """Train, and stop the run's clock."""
        result = super().train(*args, **kwargs)
        self.tuning.end(self.records)
        return result


class SaveState(TrainerCallback):
    """Saves the run's record beside each epoch's checkpoint, so that a killed run resumes there."""

    def __init__(self, trainer):
        self.trainer = trainer

    def on_save(self, args, state, control, **kwargs):
        """Save the record, and keep only the weights of earlier epochs."""
        for _, folder in epochs_of(args.output_dir)[:-1]:
            for name in TO_RESUME:
                if os.path.exists(path := os.path.join(folder, name)):
                    os.remove(path)
        trainer = self.trainer
        kept = {"records": json.dumps(trainer.records), "rates": trainer.rates, "widths": trainer.widths}
        trainer.tuning.save({"updates": state.global_step, **kept})


class Recorded(Watch):
    """A run's watch: its proof of weights, its head's distribution, its Trainer.

    Attributes:
        tuning: the `finetuning.runs.Run`.
        checkpoint: folder that the run starts from.
        saved: state to resume from, or None.
        proof, drawn: known once the model is built.
    """

    def __init__(self, tuning, checkpoint, saved):
        self.tuning, self.checkpoint, self.saved = tuning, checkpoint, saved
        self.draws = RecordedDraws()

    def parsed(self, training):
        """Train on one device, however many there are: two would change the batch."""
        training._n_gpu = min(1, training.n_gpu)
        self.tuning.record["warmup_updates"] = training.get_warmup_steps(self.tuning.updates)

    def building(self):
        """Record how the fresh weights are drawn."""
        return self.draws

    def built(self, model, datasets):
        """Prove the weights and start the clock."""
        self.drawn = describe_start(model, HEAD_WEIGHTS, self.draws.named(model))
        reference = load_file(os.path.join(self.checkpoint, "model.safetensors"))
        self.proof = prove_weights(dict(model.named_parameters()), reference, "pretrained", head=HEAD)
        self.tuning.start()

    def trainer(self, **parts):
        """Return the watched Trainer."""
        return WatchedTrainer(self.tuning, self.saved, **parts)


def forget_later(folder, saved):
    """Remove checkpoints that a killed process saved after the restored state; `training.state` has emptied them.

    Args:
        folder: the recipe's output folder.
        saved: the state, or None.
    """
    if not os.path.isdir(folder):
        return
    for updates, path in epochs_of(folder):
        if saved is None or updates > saved["updates"]:
            shutil.rmtree(path)
    if saved is None:
        shutil.rmtree(folder)
