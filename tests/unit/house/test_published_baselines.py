"""The published studies' numbers on their arms and the simple models, computed again without the project's statistics.

Nothing here imports `analysis`: the predictions are read by Python's csv, and the interval is written from its sources.
"""

import csv
import math
import os
import re

import numpy as np
import pytest
from scipy import stats

from support.studies import ROOT, published

HOME = os.path.join(ROOT, "published")
STUDIES = sorted(name for name in os.listdir(HOME) if os.path.exists(os.path.join(HOME, name, "statistics")))


def rows_of(*place):
    study, *rest = place
    with open(os.path.join(published(study), *rest), encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


def answers_of(study, arm):
    """(seeds, texts): 1 where an arm's run answers right, in the order of the seeds."""
    folder = os.path.join(published(study), "predictions", arm)
    files = sorted(name for name in os.listdir(folder) if name.endswith(".tsv"))
    return np.array(
        [[row["label"] == row["prediction"] for row in rows_of(study, "predictions", arm, file)] for file in files],
        float,
    )


def paired(arm, model, level):
    """The difference of an arm's runs from a model without seeds on the same texts, its interval and p.

    Sources: Scheffé, The Analysis of Variance, chapter 7 (mean squares of seeds and texts); Satterthwaite 1946.
    """
    n_seeds, n_texts = arm.shape
    grand, by_seed, by_text = arm.mean(), arm.mean(axis=1), arm.mean(axis=0)
    error = arm - by_seed[:, None] - by_text[None, :] + grand
    free = (n_seeds - 1) * (n_texts - 1)
    of_seeds, of_error = n_texts * by_seed.var(ddof=1), (error**2).sum() / free
    gaps = by_text - model
    parts = [
        (of_seeds / arm.size, n_seeds - 1),
        (-of_error / arm.size, free),
        (gaps.var(ddof=1) / n_texts, n_texts - 1),
    ]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / df for part, df in parts)
    # Neither seeds nor texts vary by less than nothing.
    if variance < of_error / arm.size:
        variance, freedom = of_error / arm.size, free
    ways = [(variance, max(freedom, n_seeds - 1))]
    if by_seed.var(ddof=1) > 0:
        ways.append((by_seed.var(ddof=1) / n_seeds, n_seeds - 1))
    half = max(stats.t.ppf((1 + level) / 2, df) * math.sqrt(one) for one, df in ways)
    p = max(2 * stats.t.sf(abs(gaps.mean()) / math.sqrt(one), df) for one, df in ways)
    return gaps.mean(), gaps.mean() - half, gaps.mean() + half, p


@pytest.mark.parametrize("study", STUDIES)
def test_every_difference_from_a_simple_model_follows_from_the_predictions(study):
    rows, kept = rows_of(study, "statistics", "baselines.tsv"), {}
    assert rows
    for row in rows:
        for name in (row["arm"], row["baseline"]):
            if name not in kept:
                kept[name] = answers_of(study, name)
        found = paired(kept[row["arm"]], kept[row["baseline"]][0], float(row["level"]))
        told = [float(row[name]) for name in ("difference", "low", "high", "p")]
        assert found == pytest.approx(told, rel=1e-6, abs=1e-9), (row["arm"], row["baseline"])


def test_the_readme_says_what_they_say():
    """The sentence that names TF-IDF: figures of an independent computation, printed as it prints them."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as handle:
        sentence = re.search(r"^- A linear model .*$", handle.read(), re.MULTILINE)[0]
    best = max(
        (row for row in rows_of("open", "baselines.tsv") if row["baseline"] != "majority"),
        key=lambda row: float(row["valid_accuracy"]),
    )["baseline"]
    model = answers_of("open", best)[0]
    assert f"reaches {100 * model.mean():.2f} %" in sentence
    for arm, name in (("fairseq-pretrained", "fairseq"), ("huggingface-pretrained", "Hugging Face")):
        difference, low, high, _ = paired(answers_of("open", arm), model, 0.95)
        said = f"{-100 * difference:.2f} points more than {name} pretrained (95 % interval "
        said += f"{-100 * high:+.2f} to {-100 * low:+.2f})"
        assert said in sentence
        # The word "more" stands on an interval that leaves 0 out.
        assert high < 0
