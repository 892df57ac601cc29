"""Loss on the tokens of held-out answers, without prompt and end of text, so that settings compare."""

import math

from qa.pseudo_values import leave_one_out

LABEL, UNIT, HIGHER_IS_BETTER, ON = "loss per answer token", "nats", False, "held-out pairs"
NEEDS = ("nats", "n_tokens")


def value(rows):
    """Return nats per token over all answers together: a long answer counts by its tokens."""
    return math.fsum(row["nats"] for row in rows) / sum(row["n_tokens"] for row in rows)


def items(rows):
    """Return jackknife pseudo-values: a ratio of sums is no mean over answers."""
    return leave_one_out(value, rows)
