"""The published runs (the course's lab, three arms of three seeds) in the workflow's own files.

PUBLISHED: the test accuracies of all nine runs; for the two fairseq arms the best validation accuracy and its update.
FILLED, because nobody published them: the other epochs' validation accuracies (all below the best, so that every tie
rule chooses the published epoch), the whole validation history of the Hugging Face arm, losses, learning rates, which
test examples a run missed, their labels and probabilities, and everything else in run.json that is not a size.
`run.json` lists the filled things under `filled`. Source: section 1 of the study's protocol (test and best validation).
"""

import random

from common.files import write_json, write_tsv

N_TRAIN, N_VALID, N_TEST, BATCH_SIZE, EPOCHS = 1800, 200, 2000, 8, 5
UPDATES_PER_EPOCH = 225  # 1800 / 8

# Per seed: (test accuracy in percent, best validation accuracy in percent, its update). PUBLISHED.
PUBLISHED = {
    ("fairseq", "pretrained"): {1: (79.9, 81.5, 1125), 2: (78.5, 80.0, 675), 3: (80.1, 83.5, 900)},
    ("fairseq", "random"): {1: (65.4, 62.0, 900), 2: (66.7, 65.0, 450), 3: (67.4, 63.0, 1125)},
    # Only the test accuracies are published here; the validation points are FILLED.
    ("huggingface", "pretrained"): {1: (80.05, 81.0, 1125), 2: (80.3, 82.0, 900), 3: (80.3, 82.5, 1125)},
}
FILLED = [
    "validation accuracy of the epochs that are not the best",
    "losses, training accuracies and learning rates",
    "labels, order and probabilities of the predictions",
    "warm-up updates",
]


def write_published(folder):
    """Write the nine published runs below `folder`, laid out like results/<study>.

    Args:
        folder: pathlib.Path, the results folder to fill.

    Returns:
        dict[str, list[str]]: the paths by kind (records, histories, predictions), in one order of runs.
    """
    paths = {"records": [], "histories": [], "predictions": []}
    for (framework, init), seeds in PUBLISHED.items():
        for seed, (test, valid, update) in seeds.items():
            home = folder / "finetuning" / f"{framework}-{init}" / f"seed{seed}"
            run = {
                "arm": f"{framework}-{init}",
                "framework": framework,
                "model": "checkpoint",
                "init": init,
                "seed": seed,
                "n_train": N_TRAIN,
                "n_valid": N_VALID,
                "total_updates": UPDATES_PER_EPOCH * EPOCHS,
                "warmup_updates": int(0.06 * UPDATES_PER_EPOCH * EPOCHS),
                "train_seconds": None,
                "precision": None,
                "threads": None,
                "versions": {},
                "protocol": {},
                "filled": FILLED + (["validation accuracy of every epoch"] if framework == "huggingface" else []),
            }
            write_json(home / "run.json", run)
            write_tsv(
                home / "history.tsv",
                history_rows(round(valid * N_VALID / 100), update // UPDATES_PER_EPOCH),
                ("epoch", "update", "split", "metric", "value"),
            )
            predictions = folder / "predictions" / f"{framework}-{init}" / f"seed{seed}.tsv"
            write_tsv(
                predictions,
                prediction_rows(round(test * N_TEST / 100), f"{framework}/{init}/{seed}"),
                ("id", "label", "prediction", "probability"),
            )
            paths["records"].append(str(home / "run.json"))
            paths["histories"].append(str(home / "history.tsv"))
            paths["predictions"].append(str(predictions))
    write_json(
        folder / "data" / "manifest.json",
        {
            "source": "published figures; the data themselves are not here",
            "synthetic": False,
            "split_seed": None,
            "files": {},
            "splits": {
                split: {"n": n, "n_positive": n // 2, "sha256_review": None, "sha256_label": None}
                for split, n in (("train", N_TRAIN), ("valid", N_VALID), ("test", N_TEST))
            },
            "unlabelled": {"n": 0, "sha256": None},
        },
    )
    return paths


def history_rows(n_best, best_epoch):
    """Return a run's history: the best count at its epoch (published), lower counts at the others (FILLED)."""
    rows = []
    for epoch in range(1, EPOCHS + 1):
        n_correct = n_best - 3 * abs(epoch - best_epoch)  # strictly below on both sides
        for split, metric, value in (
            ("train", "loss", 0.7 - 0.05 * epoch),
            ("train", "accuracy", 0.6 + 0.05 * epoch),
            ("train", "lr", 1e-5 * (1 - epoch / EPOCHS)),
            ("valid", "loss", 0.7 - 0.04 * epoch),
            ("valid", "accuracy", n_correct / N_VALID),
            ("valid", "n_correct", n_correct),
        ):
            rows.append(
                {
                    "epoch": epoch,
                    "update": epoch * UPDATES_PER_EPOCH,
                    "split": split,
                    "metric": metric,
                    "value": value,
                }
            )
    return rows


def prediction_rows(n_correct, name):
    """Return predictions of which exactly `n_correct` are right (published); which ones is FILLED, seeded by `name`."""
    wrong = set(random.Random(name).sample(range(N_TEST), N_TEST - n_correct))
    rows = []
    for number in range(N_TEST):
        label = number % 2
        prediction = 1 - label if number in wrong else label
        rows.append(
            {"id": number, "label": label, "prediction": prediction, "probability": 0.75 if prediction else 0.25}
        )
    return rows
