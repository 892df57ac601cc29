"""Runs of two arms with predictions, the second arm the more skilful, and their scores by a measure."""

import numpy as np
import pandas

import measures
from analysis.measured import read_answered, score_runs
from analysis.scored import by_run, prediction_files
from common.files import write_tsv
from finetuning.prediction_files import write_rows

ARMS = ("first", "second")


def write_runs(folder, n_classes=2, seeds=3, n=80, seed=0, skill=(1.0, 1.6)):
    """Write runs.tsv and predictions of two arms; return (runs.tsv's frame, paths, keys)."""
    generator, rows, paths, keys = np.random.default_rng(seed), [], [], []
    labels = generator.integers(n_classes, size=n)
    for arm, gift in zip(ARMS, skill, strict=True):
        for run in range(1, seeds + 1):
            logits = generator.normal(size=(n, n_classes))
            logits[np.arange(n), labels] += gift
            probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            path = folder / arm / f"seed{run}.tsv"
            path.parent.mkdir(exist_ok=True)
            write_rows(path, labels, probabilities.argmax(axis=1).tolist(), probabilities)
            rows.append(
                {"arm": arm, "framework": "huggingface", "model": "checkpoint", "init": "random", "seed": str(run)}
                | {"test_accuracy": repr(float((probabilities.argmax(axis=1) == labels).mean()))}
                | {"valid_accuracy": "0.5", "n_valid": "10"}
            )
            paths.append(str(path))
            keys.append((arm, str(run)))
    write_tsv(folder / "runs.tsv", rows, list(rows[0]))
    return pandas.DataFrame(rows), paths, keys


def scored(frame, paths, keys, measure):
    """The runs by a measure, as the scripts score them."""
    answered = read_answered(prediction_files(frame, by_run(keys, paths)))
    return score_runs(frame, answered, measures.load(measure))
