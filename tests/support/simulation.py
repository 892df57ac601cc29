"""Small and degenerate result sets, put through statistics and claims, and what they contradict.

The tests take some, `make fuzz` others; `PYTHONPATH=tests python -m support.simulation 5000` any number.
"""

import gc
import math
import sys
import tempfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")] if str(ROOT / "scripts") not in sys.path else []

import numpy as np  # noqa: E402
import pandas  # noqa: E402

from analysis import permutations  # noqa: E402
from analysis.compute_statistics import OPTIONS, compute  # noqa: E402
from analysis.tabulate_test_accuracy import as_latex, as_markdown, columnar, readable, summarise_arms  # noqa: E402
from common.arms import Arm  # noqa: E402
from common.files import read_tsv  # noqa: E402
from lab.check_claims import own_claims  # noqa: E402
from lab.claim_tables import FAILS  # noqa: E402
from lab.claims import check_together  # noqa: E402
from support.frames import write_frame  # noqa: E402

ARMS = [
    Arm(f"{framework}-{init}", framework, "checkpoint", init)
    for framework in ("fairseq", "huggingface")
    for init in ("pretrained", "random")
]
# The seeds that an arm may have; the last four follow an earlier arm.
KINDS = ("any", "all right", "all wrong", "one class", "ties", "one seed again", "equal", "one review", "few", "offset")
# Fewer draws than a study's: what is looked for here is a crash or a contradiction, not a digit.
QUICK = OPTIONS | {"resamples": 199, "bootstrap": 100}


def draw_correct(generator, kind, labels, n_seeds, before):
    """Return (n_seeds, N) booleans: which reviews each seed of an arm gets right.

    Args:
        generator: numpy.random.Generator.
        kind: of `KINDS`.
        labels: (N,) of 0 and 1.
        n_seeds: seeds of the arm.
        before: the arm before, (its seeds, N), or None.
    """
    n = len(labels)
    share = generator.choice([0.02, 0.5, 0.65, 0.8, 0.98])
    if kind == "all right" or kind == "all wrong":
        return np.full((n_seeds, n), kind == "all right")
    if kind == "one class":
        return np.tile(labels == generator.integers(2), (n_seeds, 1))
    if kind == "ties":
        one = np.arange(n) < round(share * n)
        return np.stack([generator.permutation(one) for _ in range(n_seeds)])
    if kind == "one seed again":
        return np.tile(generator.random(n) < share, (n_seeds, 1))
    if kind == "any" or before is None:
        spread = generator.choice([0.0, 0.01, 0.1])
        return np.stack([generator.random(n) < share + generator.normal(0, spread) for _ in range(n_seeds)])
    found = before[np.arange(n_seeds) % len(before)].copy()
    if kind == "offset":
        # As many reviews more or less in every seed.
        found[:, : generator.integers(1, n + 1)] = generator.integers(2)
    for _ in range({"equal": 0, "one review": 1, "few": int(generator.integers(2, 5))}.get(kind, 0)):
        found[generator.integers(n_seeds), generator.integers(n)] ^= True
    return found


def draw_study(generator, largest=3000):
    """Return a study's runs by arm, as `compute_statistics.load_runs` does.

    Args:
        generator: numpy.random.Generator.
        largest: number of test reviews at most.
    """
    n = int(generator.choice([2, 3, 5, 20, generator.integers(2, 301), generator.integers(2, largest + 1)]))
    labels, arms, before = generator.integers(0, 2, n), {}, None
    same = int(generator.choice([1, 2, 3, 5, 10]))
    uneven = generator.random() < 0.3
    for arm in ARMS[: generator.integers(1, 5)]:
        n_seeds = int(generator.integers(1, 11)) if uneven else same
        before = draw_correct(generator, generator.choice(KINDS), labels, n_seeds, before)
        n_valid = int(generator.integers(1, 201))
        answers = np.where(before, labels, 1 - labels)
        arms[arm] = [
            {
                "seed": str(seed),
                "valid_accuracy": int(generator.integers(0, n_valid + 1)) / n_valid,
                "n_valid": n_valid,
                "test_accuracy": float(row.mean()),
                "correct": row.astype(np.float32),
                "constant": len(set(answer)) == 1,
            }
            for seed, (row, answer) in enumerate(zip(before, answers, strict=True), start=1)
        ]
    return arms


def contradictions_of_arm(row):
    """Yield what a row of arms.tsv says against itself."""
    several = row["n_seeds"] > 1
    for key in ("sd_ddof1", "sd_ddof0", "low", "high", "t_low", "t_high", "bootstrap_low", "bootstrap_high"):
        if (row[key] is not None) != several:
            yield f"{key} is {row[key]} for {row['n_seeds']} seeds"
    if not 0 <= row["min"] <= row["mean"] <= row["max"] <= 1:
        yield f"min {row['min']}, mean {row['mean']}, max {row['max']}"
    if row["n_learned"] > row["n_seeds"]:
        yield f"{row['n_learned']} of {row['n_seeds']} runs learnt"
    if several:
        if not 0 <= row["low"] <= row["mean"] <= row["high"] <= 1 or row["low"] == row["high"]:
            yield f"mean {row['mean']} is not within its interval {row['low']} to {row['high']}"
        if not row["t_low"] <= row["mean"] <= row["t_high"] or row["bootstrap_low"] > row["bootstrap_high"]:
            yield f"mean {row['mean']}, t {row['t_low']} to {row['t_high']}"
        if not row["sd_ddof1"] >= row["sd_ddof0"] >= 0:
            yield f"sd {row['sd_ddof1']} (ddof 1), {row['sd_ddof0']} (ddof 0)"


