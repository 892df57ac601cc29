"""fairseq's two tasks with the study's precision, batch plan and history."""

import json
import logging
import os
from dataclasses import dataclass, field
from typing import Optional

import numpy
import torch
from fairseq import utils
from fairseq.checkpoint_utils import save_checkpoint
from fairseq.data import iterators
from fairseq.logging import metrics
from fairseq.modules import SinusoidalPositionalEmbedding
from fairseq.tasks import register_task
from fairseq.tasks.masked_lm import MaskedLMConfig, MaskedLMTask
from fairseq.tasks.sentence_prediction import SentencePredictionConfig, SentencePredictionTask

from training.batching import count_updates, epoch_batches, padded_length
from training.divergence import refuse_divergence
from training.draws import RecordedDraws
from training.dropout import cheap_dropout
from training.fairseq_state import resumable
from training.process import release_memory

logger = logging.getLogger(__name__)


@dataclass
class StudyConfig:
    """Flags that both tasks add."""

    autocast: str = field(default="float32", metadata={"help": "float32 | bfloat16: precision while training"})
    history_file: Optional[str] = field(default=None, metadata={"help": "JSON Lines: a record a validation"})


class StudyTask:
    """Mixin: bfloat16 autocast in training only, curves, one exact record per validation, and states to resume from.

    A record holds epoch, update, lr (of the last update), and the sums since the last validation: loss in
    nats, number of predictions, number correct where the criterion counts them.

    Attributes:
        curves: `training.loss_curves.Curves` that the script that starts a run puts here.
        section, run: of the settings, and the run's name, for messages.
        micro: `training.accumulation.MicroBatches`; None: every update is one batch.
    """

    curves = section = run = micro = None
    # The script that starts a training puts functions here. The first receives the model before its first update, and
    # how it was drawn. The second receives the state to save, with `updates` (number made), after every `save_every`
    # updates (0: never).
    inspect = save = None
    save_every = 0
    # True where fairseq itself shuffles the batches.
    shuffles = True
    # The present data began with this update.
    first = 0
    # The script puts a function here: given the records so far, it tells whether training ends with this epoch.
    stops = None
    stopped = False

    def _begin(self):
        if not hasattr(self, "_sums"):
            self._sums = {"train": {}, "valid": {}}
            self.updates, self._epoch, self.rates = 0, 0, []
            self.optimizer = self.live_model = None

    @staticmethod
    def _add(sums, loss, sample_size, logging_output):
        sums["loss"] = sums.get("loss", 0.0) + loss
        sums["n"] = sums.get("n", 0) + int(sample_size)
        if "ncorrect" in logging_output:
            sums["n_correct"] = sums.get("n_correct", 0) + int(logging_output["ncorrect"])

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """Forward under autocast, backward outside it (the base class's step, with another precision).

        Source: fairseq.tasks.fairseq_task.FairseqTask.train_step
        """
        self._begin()
        self._hand_out(model, criterion, optimizer, update_num)
        self.made = update_num
        model.train()
        model.set_num_updates(update_num)
        self.updates = update_num + 1
        self.rates.append(optimizer.get_lr())
        optimizer.update_facts = self._told()

        def step(part):
            loss, size, logged = self._forward(part, model, criterion)
            refuse_divergence("the training loss", float(logged["loss"]), lr=self.rates[-1], **optimizer.update_facts)
            if ignore_grad:
                loss *= 0
            optimizer.backward(loss)
            return loss.detach(), size, logged

        if self.micro is None:
            loss, sample_size, logged = step(sample)
        else:
            n, forget = len(sample["target"]), optimizer.zero_grad
            parts = self.micro.run(self.updates, n, lambda part: step(cut(sample, part)), forget)
            # fairseq divides the summed gradients by the summed sizes: parts of any length weigh what they hold.
            loss, sample_size = sum(part[0] for part in parts), sum(part[1] for part in parts)
            logged = {name: sum(part[2][name] for part in parts) for name in parts[0][2]}
        value, n = float(logged["loss"]), logged["sample_size"]
        self._add(self._sums["train"], value, n, logged)
        self.curves.update(self.updates, value / n, self.rates[-1])
        return loss, sample_size, logged

    def _forward(self, sample, model, criterion):
        """Return what the criterion does, in the precision of training."""
        device = next(model.parameters()).device.type
        autocast = torch.autocast(device, dtype=torch.bfloat16, enabled=self.cfg.autocast == "bfloat16")
        with autocast, cheap_dropout():
            return criterion(model, sample)

    def _told(self):
        """Return what `refuse_divergence` says of the present update."""
        return {"update": self.updates, "section": self.section, "precision": self.cfg.autocast, "run": self.run}

    def _hand_out(self, model, criterion, optimizer, done):
        """Hand out the first model, or the state before an update, when everything of the `done` updates is complete.

        This includes validation. A resumed process already has the state that it starts from.
        """
        script = type(self)
        if self.optimizer is None:
            script.current, self.optimizer, self.live_model, self.live_criterion = self, optimizer, model, criterion
            if done == 0 and script.inspect is not None:
                script.inspect(model, self.drawn)
        elif script.save_every and done and done % script.save_every == 0:
            script.save(self.last_state(done))

    def last_state(self, done):
        """Return the state after `done` updates: fairseq's state for resuming, and `updates`."""
        mine = {"sums": self._sums["train"], "rates": self.rates, "metrics": metrics.state_dict()}
        if self.micro is not None:
            mine["micro"] = self.micro.state()
        extra = {type(self).__name__: mine}
        if hasattr(save_checkpoint, "best"):
            extra["best"] = save_checkpoint.best
        place = {"updates_an_epoch": self.updates_an_epoch, "shuffle": self.shuffles, "first": self.first}
        live = (self.live_model, self.live_criterion, self.optimizer)
        return {**resumable(*live, done, extra=extra, **place), "updates": done}

    def set_checkpoint_dict(self, state):
        """Restore the entries that `_hand_out` put into a state; fairseq calls this after it has loaded the rest."""
        self._begin()
        self._sums["train"], self.rates = state["sums"], state["rates"]
        metrics.load_state_dict(state["metrics"])
        if self.micro is not None:
            self.micro.take_up(state["micro"])

    def begin_valid_epoch(self, epoch, model):
        """Start counting a validation."""
        super().begin_valid_epoch(epoch, model)
        release_memory()
        self._begin()
        self._epoch = epoch
        self._sums["valid"] = {}

    def valid_step(self, sample, model, criterion):
        """Score in float32 and count."""
        self._begin()
        loss, sample_size, logging_output = super().valid_step(sample, model, criterion)
        self._add(self._sums["valid"], float(loss), sample_size, logging_output)
        return loss, sample_size, logging_output

    def post_validate(self, model, stats, agg):
        """Append the record; a resumed run first drops the records after its state."""
        valid = self._sums["valid"]
        refuse_divergence("the validation loss", valid["loss"], lr=self.rates[-1], **self._told())
        accuracy = valid["n_correct"] / valid["n"] if "n_correct" in valid else None
        self.curves.measure("valid", self.updates, valid["loss"] / valid["n"], accuracy)
        if self.cfg.history_file:
            record = {"epoch": self._epoch, "update": self.updates, "lr": self.rates[-1], **self._sums}
            earlier = [r for r in read_history(self.cfg.history_file) if r["update"] < self.updates]
            temporary = self.cfg.history_file + ".part"
            with open(temporary, "w", encoding="utf-8") as handle:
                for entry in [*earlier, record]:
                    handle.write(json.dumps(entry) + "\n")
            os.replace(temporary, self.cfg.history_file)
            self.stopped = type(self).stops is not None and type(self).stops([*earlier, record])
        self._sums["train"] = {}
        release_memory()


