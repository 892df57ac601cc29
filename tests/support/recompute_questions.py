"""The answers to a study's questions, computed again from its predictions alone.

Nothing of the project is imported: the formulas are those of docs/method/statistics.md, written down a second time.
"""

import csv
import json
import math
from pathlib import Path

import numpy as np
from scipy import stats


def read(path):
    """Return the rows of a TSV file as dictionaries of text."""
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


def right(path):
    """Return (N,) 1 where a run's answer is the label, else 0, and the texts' ids."""
    rows = read(path)
    return np.array([float(row["label"] == row["prediction"]) for row in rows]), [row["id"] for row in rows]


def accuracy(folder, arm):
    """Return (S, N) right answers, the texts' ids, and whether no seed changes the arm; seeds by their numbers."""
    paths = sorted((folder / "predictions" / arm).glob("seed*.tsv"), key=lambda path: int(path.stem[4:]))
    found = [right(path) for path in paths]
    assert all(ids == found[0][1] for _, ids in found)
    return np.stack([values for values, _ in found]), found[0][1], [path.stem for path in paths] == ["seed0"]


def best_accuracy(folder, names):
    """Return what `accuracy` does, of the arm that validation prefers for each seed by all other seeds."""
    valid = {}
    for row in read(folder / "runs.tsv"):
        valid.setdefault(row["arm"], {})[int(row["seed"])] = float(row["valid_accuracy"])
    found = {name: accuracy(folder, name) for name in names}
    if all(fixed for _, _, fixed in found.values()):
        # Simple models that no seed changes: one choice, from their own table.
        score = {row["baseline"]: float(row["valid_accuracy"]) for row in read(folder / "baselines.tsv")}
        return found[max(names, key=score.get)]
    seeds = sorted(valid[names[0]])
    rows = []
    for place, seed in enumerate(seeds):
        means = [np.mean([valid[name][other] for other in seeds if other != seed]) for name in names]
        # The first of those that lie within what floats lose of the highest.
        chosen = next(name for name, mean in zip(names, means, strict=True) if mean > max(means) - 1e-10)
        rows.append(found[chosen][0][place])
    return np.stack(rows), found[names[0]][1], False


def chrf_values(answers, references):
    """Return (score, (N,) pseudo-values) of a corpus's chrF."""
    from sacrebleu.metrics import CHRF

    def score(rows):
        return CHRF().corpus_score([answers[i] for i in rows], [[references[i] for i in rows]]).score

    every = list(range(len(answers)))
    whole = score(every)
    left = [score(every[:i] + every[i + 1 :]) for i in every]
    return whole, np.array([len(every) * whole - (len(every) - 1) * one for one in left])


def chrf(folder, arm):
    """Return (scores, (S, N) pseudo-values, whether no seed changes it) of an arm of question answering."""
    with open(folder / "qa" / "generations.jsonl", encoding="utf-8") as handle:
        rows = [json.loads(line) for line in handle]
    moment = "before" if arm == "base" else "after"
    runs = {}
    for row in rows:
        if arm in ("base", row["arm"]):
            runs.setdefault(row["seed"], []).append((row[moment], row["reference"]))
    found = [chrf_values(*map(list, zip(*run, strict=True))) for run in runs.values()]
    found = found[:1] if arm == "base" else found
    return [score for score, _ in found], np.stack([values for _, values in found]), arm == "base"


def anova(values):
    """Return (mean square of seeds, residual mean square) of (S, N) values, from the residuals themselves."""
    n_seeds, n_items = values.shape
    rows, columns, mean = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True), values.mean()
    residual = ((values - rows - columns + mean) ** 2).sum() / ((n_seeds - 1) * (n_items - 1))
    return n_items * ((rows - mean) ** 2).sum() / (n_seeds - 1), residual


def satterthwaite(terms):
    """Return the variance of a sum of estimates and its degrees of freedom."""
    variance = sum(value for value, _ in terms)
    return variance, variance**2 / sum(value**2 / df for value, df in terms)


