"""Divergence: a loss that is not finite is reported at once, with the update and the learning rate."""

import math

from common.errors import StudyError


class DivergenceError(StudyError, RuntimeError):
    """A loss or gradient that is not a finite number.

    It is a `RuntimeError` because after any other exception fairseq would first save a checkpoint of useless weights.
    """


def refuse_divergence(what, value, update, lr, section, precision=None, run=None):
    """Stop a training with a number that is not finite.

    Args:
        what: the number, such as "the training loss".
        value: the number.
        update: the update that it belongs to, from 1.
        lr: the learning rate of that update.
        section: the settings' section that decides the learning rate, such as `finetuning.training`.
        precision: precision of the training, where it is a setting; below float32 the message names float32 first.
        run: name of the run, where there are several.

    Raises:
        DivergenceError: `value` is infinite or not a number.
    """
    if not math.isfinite(value):
        remedy = f"lower {section}.lr or warm up for longer"
        if precision not in (None, "float32"):
            remedy = f"set {section}.precision to float32, {remedy}"
        raise DivergenceError(
            f"{f'{run}: ' if run else ''}training diverged: {what} is {float(value)} at update {update}, at a learning "
            f"rate of {lr:.3g}{f' in {precision}' if precision else ''}; {remedy}"
        )