def cut(sample, part):
    """Return a part of a batch of classification.

    Args:
        sample: of fairseq's sentence prediction: tensors of n examples, and their number and tokens.
        part: slice of the examples.
    """
    net_input = {name: tensor[part] for name, tensor in sample["net_input"].items()}
    found = {"id": sample["id"][part], "net_input": net_input, "target": sample["target"][part]}
    return found | {"nsentences": len(found["target"]), "ntokens": int(net_input["src_lengths"].sum())}


def read_history(path):
    """Return a history file's records (an empty list where there is no file)."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


@dataclass
class ReviewMaskedLMConfig(MaskedLMConfig, StudyConfig):
    """`masked_lm` and the study's flags."""

    init_sd: float = field(default=0.02, metadata={"help": "standard deviation of fresh weights (RoBERTa: 0.02)"})
    position_init: str = field(
        default="normal", metadata={"help": "normal | sinusoidal: first values of the positions"}
    )
    word_vectors: Optional[str] = field(default=None, metadata={"help": "NPY file: first word vectors, of length 1"})
    places: int = field(default=1, metadata={"help": "positions that a block may begin at in training, drawn for each"})
    spread: int = field(default=1, metadata={"help": "updates in which these places open, slowly at first"})
    # fairseq's True keeps the loader's worker, whose copy of the data never learns the epoch. Every epoch would have
    # the masks of the first, and a run resumed in a later epoch would have other masks than an uninterrupted one.
    reuse_dataloader: bool = field(default=False, metadata={"help": "keep the loader over epochs, its masks too"})
    persistent_workers: bool = field(default=False, metadata={"help": "likewise its processes"})


