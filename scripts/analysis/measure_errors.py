"""Measure errors by class, by probability, by length and by review, and the runs' agreement.

Figures and tables are made in one job: all use the same predictions, and starting Python and matplotlib takes seconds.
"""

import itertools
import json

import numpy as np
import pandas

from analysis import error_figures
from analysis.prediction_tables import read_answers, read_predictions
from common.arms import arm_label
from common.entry import run
from common.errors import StudyError
from common.files import read_json, read_lines, write_lines
from data.words import measure_lengths, unit_of
from study.tables import frame_rows, write_table

# Probabilities from 1/k to 1 fall into this many bins of equal width; lengths into this many bins of similar size.
BINS, LENGTHS = 10, 5
# This many reviews are shown with their text, those that most runs get wrong.
HARDEST = 40
RUN = ["arm", "seed"]


def confidence(frame):
    """Return the probability that a run gave its answer.

    Args:
        frame: `read_predictions`: `probability` is that of class 1; with more classes each has its `probability_K`.

    Returns:
        pandas.Series: (N,) floats.
    """
    columns = [column for column in frame if column.startswith("probability")]
    given = frame[columns].astype(float)
    return np.maximum(given[columns[0]], 1 - given[columns[0]]) if len(columns) == 1 else given.max(axis=1)


def of_class(frame, k):
    """Return the probability that a run gave class `k`, (N,) floats."""
    if "probability" in frame:
        given = frame["probability"].astype(float)
        return given if k == "1" else 1 - given
    return frame[f"probability_{k}"].astype(float)


def measure_confusion(keys, labels, answers, classes):
    """Return errors/confusion.tsv: for each run, class and answer the reviews, and their share of the class.

    With more than two classes, answers that no review of a class got are left out, except the right one.
    """
    rows, sizes = [], labels.value_counts()
    for key in keys:
        counts = pandas.crosstab(labels, answers[key].rename("answer"))
        counts = counts.reindex(index=classes, columns=classes, fill_value=0).to_numpy()
        for (i, label), (j, prediction) in itertools.product(enumerate(classes), enumerate(classes)):
            n, size = int(counts[i, j]), int(sizes.get(label, 0))
            if n or i == j or len(classes) == 2:
                row = dict(zip(RUN, key, strict=True)) | {"label": label, "prediction": prediction, "n_reviews": n}
                rows.append(row | {"share": n / size if size else None})
    return pandas.DataFrame(rows)


def measure_calibration(keys, right, sure, n_classes):
    """Return errors/calibration.tsv: for each arm and bin of probability the answers of its runs.

    Args:
        keys: runs as (arm, seed).
        right, sure: {run: (N,)} correctness of each answer, and its probability.
        n_classes: the least probability of an answer is 1 / n_classes.
    """
    edges = np.linspace(1 / n_classes, 1, BINS + 1)
    rows = []
    for arm in dict.fromkeys(arm for arm, _ in keys):
        of_arm = [key for key in keys if key[0] == arm]
        all_sure, all_right = (np.concatenate([values[key] for key in of_arm]) for values in (sure, right))
        for place, own_bin in enumerate(binned(all_sure, edges)):
            n = int(own_bin.sum())
            row = {"arm": arm, "bin": place + 1}
            row |= {"bin_low": float(edges[place]), "bin_high": float(edges[place + 1]), "n_answers": n}
            means = (float(all_sure[own_bin].mean()), float(all_right[own_bin].mean())) if n else (None, None)
            rows.append(row | dict(zip(("confidence", "accuracy"), means, strict=True)))
    return pandas.DataFrame(rows, dtype=object)


def binned(sure, edges):
    """Return a mask for each bin; a probability on an edge belongs to the bin below it, the lowest to the first."""
    places = np.clip(np.searchsorted(edges, sure, side="left") - 1, 0, len(edges) - 2)
    return [places == place for place in range(len(edges) - 1)]


def calibration_error(sure, right, n_classes):
    """Return the expected calibration error: Σ over bins of n_bin / N · |mean probability - accuracy|.

    Source: Guo et al. 2017, On Calibration of Modern Neural Networks, ICML, equation 3, with `BINS` bins of one width.
    """
    edges = np.linspace(1 / n_classes, 1, BINS + 1)
    masks = [mask for mask in binned(sure, edges) if mask.any()]
    return float(sum(mask.mean() * abs(sure[mask].mean() - right[mask].mean()) for mask in masks))


def mean_within(values):
    """Return the mean of numbers, kept between the least and the greatest, which a sum of floats can leave."""
    return min(max(float(np.mean(values)), min(values)), max(values))


def measure_by_length(keys, right, lengths):
    """Return errors/by_length.tsv: for each arm and bin of review length the accuracy over its runs.

    Bins have about as many reviews each; reviews of one length share a bin.
    """
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, LENGTHS + 1)[1:], method="lower"))
    places, rows = np.searchsorted(edges, lengths, side="left"), []
    for arm in dict.fromkeys(arm for arm, _ in keys):
        of_arm = [key for key in keys if key[0] == arm]
        for place in range(len(edges)):
            inside = places == place
            values = [float(right[key][inside].mean()) for key in of_arm]
            row = {"arm": arm, "bin": place + 1, "bin_low": int(lengths[inside].min())}
            row |= {"bin_high": int(lengths[inside].max()), "n_reviews": int(inside.sum()), "n_seeds": len(of_arm)}
            rows.append(row | {"mean": mean_within(values), "min": min(values), "max": max(values)})
    return pandas.DataFrame(rows)


