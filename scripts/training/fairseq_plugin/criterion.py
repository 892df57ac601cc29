"""fairseq's classification with the study's objective; its masked language modelling, from the first token as well."""

from dataclasses import dataclass, field

import torch
from fairseq.criterions import register_criterion
from fairseq.criterions.masked_lm import MaskedLmConfig, MaskedLmLoss
from fairseq.criterions.sentence_prediction import SentencePredictionConfig, SentencePredictionCriterion


@register_criterion("study_classification", dataclass=SentencePredictionConfig)
class StudyClassification(SentencePredictionCriterion):
    """Cross entropy as the task's `objective` weights and smooths it; what is logged stays plain cross entropy."""

    def __init__(self, cfg: SentencePredictionConfig, task):
        super().__init__(cfg, task)
        self.objective = task.objective

    def forward(self, model, sample, reduce=True):
        """Return (sum over examples to minimize, what it is divided by, what is logged)."""
        if not model.training:
            return super().forward(model, sample, reduce)
        seen = []
        head = model.classification_heads[self.classification_head_name]
        hook = head.register_forward_hook(lambda _, inputs, logits: seen.append(logits))
        try:
            _, _, logged = super().forward(model, sample, reduce)
        finally:
            hook.remove()
        labels = sample["target"].view(-1)
        return self.objective.sum(seen[-1].float(), labels), self.objective.size(labels), logged


@dataclass
class FirstTokenConfig(MaskedLmConfig):
    """Flags of `--criterion masked_lm_and_first_token`."""

    first_token_weight: float = field(default=1.0, metadata={"help": "of the first token's loss beside the other"})


@register_criterion("masked_lm_and_first_token", dataclass=FirstTokenConfig)
class MaskedLmAndFirstToken(MaskedLmLoss):
    """Masked language modelling in which the state of `<s>` alone must also predict the block's masked tokens.

    Masked language modelling does not train the first token's state, which is all that a fine-tuned head reads. Here
    that state predicts the bag of masked tokens through the same output layer. No parameter is added, and the recorded
    losses are those of masked language modelling.

    Source: Ma et al. (2024), Drop your Decoder: Pre-training with Bag-of-Word Prediction for Dense Passage Retrieval,
        whose bag holds all tokens of the text.
    """

    def __init__(self, cfg: FirstTokenConfig, task):
        super().__init__(cfg, task)
        self.weight = cfg.first_token_weight

    def forward(self, model, sample, reduce=True):
        """Return (loss to minimize, number of masked tokens, logged values); the losses are sums in nats."""
        if not model.training:
            return super().forward(model, sample, reduce)
        states = []
        hook = model.encoder.lm_head.register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))
        try:
            loss, n_masked, logged = super().forward(model, sample, reduce)
        finally:
            hook.remove()
        predicted = torch.log_softmax(model.encoder.lm_head(states[0][:, 0]).float(), dim=1)  # (blocks, pieces)
        masked = sample["target"].ne(self.padding_idx)
        of_bag = predicted.gather(1, sample["target"])[masked].sum()
        return loss - self.weight * of_bag, n_masked, logged