@register_task("review_masked_lm", dataclass=ReviewMaskedLMConfig)
class ReviewMaskedLM(StudyTask, MaskedLMTask):
    """fairseq's masked language modelling, with a choice of initial weights for small corpora."""

    section = "checkpoint.pretraining"

    def build_model(self, cfg, from_checkpoint=False):
        """Build the model and scale its fresh normal weights from sd 0.02 to `--init-sd`.

        With `--position-init sinusoidal` the learned position table starts from sine waves of the same root mean
        square: near positions are similar from the start, and positions that short blocks never train fit in with the
        rest. `--word-vectors` are scaled to the length that drawn ones have on average; a piece without one keeps its
        drawn vector.
        """
        model = super().build_model(cfg, from_checkpoint)
        if self.cfg.init_sd != 0.02:
            with torch.no_grad():
                for parameter in model.parameters():
                    if parameter.dim() == 2:
                        parameter.mul_(self.cfg.init_sd / 0.02)
        if self.cfg.position_init == "sinusoidal":
            table = model.encoder.sentence_encoder.embed_positions
            waves = SinusoidalPositionalEmbedding.get_embedding(*table.weight.shape, table.padding_idx)
            with torch.no_grad():
                table.weight.copy_(waves * 2**0.5 * self.cfg.init_sd)
        if self.cfg.word_vectors:
            vectors = torch.from_numpy(numpy.load(self.cfg.word_vectors))
            table, known = model.encoder.sentence_encoder.embed_tokens.weight, vectors.any(dim=1)
            with torch.no_grad():
                # The last row, <mask>'s, is not in the corpus's dictionary.
                table[: len(vectors)][known] = vectors[known] * self.cfg.init_sd * table.shape[1] ** 0.5
        for parameter in model.encoder.sentence_encoder.layers.parameters():
            parameter.hidden_matrix = parameter.dim() == 2  # the optimizer does not receive names
        if self.cfg.places > 1:
            model.encoder.sentence_encoder.embed_positions.register_forward_hook(self._move)
        return model

    def _move(self, table, inputs, embedded):
        """Return a training batch's positions (blocks, tokens, width) as if each block began at a random place.

        Short blocks at the first positions would leave the others untrained. All places at once take twice the updates:
        they open one after the other, each next to positions that are already trained. fairseq seeds PyTorch before
        each update, so a resumed run draws the same places.
        """
        if not table.training:
            return embedded
        tokens, opened = inputs[0], min(1, self.made / self.cfg.spread) ** 2
        start = torch.randint(1 + int(opened * (self.cfg.places - 1)), (len(tokens), 1), device=tokens.device)
        positions = utils.make_positions(tokens, table.padding_idx)
        positions = torch.where(tokens.ne(table.padding_idx), positions + start, positions)
        return torch.nn.functional.embedding(positions, table.weight, table.padding_idx)

    def get_batch_iterator(self, dataset, *args, **kwargs):
        """Return fairseq's batches; training's are counted."""
        batches = super().get_batch_iterator(dataset, *args, **kwargs)
        if dataset is self.datasets.get("train"):
            self.updates_an_epoch = len(batches)
        return batches


