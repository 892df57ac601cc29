"""Divergence: a loss that is not finite is reported at once, with the update and the learning rate."""

import math

from common.errors import StudyError


class DivergenceError(StudyError, RuntimeError):
    """A loss or gradient that is not a finite number.

    It is a `RuntimeError` because after any other exception fairseq would first save a checkpoint of useless weights.
    """


def refuse_divergence(what, value, update, lr, section):
    """Stop a training with a number that is not finite.

    Args:
        what: the number, such as "the training loss".
        value: the number.
        update: the update that it belongs to, from 1.
        lr: the learning rate of that update.
        section: the settings' section that decides the learning rate, such as `finetuning.training`.

    Raises:
        DivergenceError: `value` is infinite or not a number.
    """
    if not math.isfinite(value):
        raise DivergenceError(
            f"training diverged: {what} is {float(value)} at update {update}, at a learning rate of {lr:.3g}; "
            f"lower {section}.lr or warm up for longer"
        )
