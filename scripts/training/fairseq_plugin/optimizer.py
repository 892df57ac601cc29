"""Adam with decoupled weight decay on every tensor, in one fused kernel."""

from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II

from training.divergence import refuse_divergence


@dataclass
class FusedAdamWConfig(FairseqDataclass):
    """Flags of `--optimizer fused_adamw` (the names of fairseq's own Adam)."""

    adam_betas: Any = field(default=(0.9, 0.98), metadata={"help": "betas for Adam optimizer"})
    adam_eps: float = field(default=1e-8, metadata={"help": "epsilon for Adam optimizer"})
    weight_decay: float = field(default=0.0, metadata={"help": "decoupled weight decay, on every tensor"})
    lr: Any = II("optimization.lr")


@register_optimizer("fused_adamw", dataclass=FusedAdamWConfig)
class FusedAdamW(FairseqOptimizer):
    """`torch.optim.AdamW(fused=True)` behind fairseq's interface.

    It differs from fairseq's Adam in one place: eps is added to the bias-corrected root, as in
    Kingma and Ba's Algorithm 1, so that both frameworks take the same step.
    """

    # Of the update that is being made, and its section of the settings; the task says so.
    update, section = None, None

    def __init__(self, cfg, params):
        super().__init__(cfg)
        self._optimizer = torch.optim.AdamW(params, **self.optimizer_config)

    def clip_grad_norm(self, max_norm, aggregate_norm_fn=None):
        """Bound the gradients' norm and return it; fairseq's own words on one that is not finite name nothing."""
        norm = super().clip_grad_norm(max_norm, aggregate_norm_fn)
        refuse_divergence("the gradients' norm", float(norm), self.update, self.get_lr(), self.section)
        return norm

    @property
    def optimizer_config(self):
        """Keyword arguments for torch's AdamW."""
        betas = self.cfg.adam_betas
        betas = [float(x) for x in betas.strip("()[] ").split(",")] if isinstance(betas, str) else list(betas)
        return {
            "lr": float(self.cfg.lr[0]),
            "betas": tuple(betas),
            "eps": self.cfg.adam_eps,
            "weight_decay": self.cfg.weight_decay,
            "fused": True,
        }
