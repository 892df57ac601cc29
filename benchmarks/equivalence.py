"""Does the fast way of training give the accuracies of the plain way? (`make equivalence`)

Both sides train the same small model on the real reviews with many seeds: the plain side stock `fairseq-train` and the
padded `run_glue` recipe in float32 with batches at random, the workflow length-grouped batches, fused AdamW and
bfloat16; hyperparameters, classification head and decay are the same. Their mean test accuracies count as equal where
two one-sided Welch tests (TOST) reject, at 5 %, that they differ by the margin or more. The margin was set before the
first run: 1.5 points, less than the 1.75 that 2 000 test reviews leave open at 80 % (95 %). A pilot of twelve other
seeds (1 to 12), whose standard deviations were 1.1 to 1.6 points, set the number of seeds: thirty show sides equal that
differ by half a point, nine times in ten.
"""

import argparse
import functools
import math
import os
import re
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor

import matplotlib
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind

from common.files import read_json, read_tsv, write_json, write_text, write_tsv
from common.machine import machine
from plain_commands import FRAMEWORKS, ROOT, Study, circumstances, timed

MARGIN = 0.015
COLUMNS = ("framework", "side", "seed", "epoch", "split", "metric", "value")
# A line of fairseq's log: loss in bits an example, accuracy in percent with one decimal.
VALIDATION = re.compile(r"on '(valid|test)' subset \| loss ([0-9.]+) .*?\| accuracy ([0-9.]+)")


def plain_fairseq(out):
    """Return a plain fairseq run's rows, (epoch, split, metric, value): loss in nats, accuracy a fraction."""
    with open(os.path.join(out, "log"), encoding="utf-8", errors="replace") as handle:
        found = VALIDATION.findall(handle.read())
    rows, epochs = [], {"valid": 0, "test": 0}
    for split, loss, accuracy in found:
        epochs[split] += 1
        rows.append((epochs[split], split, "loss", float(loss) * math.log(2)))
        rows.append((epochs[split], split, "accuracy", float(accuracy) / 100))
    return rows


def plain_huggingface(out):
    """Return a plain Hugging Face run's rows; of the test split only what its best epoch scored, as epoch 0."""
    record = read_json(os.path.join(out, "run.json"))
    rows = [(0, "test", "accuracy", record["test_accuracy"])]
    for entry in record["history"]:
        if "eval_loss" in entry:
            rows.append((round(entry["epoch"]), "valid", "loss", entry["eval_loss"]))
            rows.append((round(entry["epoch"]), "valid", "accuracy", entry["eval_accuracy"]))
    return rows


def workflow_rows(study, framework, seed):
    """Return the rows of a run of the workflow; its test accuracy, of the selected epoch, as epoch 0."""
    run = os.path.join("finetuning", f"{framework}-pretrained", f"seed{seed}")
    rows = [
        (int(row["epoch"]), row["split"], row["metric"], float(row["value"]))
        for row in read_tsv(os.path.join(study.results, run, "history.tsv"))
        if row["split"] == "valid" and row["metric"] in ("loss", "accuracy")
    ]
    predictions = read_tsv(os.path.join(study.results, "predictions", f"{framework}-pretrained", f"seed{seed}.tsv"))
    right = sum(row["label"] == row["prediction"] for row in predictions)
    return [*rows, (0, "test", "accuracy", right / len(predictions))]


def test_accuracy(rows):
    """Return a run's test accuracy: the row of epoch 0, else that of the best validation epoch, earliest of equals."""
    values = {(epoch, split, metric): value for epoch, split, metric, value in rows}
    if (0, "test", "accuracy") in values:
        return values[0, "test", "accuracy"]
    valid = {
        epoch: value for (epoch, split, metric), value in values.items() if (split, metric) == ("valid", "accuracy")
    }
    return values[min(valid, key=lambda epoch: (-valid[epoch], epoch)), "test", "accuracy"]


def compare(plain, workflow):
    """Return the comparison of two samples of accuracies (fractions).

    Returns:
        dict: n, mean and sd (ddof 1) of both; difference (workflow - plain) with its 90 % interval (Welch), which lies
        within the margin exactly where TOST at 5 % says equal; p of TOST; equivalent.
    """
    p, _, _ = ttost_ind(workflow, plain, -MARGIN, MARGIN, usevar="unequal")
    means = CompareMeans(DescrStatsW(workflow), DescrStatsW(plain))
    return {
        "n": [len(plain), len(workflow)],
        "plain": {"mean": statistics.mean(plain), "sd": statistics.stdev(plain)},
        "workflow": {"mean": statistics.mean(workflow), "sd": statistics.stdev(workflow)},
        "difference": statistics.mean(workflow) - statistics.mean(plain),
        "interval_90": list(means.tconfint_diff(alpha=0.1, usevar="unequal")),
        "margin": MARGIN,
        "p": float(p),
        "equivalent": bool(p < 0.05),
    }