def contradictions_of_pair(row):
    """Yield what a row of pairs.tsv says against itself."""
    several = min(row["n_seeds_a"], row["n_seeds_b"]) > 1
    for key in ("low", "high", "bootstrap_low", "bootstrap_high", "seeds_p"):
        if (row[key] is not None) != several:
            yield f"{key} is {row[key]} for {row['n_seeds_a']} and {row['n_seeds_b']} seeds"
    for key in ("welch_p", "seeds_p", "items_p"):
        p, adjusted = row[key], row[f"{key}_holm"]
        if (p is None) != (adjusted is None) or (p is not None and not 0 <= p <= adjusted <= 1):
            yield f"{key} is {p}, {adjusted} after Holm"
    if several and (not row["low"] <= row["difference"] <= row["high"] or row["low"] == row["high"]):
        yield f"difference {row['difference']} is not within its interval {row['low']} to {row['high']}"
    if several and row["seeds_p"] < row["seeds_p_floor"] - 1e-12:
        yield f"seeds_p {row['seeds_p']} lies below its floor {row['seeds_p_floor']}"
    for key in ("probability_better_seeds", "probability_better_bootstrap", "seeds_p_floor"):
        if row[key] is not None and not 0 <= row[key] <= 1:
            yield f"{key} is {row[key]}"


def contradictions(arms, options=QUICK):
    """Return what the statistics of a study say against themselves, in words; an exception is a crash.

    Args:
        arms: what `draw_study` returns.
        options: as in `compute_statistics.compute`.
    """
    learned, of_arms, pairs, mcnemar = compute(arms, 0.5, options)
    found = []
    for row in of_arms.to_dict("records"):
        found += [f"arm {row['arm']}: {fault}" for fault in contradictions_of_arm(row)]
    for row in pairs.to_dict("records"):
        found += [f"pair {row['arm_a']}, {row['arm_b']}: {fault}" for fault in contradictions_of_pair(row)]
    for row in mcnemar.to_dict("records"):
        if not 0 <= row["p_value"] <= row["p_value_holm"] <= 1:
            found.append(f"McNemar {row['p_value']}, {row['p_value_holm']} after Holm")
    if not learned["p_value"].between(0, 1).all():
        found.append("p of having learnt")
    for name in ("arms", "pairs"):
        numbers = {"arms": of_arms, "pairs": pairs}[name].select_dtypes(object).to_numpy().ravel()
        if any(isinstance(value, float) and not math.isfinite(value) for value in numbers):
            found.append(f"a cell of {name}.tsv is not finite")
    return found + contradicted_claims(arms)


def contradicted_claims(arms):
    """Return the study's own claims that its runs contradict, by the files that it would write."""
    runs = pandas.DataFrame(
        [
            arm._asdict()
            | {"synthetic": "false"}
            | {key: run[key] for key in ("seed", "valid_accuracy", "n_valid", "test_accuracy")}
            for arm, of in arms.items()
            for run in of
        ]
    )
    summary = summarise_arms(runs)
    as_markdown(readable(summary, runs), "")
    as_latex(columnar(summary, runs), "")
    with tempfile.TemporaryDirectory(prefix="simulation-") as folder:
        content = {}
        for name, frame in {"runs": runs, "test_accuracy": summary}.items():
            write_frame(f"{folder}/{name}.tsv", frame)
            content[f"{name}.tsv"] = read_tsv(f"{folder}/{name}.tsv")
    checked = check_together(own_claims(content), content)
    return [f"{row['sentence']}: {row['data']}" for row in checked if row["verdict"] == FAILS]


def simulate(number, first=0, largest=3000, options=QUICK):
    """Return [(seed, fault)] of studies drawn with the seeds first, first + 1, ...: none, if all is well.

    Args:
        number: number of studies.
        first: seed of the first.
        largest: number of test reviews at most.
        options: as in `compute_statistics.compute`.
    """
    found = []
    for seed in range(first, first + number):
        arms = draw_study(np.random.default_rng(seed), largest)
        # Exact up to 5 against 5 seeds.
        with mock.patch.object(permutations, "SEED_PERMUTATIONS", 300):
            try:
                found += [(seed, fault) for fault in contradictions(arms, options)]
            except Exception as error:
                error.add_note(f"study of seed {seed}")
                raise
    return found


if __name__ == "__main__":
    gc.freeze()  # statsmodels collects garbage at each of Holm's corrections
    faults = simulate(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for seed, fault in faults:
        print(seed, fault)
    print(f"{len(faults)} faults in {sys.argv[1]} studies")
    sys.exit(bool(faults))
