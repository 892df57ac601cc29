"""Predictions of a run, one row a test review."""

import torch

from common.files import write_tsv

COLUMNS = ("id", "label", "prediction", "probability")


def write_predictions(path, logits, labels):
    """Write what a classifier says of each review.

    Args:
        path: TSV: `id` (line of the test file, from 0), `label`, `prediction`, `probability` (of class 1).
        logits: float32 (n, 2).
        labels: n labels, 0 or 1.
    """
    probabilities = torch.softmax(logits.float(), dim=1)[:, 1].tolist()
    predictions = logits.argmax(dim=1).tolist()
    rows = zip(range(len(predictions)), map(int, labels), predictions, probabilities, strict=True)
    write_tsv(path, (dict(zip(COLUMNS, row, strict=True)) for row in rows), COLUMNS)
