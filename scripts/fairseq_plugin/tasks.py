"""fairseq's two tasks with the study's precision, batch plan and history."""

import json
import logging
import os
from dataclasses import dataclass, field
from typing import Optional

import torch
from fairseq import utils
from fairseq.checkpoint_utils import save_checkpoint
from fairseq.data import iterators
from fairseq.logging import metrics
from fairseq.modules import SinusoidalPositionalEmbedding
from fairseq.tasks import register_task
from fairseq.tasks.masked_lm import MaskedLMConfig, MaskedLMTask
from fairseq.tasks.sentence_prediction import SentencePredictionConfig, SentencePredictionTask

from common.batching import count_updates, epoch_batches, padded_length
from common.dropout import cheap_dropout
from common.fairseq_state import resumable

logger = logging.getLogger(__name__)


@dataclass
class StudyConfig:
    """Flags that both tasks add."""

    autocast: str = field(default="float32", metadata={"help": "float32 | bfloat16: precision while training"})
    history_file: Optional[str] = field(default=None, metadata={"help": "JSON Lines: a record a validation"})


class StudyTask:
    """Mixin: bfloat16 autocast in training only, and one exact record a validation.

    A record holds epoch, update, lr (of the last update), and the sums since the last validation: loss in
    nats, number of predictions, number correct where the criterion counts them.
    """

    def _begin(self):
        if not hasattr(self, "_sums"):
            self._sums = {"train": {}, "valid": {}}
            self._update, self._epoch, self.rates = 0, 0, []
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
        if self.optimizer is None:
            self.optimizer, self.live_model = optimizer, model
            self.before_first_update(model, update_num)
        model.train()
        model.set_num_updates(update_num)
        device = next(model.parameters()).device.type
        autocast = torch.autocast(device, dtype=torch.bfloat16, enabled=self.cfg.autocast == "bfloat16")
        with autocast, cheap_dropout():
            loss, sample_size, logging_output = criterion(model, sample)
        self._add(self._sums["train"], float(loss.detach()), sample_size, logging_output)
        self._update = update_num + 1
        self.rates.append(optimizer.get_lr())
        if ignore_grad:
            loss *= 0
        optimizer.backward(loss)
        return loss, sample_size, logging_output

    def before_first_update(self, model, update_num):
        """Hook: the model as it is before the first update of this process."""

    def begin_valid_epoch(self, epoch, model):
        """Start counting a validation."""
        super().begin_valid_epoch(epoch, model)
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
        if self.cfg.history_file:
            record = {"epoch": self._epoch, "update": self._update, "lr": self.rates[-1], **self._sums}
            earlier = [r for r in read_history(self.cfg.history_file) if r["update"] < self._update]
            temporary = self.cfg.history_file + ".part"
            with open(temporary, "w", encoding="utf-8") as handle:
                for entry in [*earlier, record]:
                    handle.write(json.dumps(entry) + "\n")
            os.replace(temporary, self.cfg.history_file)
        self._sums["train"] = {}


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
    # fairseq's own True keeps the loader's worker, whose copy of the data is never told the epoch: every epoch would
    # have the masks of the first, and a run resumed in a later epoch others than one never stopped.
    reuse_dataloader: bool = field(default=False, metadata={"help": "keep the loader over epochs, its masks too"})
    persistent_workers: bool = field(default=False, metadata={"help": "likewise its processes"})


@register_task("review_masked_lm", dataclass=ReviewMaskedLMConfig)
class ReviewMaskedLM(StudyTask, MaskedLMTask):
    """fairseq's masked language modelling, with a choice of first weights for what little text can teach."""

    def build_model(self, cfg, from_checkpoint=False):
        """Build the model and scale its fresh normal weights from sd 0.02 to `--init-sd`.

        With `--position-init sinusoidal` the learned position table starts from sine waves of the same root mean
        square: near positions are alike from the start, and those that short blocks never train fit in with the rest.
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
        return model


@dataclass
class ReviewClassificationConfig(SentencePredictionConfig, StudyConfig):
    """`sentence_prediction`, the study's flags and its batch plan."""

    batching: str = field(default="random", metadata={"help": "length_grouped | random"})
    init_seed: int = field(default=1, metadata={"help": "seed of the weights that are not loaded"})
    data_seed: int = field(default=1, metadata={"help": "seed of the order of the training examples"})


@register_task("review_classification", dataclass=ReviewClassificationConfig)
class ReviewClassification(StudyTask, SentencePredictionTask):
    """fairseq's sentence classification with batches planned by `common.batching`."""

    # The script that starts a run puts functions here: one looks at the model before its first update, the other
    # is given the state to save after every `save_every` updates (0: never).
    inspect = save = None
    save_every = 0

    def build_model(self, cfg, from_checkpoint=False):
        """Draw the weights under a seed of their own; `--seed` is dropout's (fairseq seeds PyTorch at each update)."""
        utils.set_torch_seed(self.cfg.init_seed)
        return super().build_model(cfg, from_checkpoint)

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """Hand out the state before an update: what belongs to the updates so far is then done, validation too."""
        every, done = ReviewClassification.save_every, update_num
        # A resumed process has the state that it starts from.
        if every and done and done % every == 0 and self.optimizer is not None:
            mine = {"sums": self._sums["train"], "rates": self.rates, "metrics": metrics.state_dict()}
            extra = {type(self).__name__: mine}
            if hasattr(save_checkpoint, "best"):
                extra["best"] = save_checkpoint.best
            state = resumable(model, criterion, optimizer, done, self.updates_an_epoch, extra)
            ReviewClassification.save(done, state)
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    def set_checkpoint_dict(self, state):
        """Take up what `train_step` put into a state; fairseq calls this when it has loaded the rest."""
        self._sums["train"], self.rates = state["sums"], state["rates"]
        metrics.load_state_dict(state["metrics"])

    def post_save(self, path, num_updates):
        """Remove fairseq's second copy of the best epoch: the study chooses the epoch itself."""
        best = os.path.join(os.path.dirname(path), "checkpoint_best.pt")
        if os.path.exists(best):
            os.remove(best)

    def before_first_update(self, model, update_num):
        """Let the script that started the run look at the model."""
        if update_num == 0 and ReviewClassification.inspect is not None:
            ReviewClassification.inspect(model)

    def load_dataset(self, split, combine=False, **kwargs):
        """Load a split and name the task of the process, for the script that reads its settings back."""
        self._begin()
        ReviewClassification.current = self
        return super().load_dataset(split, combine, **kwargs)

    def get_batch_iterator(self, dataset, max_sentences=None, seed=1, epoch=1, **kwargs):
        """Training batches follow the study's plan, anew each epoch; validation keeps fairseq's own."""
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
            # The plan is already shuffled: a second shuffle would differ from the other framework's.
            disable_shuffling=True,
        )
