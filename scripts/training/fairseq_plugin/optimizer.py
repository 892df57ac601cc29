"""Adam with decoupled weight decay on every tensor, in one fused kernel, and Muon for matrices."""

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

    # The task sets the arguments of `refuse_divergence` for the current update.
    update_facts = {}

    def __init__(self, cfg, params):
        super().__init__(cfg)
        self._optimizer = torch.optim.AdamW(params, **self.optimizer_config)

    def clip_grad_norm(self, max_norm, aggregate_norm_fn=None):
        """Bound the gradients' norm and return it; fairseq's message on one that is not finite has no details."""
        norm = super().clip_grad_norm(max_norm, aggregate_norm_fn)
        refuse_divergence("the gradients' norm", float(norm), lr=self.get_lr(), **self.update_facts)
        return norm

    @property
    def optimizer_config(self):
        """Return the keyword arguments for torch's AdamW."""
        betas = self.cfg.adam_betas
        betas = [float(x) for x in betas.strip("()[] ").split(",")] if isinstance(betas, str) else list(betas)
        return {
            "lr": float(self.cfg.lr[0]),
            "betas": tuple(betas),
            "eps": self.cfg.adam_eps,
            "weight_decay": self.cfg.weight_decay,
            "fused": True,
        }


@dataclass
class MuonAdamWConfig(FusedAdamWConfig):
    """Flags of `--optimizer muon_adamw`."""

    muon_lr: float = field(default=0.02, metadata={"help": "peak learning rate of the hidden matrices"})
    muon_precision: str = field(default="bfloat16", metadata={"help": "float32 | bfloat16: of the orthogonalization"})


class Muon(torch.optim.Muon):
    """torch's Muon, which orthogonalizes in bfloat16, or in float32 on machines without bfloat16 units.

    Source: torch.optim._muon, whose step this repeats bit for bit in bfloat16.
    """

    def __init__(self, matrices, precision, **settings):
        super().__init__(matrices, **settings)
        self.precision = getattr(torch, precision)

    @torch.no_grad()
    def step(self):
        """Make one step (Nesterov's momentum, decoupled decay, the original's correction for the matrix's shape)."""
        for group in self.param_groups:
            lr, momentum = group["lr"], group["momentum"]
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                mean = self.state[matrix].setdefault("momentum_buffer", torch.zeros_like(matrix.grad))
                mean.lerp_(matrix.grad, 1 - momentum)
                ahead = matrix.grad.lerp(mean, momentum).to(self.precision)
                update = orthogonalized(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
                matrix.mul_(1 - lr * group["weight_decay"])
                matrix.add_(update, alpha=-lr * max(1, matrix.size(0) / matrix.size(1)) ** 0.5)


def orthogonalized(matrix, coefficients, steps, eps):
    """Return a matrix with its singular values brought near 1, by the iteration of Newton and Schulz."""
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.T if tall else matrix
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


@register_optimizer("muon_adamw", dataclass=MuonAdamWConfig)
class MuonAdamW(FusedAdamW):
    """Muon for the parameters that the task marked `hidden_matrix`, fused AdamW for all others.

    Muon's rate follows AdamW's schedule, at a constant ratio; `get_lr` is AdamW's.

    Source: torch.optim.Muon, and Jordan et al. (2024), Muon: An optimizer for hidden layers in neural networks.
    """

    def __init__(self, cfg, params):
        params = list(params)
        super().__init__(cfg, [p for p in params if not is_hidden_matrix(p)])
        matrices = [p for p in params if is_hidden_matrix(p)]
        self.muon = Muon(matrices, self.cfg.muon_precision, lr=self.cfg.muon_lr, weight_decay=self.cfg.weight_decay)
        self.ratio = self.cfg.muon_lr / float(self.cfg.lr[0])

    @property
    def param_groups(self):
        """Return AdamW's groups, then Muon's."""
        return [*self.optimizer.param_groups, *self.muon.param_groups]

    def set_lr(self, lr):
        """Set AdamW's rate, and Muon's in proportion."""
        super().set_lr(lr)
        for group in self.muon.param_groups:
            group["lr"] = lr * self.ratio

    def state_dict(self):
        """Return both states."""
        return {"adamw": self.optimizer.state_dict(), "muon": self.muon.state_dict()}

    def load_state_dict(self, state_dict, optimizer_overrides=None):
        """Restore both states; the settings are those of the resumed run, so there is nothing to override."""
        self.optimizer.load_state_dict(state_dict["adamw"])
        self.muon.load_state_dict(state_dict["muon"])

    def step(self, closure=None, scale=1.0, groups=None):
        """Make one step with each."""
        super().step(closure, scale, groups)
        self.muon.step()


def is_hidden_matrix(parameter):
    """Return whether the task that built the model marked this parameter as a matrix between hidden states."""
    return getattr(parameter, "hidden_matrix", False)
