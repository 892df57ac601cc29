"""Hugging Face's Trainer, whose runs resume bit for bit from the study's states."""

import dataclasses
import json
import os
import tempfile

import torch

from common.files import write_text
from training.imports import postponed

with postponed("scipy.optimize"):
    from transformers import Trainer, TrainingArguments
    from transformers.trainer import TRAINER_STATE_NAME


def moving(model):
    """Return the tensors that training can change, by name: trainable parameters and buffers."""
    parameters = {name: each.detach() for name, each in model.named_parameters() if each.requires_grad}
    return parameters | dict(model.named_buffers())


class ResumableTrainer(Trainer):
    """The Trainer, which hands out its state before an update and restores such a state.

    A subclass adds its records to `_state` and `_take_up`.

    Attributes:
        save: function that is given the state after every `save_every` updates (0: never).
        saved: state to resume from, or None.
    """

    def __init__(self, save, save_every, saved, **kwargs):
        self.save, self.save_every, self.saved = save, save_every, saved
        self.begun = None
        super().__init__(**kwargs)

    def train(self):
        """Train from the start, or resume from `saved`."""
        if self.saved is None:
            super().train()
            return
        # The Trainer takes only the number of updates from a file; `_take_up` does the rest.
        with tempfile.TemporaryDirectory() as place:
            write_text(os.path.join(place, TRAINER_STATE_NAME), self.saved["trainer"])
            super().train(resume_from_checkpoint=place)

    def training_step(self, model, inputs, num_items_in_batch=None):
        """Begin an update at its first batch, then train on the batch."""
        self._enter_update()
        return super().training_step(model, inputs, num_items_in_batch)

    def _enter_update(self):
        """Begin an update, once."""
        if self.begun != self.state.global_step:
            self.begun = self.state.global_step
            self._begin_update()

    def _begin_update(self):
        """Restore or hand out the state before an update, when everything of the updates so far is done.

        The random state is that of this moment, so a resumed Trainer's earlier draws do not matter.
        """
        done = self.state.global_step
        if self.saved is not None:
            self._take_up(self.saved)
            self.saved = None
        elif self.save_every and done and done % self.save_every == 0:
            self.save(self._state())

    def _state(self):
        """Return everything that the rest of the run depends on: tensors (the live ones) and plain values."""
        return {
            "updates": self.state.global_step,
            "trainer": json.dumps(dataclasses.asdict(self.state)),
            "weights": moving(self.model),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.lr_scheduler.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            # The losses that the Trainer will log are means since its last log entry, and since the start.
            "loss_to_log": self._tr_loss,
            "logged_after": self._globalstep_last_logged,
            "logged_losses": self._total_loss_scalar,
        }

    def _take_up(self, state):
        """Restore a state from `_state`; the Trainer itself has skipped to the place in the epoch."""
        with torch.no_grad():
            for name, tensor in moving(self.model).items():
                tensor.copy_(state["weights"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.lr_scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["random"])
        if state["random_cuda"]:
            torch.cuda.set_rng_state_all(state["random_cuda"])
        self._tr_loss.copy_(state["loss_to_log"])
        self._globalstep_last_logged = state["logged_after"]
        self._total_loss_scalar, self._initial_global_step = state["logged_losses"], 0

    def _load_from_checkpoint(self, resume_from_checkpoint, model=None):
        """Load nothing: see `_take_up`."""

    def _get_grad_norm(self, model, grad_norm=None):
        """Skip the norm that the Trainer computes for its log only."""
        return grad_norm

    def floating_point_ops(self, inputs):
        """Skip an estimate that visits all modules at every update."""
        return 0


def trainer_arguments(folder, seed, device, **given):
    """Return the Trainer's arguments: those that every training shares, and the given ones.

    Args:
        folder: folder for the Trainer's scratch files.
        seed: seed of the run.
        device: "cpu" or "cuda".
        **given: arguments of `TrainingArguments`.
    """
    arguments = TrainingArguments(
        output_dir=folder,
        seed=seed,
        use_cpu=device == "cpu",
        # Without this the Trainer would leave out a loss that is not a number; every Trainer here refuses one.
        logging_nan_inf_filter=False,
        # The study writes the curves itself.
        report_to=[],
        remove_unused_columns=False,
        **given,
    )
    # One device is used however many there are: two would change the batch.
    arguments._n_gpu = min(1, arguments.n_gpu)
    return arguments
