"""Subsets of the training reviews, each within the next larger one."""

import random


def nested_order(labels, seed):
    """Return the numbers of the reviews in the order in which subsets take them: the first n are the subset of n.

    Each class is shuffled once; of a class of N reviews the one in place r has the rank (r + 1/2) / N, and reviews are
    taken by rank. So each subset has its share of every class, to within one review of two classes.

    Args:
        labels: class of each review.
        seed: seed of the shuffles.

    Returns:
        list[int]: every number from 0 once.
    """
    ranked = []
    for label in sorted(set(labels)):
        members = [place for place, value in enumerate(labels) if value == label]
        generator = random.Random(f"{seed}/subsets/{label}")
        # `shuffle` is not used because its result may change between versions of Python.
        drawn = sorted(members, key=lambda _: generator.random())
        ranked += [((rank + 0.5) / len(drawn), label, place) for rank, place in enumerate(drawn)]
    return [place for _, _, place in sorted(ranked)]