def draw(rows, path):
    """Draw the validation loss of every run by epoch, both sides laid over each other, one panel a framework."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    colours = {"plain": "#D55E00", "workflow": "#0072B2"}
    figure, axes = plt.subplots(1, len(FRAMEWORKS), figsize=(9, 3.6), sharey=True, layout="constrained")
    for axis, framework in zip(axes, FRAMEWORKS, strict=True):
        for side, colour in colours.items():
            curves = {}
            for row in rows:
                if (row["framework"], row["side"], row["split"], row["metric"]) == (framework, side, "valid", "loss"):
                    curves.setdefault(row["seed"], {})[row["epoch"]] = row["value"]
            for curve in curves.values():
                axis.plot(list(curve), list(curve.values()), color=colour, alpha=0.25, linewidth=0.8)
            epochs = sorted({epoch for curve in curves.values() for epoch in curve})
            mean = [statistics.mean(curve[epoch] for curve in curves.values()) for epoch in epochs]
            axis.plot(epochs, mean, color=colour, linewidth=2.2, label=f"{side}, mean of {len(curves)} seeds")
        axis.set(title=framework, xlabel="epoch", xticks=epochs)
        axis.legend(frameon=False)
    axes[0].set_ylabel("validation loss, nats")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def markdown(record):
    """Return the comparison as a table."""
    lines = [
        "| framework | seeds a side | plain, % | workflow, % | difference, points (90 % interval) | TOST p | equal |",
        "|---|---|---|---|---|---|---|",
    ]
    for framework, found in record["frameworks"].items():
        low, high = (100 * value for value in found["interval_90"])
        lines.append(
            f"| {framework} | {found['n'][0]} | {100 * found['plain']['mean']:.2f} ± {100 * found['plain']['sd']:.2f} "
            f"| {100 * found['workflow']['mean']:.2f} ± {100 * found['workflow']['sd']:.2f} "
            f"| {100 * found['difference']:+.2f} ({low:+.2f} to {high:+.2f}) | {found['p']:.2g} "
            f"| {'yes' if found['equivalent'] else 'not shown'} |"
        )
    note = (
        f"Test accuracy, mean ± standard deviation over seeds (ddof 1), {record['n_test']} reviews. Equal: both "
        f"one-sided Welch tests reject a difference of {100 * MARGIN:.1f} points or more at 5 %. fairseq's own log, "
        "which its plain side is read from, rounds an accuracy to 0.1 points."
    )
    return "\n".join([*lines, "", note, ""])


def run_plain(study, run):
    """Return the rows of a run of the plain side; a finished one is kept, so this command can be called again."""
    out = study.plain_folder(*run)
    if not os.path.exists(os.path.join(out, "finished")):
        out = study.fresh_folder(*run)
        timed(study.plain_command(*run, out), os.path.join(out, "log"), 1)
        write_text(os.path.join(out, "finished"), "")
    print("plain:", *run, flush=True)
    return {"fairseq": plain_fairseq, "huggingface": plain_huggingface}[run[0]](out)


def main(arguments=None):
    """Run both sides and write `results/equivalence/equivalence.{json,md,tsv,svg}`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=30, help="seeds a side and framework")
    parser.add_argument("--first-seed", type=int, default=101)
    parser.add_argument("--mirror", help="folder that replaces the network")
    options = parser.parse_args(arguments)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    path = os.path.join(ROOT, "benchmarks", "equivalence.yaml")
    study = Study(path, "equivalence", {"finetuning": {"seeds": list(seeds)}}, options.mirror)
    print("preparing", flush=True)
    study.prepare()
    runs = [(framework, "pretrained", seed) for seed in seeds for framework in FRAMEWORKS]
    print(f"the workflow: {len(runs)} runs", flush=True)
    targets = [f"predictions/{framework}-{init}/seed{seed}.tsv" for framework, init, seed in runs]
    timed(study.snakemake(*targets), os.path.join(study.plain, "workflow.log"))
    with ThreadPoolExecutor(machine()["cores"]) as pool:
        plain = dict(zip(runs, pool.map(functools.partial(run_plain, study), runs), strict=True))
    sides = {"plain": plain, "workflow": {run: workflow_rows(study, run[0], run[2]) for run in runs}}
    accuracies = {
        side: {
            framework: [test_accuracy(found[framework, "pretrained", seed]) for seed in seeds]
            for framework in FRAMEWORKS
        }
        for side, found in sides.items()
    }
    rows = [
        dict(zip(COLUMNS, (framework, side, seed, *row), strict=True))
        for side, found in sides.items()
        for (framework, _, seed), entries in found.items()
        for row in entries
    ]
    record = {
        "frameworks": {
            framework: compare(accuracies["plain"][framework], accuracies["workflow"][framework])
            for framework in FRAMEWORKS
        },
        "n_test": sum(1 for _ in read_tsv(os.path.join(study.results, targets[0]))),
        "seeds": list(seeds),
        **circumstances(),
    }
    write_tsv(os.path.join(study.results, "equivalence.tsv"), rows, COLUMNS)
    write_json(os.path.join(study.results, "equivalence.json"), record)
    draw(rows, os.path.join(study.results, "equivalence.svg"))
    text = markdown(record)
    write_text(os.path.join(study.results, "equivalence.md"), text)
    print("\n" + text)
    if not all(found["equivalent"] for found in record["frameworks"].values()):
        sys.exit("equivalence: not shown for every framework: more seeds, or a real difference")


if __name__ == "__main__":
    main()
