"""The objective of a classifier's training: cross entropy, with weights of the classes and smoothed labels."""

import functools

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from common.errors import StudyError

BALANCED = "balanced"


def balanced_weights(labels, n_classes):
    """Return the weight n / (K n_k) of each of K classes, for n labels of which n_k are k: they average 1 over them.

    Args:
        labels: n integers from 0.
        n_classes: K.

    Raises:
        StudyError: a class has no label.

    Source: scikit-learn's `compute_class_weight("balanced")`.
    """
    counts = np.bincount(np.asarray(labels, dtype=np.int64), minlength=n_classes)
    if not counts.all():
        missing = ", ".join(map(str, np.flatnonzero(counts == 0)))
        raise StudyError(
            f"finetuning.training.class_weights is balanced, and no training text has the class {missing} (counted "
            "from 0), whose weight would be infinite; give a list of weights, or more training texts"
        )
    return (len(labels) / (n_classes * counts)).tolist()


def plain_loss(kind, logits, labels):
    """Return the mean loss over examples, without weights.

    Args:
        kind: module of the kind of labels, see `tasks`.
        logits: float (B, outputs).
        labels: B labels, or (B, outputs).
    """
    return getattr(torch.nn.functional, kind.LOSS)(*kind.compared(logits, labels))


class OfKind:
    """The loss of another kind of labels than classes: its mean over examples, see `tasks`; nothing weights it."""

    weights, plain = None, True

    def __init__(self, kind):
        """Take the module of the kind."""
        self.mean = functools.partial(plain_loss, kind)

    def size(self, labels):
        """Return what the sum over examples is divided by: their number."""
        return len(labels)

    def sum(self, logits, labels):
        """Return the sum over examples."""
        return self.mean(logits, labels) * len(labels)


class Objective:
    """Cross entropy as `torch.nn.functional.cross_entropy` has it, whatever the framework.

    For the B examples of an update, weights w and a smoothing s, the loss is

        sum_i [(1 - s) w[y_i] (-log p_i[y_i]) + s / K sum_k w[k] (-log p_i[k])] / sum_i w[y_i]

    The divisor is the weight of the examples, not B: an update that holds rare classes takes no longer step for that.

    Attributes:
        weights: K floats, or None: all 1.
        smoothing: s (0 to below 1).
    """

    def __init__(self, settings, labels, n_classes):
        """Take up `class_weights` and `label_smoothing` of a run's settings.

        Args:
            settings: of the run; a key that is missing has no effect.
            labels: of the run's training examples, integers from 0.
            n_classes: K.

        Raises:
            StudyError: see `balanced_weights`; or a list of another length.
        """
        weights, self.smoothing = settings.get("class_weights"), settings.get("label_smoothing", 0.0)
        self.weights = balanced_weights(labels, n_classes) if weights == BALANCED else weights
        if self.weights is not None and len(self.weights) != n_classes:
            raise StudyError(
                f"finetuning.training.class_weights has {len(self.weights)} weights for {n_classes} classes; "
                "give one each"
            )

    @property
    def plain(self):
        """Return whether this is cross entropy and nothing else."""
        return self.weights is None and not self.smoothing

    def size(self, labels):
        """Return what the sum over examples is divided by: the weight of their labels (their number without weights).

        Args:
            labels: int64 tensor (B,).
        """
        return len(labels) if self.weights is None else float(sum(self.weights[k] for k in labels.tolist()))

    def sum(self, logits, labels):
        """Return the sum over examples, in nats: the dividend of the formula above.

        Args:
            logits: float32 (B, K).
            labels: int64 (B,).
        """
        return self._of(logits, labels, "sum")

    def mean(self, logits, labels):
        """Return the formula above."""
        return self._of(logits, labels, "mean")

    def _of(self, logits, labels, reduction):
        weights = None if self.weights is None else torch.tensor(self.weights, device=logits.device, dtype=logits.dtype)
        return cross_entropy(logits, labels, weights, reduction=reduction, label_smoothing=self.smoothing)
