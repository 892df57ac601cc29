"""Arms with given accuracies, as `compute_statistics.compute` takes them."""

import numpy as np

from common.arms import Arm

OPTIONS = {"alpha": 0.05, "level": 0.95, "resamples": 999, "bootstrap": 1000, "seed": 1}


def facts(framework, init):
    """Return what is known of one of the lab's arms, as a run is told it."""
    return Arm(f"{framework}-{init}", framework, "checkpoint", init)._asdict()


def answers(accuracies, n_items=2000, seed=0):
    """Return (S, N) 0/1 rows with exactly these accuracies; half of the errors fall on reviews that all runs share."""
    generator = np.random.default_rng(seed)
    hard = generator.permutation(n_items)
    rows = np.ones((len(accuracies), n_items), dtype=np.float32)
    for row, accuracy in zip(rows, accuracies, strict=True):
        wrong = round((1 - accuracy) * n_items)
        row[hard[: wrong // 2]] = 0
        row[generator.choice(hard[wrong // 2 :], wrong - wrong // 2, replace=False)] = 0
    return rows


def arm(accuracies, seed=0, valid=None, n_items=2000):
    return [
        {
            "seed": str(i),
            "valid_accuracy": valid[i - 1] if valid else 0.8,
            "n_valid": 200,
            "test_accuracy": accuracy,
            "correct": row,
            "constant": False,
        }
        for i, (accuracy, row) in enumerate(zip(accuracies, answers(accuracies, n_items, seed), strict=True), 1)
    ]


def study(**arms):
    return {Arm(name, "framework", "checkpoint", "pretrained"): runs for name, runs in arms.items()}
