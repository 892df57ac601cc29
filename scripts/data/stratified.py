"""Stratified draws: each class has its share of every sample."""

import numpy as np


def shares(counts, n):
    """Divide `n` draws over classes in proportion to their counts (largest remainder; ties to the first class).

    No class that has reviews is left out where n is enough for all: the largest gives one of its draws.

    Args:
        counts: reviews per class, summing to at least `n`.
        n: how many to draw in all.

    Returns:
        list[int]: draws per class, none above its count.
    """
    total = sum(counts)
    # Whole numbers suffice: n * count // total is the floor of the share, and the remainder orders the rest.
    floors = [n * count // total for count in counts]
    order = sorted(range(len(counts)), key=lambda k: (-(n * counts[k] % total), k))
    for k in order[: n - sum(floors)]:
        floors[k] += 1
    present = [k for k, count in enumerate(counts) if count]
    for k in present:
        if floors[k] == 0 and n >= len(present):
            floors[max(present, key=floors.__getitem__)] -= 1
            floors[k] = 1
    return floors


def draw(labels, sizes, seed, n_classes=2):
    """Draw disjoint stratified samples.

    Each class is shuffled once, by the seed alone, and the samples take their shares from its front one after
    the other: with the same first samples, a larger last one holds the smaller one.

    Args:
        labels: classes of n reviews, numbers from 0.
        sizes: size of each sample, in drawing order; their sum is at most n.
        seed: integer >= 0, or several.
        n_classes: how many classes there are.

    Returns:
        list[list[int]]: review numbers of each sample, shuffled.
    """
    classes, seeds = [], np.atleast_1d(seed).tolist()
    for label in range(n_classes):
        numbers = np.flatnonzero(np.asarray(labels) == label)
        classes.append(np.random.default_rng([*seeds, label]).permutation(numbers).tolist())
    samples = []
    for k, size in enumerate(sizes):
        taken = shares([len(numbers) for numbers in classes], size)
        chosen = [number for numbers, share in zip(classes, taken, strict=True) for number in numbers[:share]]
        classes = [numbers[share:] for numbers, share in zip(classes, taken, strict=True)]
        order = np.random.default_rng([*seeds, n_classes + k]).permutation(len(chosen))
        samples.append([chosen[i] for i in order])
    return samples


def with_replacement(labels, numbers, n, seeds, n_classes):
    """Return n of some reviews, each class in its share, drawn with replacement and shuffled.

    Args:
        labels: classes of all reviews, from 0.
        numbers: reviews to draw from.
        n: how many to draw.
        seeds: integers >= 0.
        n_classes: how many classes there are.
    """
    classes = [[number for number in numbers if labels[number] == label] for label in range(n_classes)]
    generator = np.random.default_rng([*seeds, 2 * n_classes])
    taken = zip(classes, shares([len(members) for members in classes], n), strict=True)
    drawn = [generator.choice(members, share).tolist() for members, share in taken if share]
    return generator.permutation([number for part in drawn for number in part]).tolist()
