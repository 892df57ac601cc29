"""Adam with decoupled weight decay on every tensor, in one fused kernel."""

from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II


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

    def __init__(self, cfg, params):
        super().__init__(cfg)
        self._optimizer = torch.optim.AdamW(params, **self.optimizer_config)

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