@dataclass
class ReviewClassificationConfig(SentencePredictionConfig, StudyConfig):
    """`sentence_prediction`, the study's flags and its batch plan."""

    batching: str = field(default="random", metadata={"help": "length_grouped | random"})
    init_seed: int = field(default=1, metadata={"help": "seed of the weights that are not loaded"})
    data_seed: int = field(default=1, metadata={"help": "seed of the order of the training examples"})


@register_task("review_classification", dataclass=ReviewClassificationConfig)
class ReviewClassification(StudyTask, SentencePredictionTask):
    """fairseq's sentence classification with batches planned by `training.batching`."""

    section = "finetuning.training"
    shuffles = False
    # The script that starts a training puts a function here that freezes the parameters not to be trained.
    restrict = None
    # The criterion `study_classification` asks for this `training.objective.Objective`.
    objective = None
    # True where a record of a validation includes `labels` and `logits` of its examples, in the order of their batches.
    keep_scores = False

    def build_model(self, cfg, from_checkpoint=False):
        """Draw the weights under a separate seed; `--seed` is dropout's (fairseq seeds PyTorch at each update)."""
        utils.set_torch_seed(self.cfg.init_seed)
        with RecordedDraws() as recorded:
            model = super().build_model(cfg, from_checkpoint)
        self.drawn = recorded.named(model)
        if type(self).restrict is not None:
            type(self).restrict(model)
        return model

    def valid_step(self, sample, model, criterion):
        """Score, and keep the logits on request: the criterion does not return them."""
        if not type(self).keep_scores:
            return super().valid_step(sample, model, criterion)
        seen = []
        head = model.classification_heads[self.cfg.classification_head_name]
        hook = head.register_forward_hook(lambda _, inputs, logits: seen.append(logits.float().tolist()))
        try:
            result = super().valid_step(sample, model, criterion)
        finally:
            hook.remove()
        sums = self._sums["valid"]
        sums.setdefault("labels", []).extend(sample["target"].view(-1).tolist())
        sums.setdefault("logits", []).extend(seen[-1])
        return result

    def post_save(self, path, num_updates):
        """Remove fairseq's second copy of the best epoch: the study chooses the epoch itself."""
        best = os.path.join(os.path.dirname(path), "checkpoint_best.pt")
        if os.path.exists(best):
            os.remove(best)

    def get_batch_iterator(self, dataset, max_sentences=None, seed=1, epoch=1, **kwargs):
        """Training batches follow the study's plan, drawn for each epoch; validation keeps fairseq's."""
        if dataset is not self.datasets.get("train"):
            return super().get_batch_iterator(dataset, max_sentences=max_sentences, seed=seed, epoch=epoch, **kwargs)
        lengths = [dataset.size(i) for i in range(len(dataset))]
        self.updates_an_epoch = count_updates(len(lengths), max_sentences, 1)

        def plan(_, epoch):
            return epoch_batches(lengths, max_sentences, self.cfg.data_seed, epoch, self.cfg.batching)

        pad, limit = self.dictionary.pad(), max(lengths)

        def collate(examples):
            batch = dataset.collater(examples)
            tokens = batch["net_input"]["src_tokens"]
            missing = padded_length(tokens.shape[1], limit) - tokens.shape[1]
            batch["net_input"]["src_tokens"] = torch.nn.functional.pad(tokens, (0, missing), value=pad)
            return batch

        return iterators.EpochBatchIterator(
            dataset=dataset,
            collate_fn=collate,
            batch_sampler=plan,
            seed=seed,
            num_shards=kwargs.get("num_shards", 1),
            shard_id=kwargs.get("shard_id", 0),
            num_workers=0,
            epoch=epoch,
            # The plan is already shuffled: a second shuffle would make the batches differ from the other framework's.
            disable_shuffling=True,
        )