def standard_errors(arms):
    """Return [(standard error, degrees of freedom)] of a contrast: over seeds and texts, and over seeds alone.

    Args:
        arms: [(sign, (S, N) values, whether no seed changes it)].
    """
    n_items = arms[0][1].shape[1]
    each = sum(sign * values.mean(axis=0) for sign, values, _ in arms)
    whole, least, alone, fewest = [(each.var(ddof=1) / n_items, n_items - 1)], [], [], [n_items - 1]
    for _, values, fixed in arms:
        if fixed:
            continue
        n_seeds = len(values)
        of_seeds, residual = (square / values.size for square in anova(values))
        df = n_seeds - 1
        whole += [(of_seeds, df), (-residual, df * (n_items - 1))]
        least.append((residual, df * (n_items - 1)))
        alone.append((values.mean(axis=1).var(ddof=1) / n_seeds, df))
        fewest.append(df)
    variance, df = satterthwaite(whole)
    if least and sum(value for value, _ in least) > variance:
        variance, df = satterthwaite(least)
    found = [(math.sqrt(variance), max(df, min(fewest)))]
    if alone:
        variance, df = satterthwaite(alone)
        sizes = {one for _, one in alone}
        found.append((math.sqrt(variance), df if len(sizes) == 1 else min(sizes)))
    return found


def holm(values):
    """Return p values after Holm's correction."""
    order, found, highest = sorted(range(len(values)), key=values.__getitem__), [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        found[place] = highest
    return found


def signs(compare):
    """Return [(sign, arm)] of a question."""
    if isinstance(compare[0], str):
        return [(1, compare[0]), (-1, compare[1])]
    (a, b), (c, d) = compare
    return [(1, a), (-1, b), (-1, c), (1, d)]


def digest(question):
    """Return what makes a question another one."""
    return tuple(str(question.get(key)) for key in ("ask", "compare", "measure", "equal_within"))


def p_of(difference, margin, ends):
    """Return what is tested and its p: a difference from 0, or the nearer of equal within the margin and beyond it.

    Args:
        difference: difference of the contrast.
        margin: as a share; None where a difference is asked for.
        ends: what `standard_errors` returns.
    """
    if margin is None:
        return "difference", max(2 * stats.t.sf(abs(difference) / error, df) for error, df in ends)
    if abs(difference) < margin:
        return "equal", max(stats.t.sf((margin - abs(difference)) / error, df) for error, df in ends)
    sides = abs(difference) - margin, abs(difference) + margin
    return "beyond", max(sum(stats.t.sf(side / error, df) for side in sides) for error, df in ends)


def answers(folder, questions):
    """Return the rows that questions.tsv should have, by the sentence asked.

    Args:
        folder: folder of a study, with questions.json and predictions.
        questions: questions of its study file.
    """
    folder, rows, asked = Path(folder), [], set(map(digest, questions))
    for question in json.loads((folder / "questions.json").read_text(encoding="utf-8")).values():
        if digest(question) not in asked:
            # Registered once, and taken out of the study file since.
            continue
        arms, difference, texts = [], 0.0, None
        for sign, arm in signs(question["compare"]):
            if question.get("measure") == "chrf":
                scores, values, fixed = chrf(folder, arm)
            elif question.get("measure", "accuracy") == "accuracy":
                among = question.get("among", {}).get(arm)
                values, ids, fixed = best_accuracy(folder, among) if among else accuracy(folder, arm)
                scores, texts = values.mean(axis=1), texts or ids
                assert ids == texts
            else:
                raise NotImplementedError(question["measure"])
            arms.append((sign, values, fixed))
            difference += sign * float(np.mean(scores))
        ends = standard_errors(arms)
        half = max(stats.t.ppf(0.975, df) * error for error, df in ends)
        margin = question["equal_within"] / 100 if question.get("equal_within") is not None else None
        tested, p = p_of(difference, margin, ends)
        rows.append(
            {
                "ask": question["ask"],
                "score_difference": difference,
                "score_difference_low": difference - half,
                "score_difference_high": difference + half,
                "p": float(p),
                "tested": tested,
                "n_runs_then": len(question["runs"]),
                "n_seeds_each": " ".join("-" if fixed else str(len(values)) for _, values, fixed in arms),
                "n_test": arms[0][1].shape[1],
                "equal_within": margin,
            }
        )
    early = [row for row in rows if not row["n_runs_then"]]
    for family in (rows, early):
        for row, p in zip(family, holm([row["p"] for row in family]), strict=True):
            row |= {"p_holm": p, "n_family": len(family)}
    return {row["ask"]: row | {"answer": row["tested"] if row["p_holm"] <= 0.05 else "open"} for row in rows}