def measure_agreement(keys, answers):
    """Return errors/agreement.tsv: for every two runs the share of reviews to which they give the same answer."""
    rows = []
    for one, other in itertools.product(keys, keys):
        names = {f"{name}_{letter}": part for letter, key in zip("ab", (one, other), strict=True)
                 for name, part in zip(RUN, key, strict=True)}  # fmt: skip
        rows.append(names | {"share": float((answers[one] == answers[other]).mean())})
    return pandas.DataFrame(rows)


def hardest(keys, labels, right, frames, lengths, texts):
    """Return the objects of errors/hardest.jsonl: reviews that most runs get wrong, the most confident errors first.

    Args:
        lengths: (unit, array of the test reviews' lengths).
        texts: the test reviews, or None where the report leaves them out.
    """
    unit, measured = lengths
    n_wrong = sum(1 - right[key] for key in keys)
    given = {key: np.where(labels == "0", of_class(frames[key], "0"), 0.0) for key in keys}
    for k in labels.unique():
        for key in keys:
            given[key] = np.where(labels == k, of_class(frames[key], k), given[key])
    mean = sum(given.values()) / len(keys)
    order = sorted(np.flatnonzero(n_wrong), key=lambda i: (-n_wrong[i], mean[i], i))[:HARDEST]
    found = []
    for i in map(int, order):
        arms = {}
        for arm in dict.fromkeys(arm for arm, _ in keys):
            probabilities = [float(given[key][i]) for key in keys if key[0] == arm]
            arms[arm_label(arm)] = sum(probabilities) / len(probabilities)
        row = {"id": i, "label": labels[i], "n_wrong": int(n_wrong[i]), "n_runs": len(keys)} | {unit: int(measured[i])}
        found.append(row | {"probability_of_label": arms} | ({"text": texts[i]} if texts else {}))
    return found


def main(
    predictions, reviews, manifest, run_keys, show_texts, colours, label_names, hard, svgs, pngs,
    confusion, calibration, by_length, agreement, runs, counts,
):  # fmt: skip
    """Write the tables and figures of a study's errors.

    Args:
        predictions: every run's predictions on test.
        reviews: data/test.review, for the reviews' lengths and, where the report may show them, their words.
        manifest: data/manifest.json.
        run_keys: (arm, seed) of each run.
        show_texts: True where texts of reviews may be shown.
        colours: configured colours by arm, or None.
        label_names: `data.label_names`.
        hard: errors/hardest.jsonl to write.
        svgs, pngs: figures to write: confusion, agreement, calibration, by_length.
        confusion, calibration, by_length, agreement, runs, counts: TSV files to write.

    Raises:
        StudyError: predictions of other reviews than the file's, or of two files.
    """
    keys = [tuple(key) for key in run_keys]
    paths = dict(zip(keys, predictions, strict=True))
    labels, answers = read_answers(paths)
    frames = {key: read_predictions(path) for key, path in paths.items()}
    texts = read_lines(reviews)
    if len(texts) != len(labels):
        raise StudyError(f"{reviews} has {len(texts)} reviews, the predictions {len(labels)}: evaluate the runs again")
    facts = read_json(manifest)
    unit = unit_of(facts)
    lengths = np.array(measure_lengths(texts, unit))
    right = {key: (answers[key] == labels).to_numpy(dtype=float) for key in keys}
    sure = {key: confidence(frames[key]).to_numpy() for key in keys}
    probable = [column for column in frames[keys[0]] if column.startswith("probability")]
    classes = [str(k) for k in range(max(2, len(probable)))]
    n_right = sum(right.values()).astype(int)
    tables = {
        "confusion": measure_confusion(keys, labels, answers, classes),
        "calibration": measure_calibration(keys, right, sure, len(classes)),
        "by_length": measure_by_length(keys, right, lengths),
        "agreement": measure_agreement(keys, answers),
        "runs": pandas.DataFrame(
            dict(zip(RUN, key, strict=True))
            | {"n_test": len(labels), "n_wrong": int((1 - right[key]).sum()), "confidence": float(sure[key].mean())}
            | {"calibration_error": calibration_error(sure[key], right[key], len(classes))}
            for key in keys
        ),
        "counts": pandas.DataFrame(
            {"n_right": n, "n_runs": len(keys), "n_reviews": int((n_right == n).sum())} for n in range(len(keys) + 1)
        ),
    }
    files = dict(zip(tables, (confusion, calibration, by_length, agreement, runs, counts), strict=True))
    for name, table in tables.items():
        write_table(files[name], f"errors_{name}", frame_rows(table))
    found = hardest(keys, labels, right, frames, (unit, lengths), texts if show_texts else None)
    write_lines(hard, [json.dumps(row, ensure_ascii=False) for row in found])
    shown = [(label_names or {}).get(name, name) for name in facts.get("labels") or ()]
    error_figures.draw(tables, facts | {"labels": shown}, colours, svgs, pngs, files)


if __name__ == "__main__":
    run(main, snakemake)
