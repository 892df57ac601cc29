"""The plan of batches: seeded, and the same in both frameworks."""

import numpy as np

RULES = ("length_grouped", "random")
# These batches are sorted together before they are cut: enough to save padding, and few enough to stay random.
GROUP = 50
# A training batch is padded to a multiple of this. oneDNN makes code for each shape that it meets and keeps it, so a
# run over batches of every length would grow by a gigabyte and slow down.
STEP = 16


def epoch_batches(lengths, batch_size, seed, epoch, rule="length_grouped"):
    """Return the batches of one epoch.

    `random`: a permutation cut into batches. `length_grouped`: the permutation is cut into groups of
    `GROUP` batches, each group sorted by length and cut into batches, and the batches shuffled: every
    example is seen once, the last batch may be short.

    Args:
        lengths: sequence of n ints, tokens per example.
        batch_size: examples an update.
        seed: data order seed of the run.
        epoch: 1-based epoch; each has its own order.
        rule: one of `RULES`.

    Returns:
        list[list[int]]: ceil(n / batch_size) batches of example numbers.

    Raises:
        ValueError: unknown rule.

    Source: the grouping of Hugging Face's `LengthGroupedSampler` (megabatches of 50 batches).
    """
    if rule not in RULES:
        raise ValueError(f"batching rule {rule!r}: use one of {', '.join(RULES)}")
    generator = np.random.default_rng([seed, epoch])
    lengths = np.asarray(lengths)
    order = generator.permutation(len(lengths))
    if rule == "random":
        return [order[i : i + batch_size].tolist() for i in range(0, len(order), batch_size)]
    batches = []
    for start in range(0, len(order), GROUP * batch_size):
        group = order[start : start + GROUP * batch_size]
        # Only the last group may have a short batch, so the number of updates is ceil(n / batch_size).
        group = group[np.argsort(-lengths[group], kind="stable")]
        batches += [group[i : i + batch_size].tolist() for i in range(0, len(group), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def padded_length(longest, limit):
    """Return the length that a training batch is padded to: the next multiple of `STEP`.

    Args:
        longest: tokens of the batch's longest example.
        limit: tokens of the longest example of all; no batch is made longer.
    """
    return min(-(-longest // STEP) * STEP, limit)


def count_updates(n_examples, batch_size, epochs):
    """Return the number of optimizer updates: ceil(n / batch_size) per epoch."""
    return -(-n_examples // batch_size) * epochs


def length_sorted_batches(lengths, batch_size):
    """Return example numbers from longest to shortest, cut into batches: for scoring, where order is free.

    Args:
        lengths: sequence of n ints.
        batch_size: examples a batch.

    Returns:
        list[list[int]]
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    return [order[i : i + batch_size].tolist() for i in range(0, len(order), batch_size)]
