"""Result sets of any size and kind, through the study's own tables up to the page and its check."""

import contextlib
import hashlib
import io
import itertools
import json
import random
from pathlib import Path

from analysis import (
    aggregate_runs,
    answer_questions,
    compute_statistics,
    count_errors,
    measure_classes,
    measure_errors,
    plot_arms,
    tabulate_test_accuracy,
)
from analysis.epoch_curves import leading_points
from common.files import read_json, sha256, write_json, write_lines, write_text, write_tsv
from common.frames import read_frame
from finetuning import select_checkpoint
from report import build_report, check_report
from study.figures import majority_shares
from study.questions import REGISTER, register
from support.frames import write_frame
from support.report_study import TEMPLATES

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><dc:description>{}={}</dc:description></svg>'
# Fewer draws: what they are worth is tested elsewhere.
OPTIONS = compute_statistics.OPTIONS | {"resamples": 99, "bootstrap": 99}
COMMIT = "0123abc"


def draw(svg, table):
    """Write a drawing of nothing that says which table it shows, as `study.figures.save` does."""
    write_text(svg, SVG.format(Path(table).name, sha256(table)))


def write_runs(folder, labels, arms, n_valid=20, epochs=2, updates=225):
    """Write the runs of a study as its jobs do.

    Args:
        folder: pathlib.Path, the results folder.
        labels: (N,) of the test reviews.
        arms: {(framework, init): {seed: ((N,) answers, correct validation reviews)}}; a key may have a name, too.
        n_valid: validation reviews.
        epochs, updates: epochs of a run, updates of an epoch.

    Returns:
        dict: the paths by kind.
    """
    paths = {"records": [], "histories": [], "selected": [], "predictions": [], "benchmarks": [], "keys": []}
    for (framework, init, *own), seeds in arms.items():
        arm = name_of(framework, init, *own)
        for seed, (answers, n_right) in seeds.items():
            home = folder / "finetuning" / arm / f"seed{seed}"
            record = {"arm": arm, "framework": framework, "model": "checkpoint", "init": init, "seed": seed}
            record |= {"n_train": 1800, "n_valid": n_valid}
            record |= {"total_updates": updates * epochs, "warmup_updates": 12, "train_seconds": 10.25 + seed}
            record |= {"precision": "bfloat16", "threads": 2, "versions": {"torch": "2.13.0", "py7zr": f"1.{seed}"}}
            machine = {"cpu": "Processor 7B13", "cores": 2, "memory_mb": 24055, "gpu": None, "os": "Linux 6.1"}
            record |= {"started": "2026-01-02T10:00:00+00:00", "ended": "2026-01-02T10:10:00+00:00"}
            write_json(home / "run.json", record | {"commit": "5eed", "settings_sha256": "5a" * 32, "machine": machine})
            rows = [
                {"epoch": e, "update": updates * e, "split": "valid", "metric": metric, "value": value}
                for e in range(1, epochs + 1)
                for n in [max(0, n_right - (epochs - e))]
                for metric, value in (("accuracy", n / n_valid), ("n_correct", n))
            ]
            write_tsv(home / "history.tsv", rows, tuple(rows[0]))
            write_json(home / "selected.json", select_checkpoint.choose(str(home / "history.tsv")))
            found = [
                {"id": i, "label": label, "prediction": answer} | probabilities(answer, max(2, 1 + max(labels)))
                for i, (label, answer) in enumerate(zip(labels, answers, strict=True))
            ]
            predictions = folder / "predictions" / arm / f"seed{seed}.tsv"
            write_tsv(predictions, found, tuple(found[0]))
            benchmark = folder / "benchmarks" / f"finetune_{framework}" / arm / f"seed{seed}.tsv"
            write_tsv(benchmark, [{"s": 17.5 + seed, "max_rss": 1789.25}], ("s", "max_rss"))
            for kind, path in (("records", home / "run.json"), ("histories", home / "history.tsv")):
                paths[kind].append(str(path))
            paths["selected"].append(str(home / "selected.json"))
            paths["predictions"].append(str(predictions))
            paths["benchmarks"].append(str(benchmark))
            paths["keys"].append((arm, str(seed)))
    return paths


def name_of(framework, init, own=None):
    """Return the name of an arm of `write_runs`."""
    return own or f"{framework}-{init}"


def probabilities(answer, n_classes):
    """Return the columns of probabilities of an answer, as the predictions of so many classes have them."""
    if n_classes == 2:
        return {"probability": 0.75 if answer else 0.25}
    return {f"probability_{k}": 0.7 if k == answer else 0.3 / (n_classes - 1) for k in range(n_classes)}


def write_manifest(folder, labels, n_valid):
    """Write data/manifest.json; return its path."""
    positive, sizes = {"train": 900, "valid": n_valid // 2, "test": sum(labels)}, {"train": 1800, "valid": n_valid}
    sizes |= {"test": len(labels)}
    n_classes, own = 1 + max(labels), {}
    splits = {split: {"n": n, "n_positive": positive[split]} for split, n in sizes.items()}
    if n_classes > 2:
        # All that the first ones leave is the last class's, but on test.
        of = {split: [n // (n_classes + 1)] * (n_classes - 1) for split, n in sizes.items()}
        by_class = {split: [*of[split], n - sum(of[split])] for split, n in sizes.items()}
        by_class["test"] = [list(labels).count(k) for k in range(n_classes)]
        splits = {split: {"n": n, "n_by_class": by_class[split]} for split, n in sizes.items()}
        own = {"labels": [f"class <{k + 1}> of 3" for k in range(n_classes)]}
    splits = {split: of | {"sha256_review": "1f" * 32, "sha256_label": "9c" * 32} for split, of in splits.items()}
    # The labels of the predictions are checked against this.
    lines = "".join(f"{label}\n" for label in labels)
    splits["test"]["sha256_label"] = hashlib.sha256(lines.encode()).hexdigest()
    manifest = {"source": "simulated", "synthetic": False, "split_seed": 3, "files": {"a.b/c1.txt": "07" * 32}}
    path = folder / "data" / "manifest.json"
    write_json(path, manifest | own | {"splits": splits, "unlabelled": {"n": 12345, "sha256": None}})
    return str(path)


def write_tables(folder, labels, arms, n_valid=20, epochs=2):
    """Write runs and the study's own tables of them; return build_report's inputs."""
    paths = write_runs(folder, labels, arms, n_valid, epochs)
    manifest = write_manifest(folder, labels, n_valid)

    def out(name):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        return str(folder / name)

    runs, history = out("runs.tsv"), out("history.tsv")
    records, selected, histories, predictions = (paths[k] for k in ("records", "selected", "histories", "predictions"))
    aggregate_runs.main(records, selected, histories, predictions, [], manifest, runs, history, "simulated")
    accuracy = [out(f"test_accuracy.{ending}") for ending in ("tsv", "md", "tex")]
    tabulate_test_accuracy.main(runs, *accuracy)
    write_frame(out("figures/arms.tsv"), plot_arms.intervals(read_frame(runs), majority_of(manifest)))
    draw(out("figures/arms.svg"), out("figures/arms.tsv"))
    points, curves = leading_points(read_frame(history), read_frame(runs)), []
    for arm in (name_of(*key) for key in arms):
        name = out(f"figures/accuracy_by_epoch/{arm}")
        write_frame(f"{name}.tsv", points[points["arm"] == arm])
        draw(f"{name}.svg", f"{name}.tsv")
        curves.append(name)
    tables = [out(f"statistics/{name}.tsv") for name in ("arms", "pairs", "mcnemar")]
    compute_statistics.main(
        runs, predictions, paths["keys"], manifest, *tables, out("statistics/method.json"), out("learned.tsv"), OPTIONS
    )
    count_errors.main(predictions, out("errors.tsv"))
    asked = ask(folder, [name_of(*key) for key in arms], runs, predictions, out("learned.tsv"), paths["keys"])
    return asked | {
        "runs": runs,
        "history": history,
        "test_accuracy": accuracy[0],
        "test_accuracy_markdown": accuracy[1],
        "test_accuracy_latex": accuracy[2],
        "arms_data": out("figures/arms.tsv"),
        "arms_figure": out("figures/arms.svg"),
        "curves": [f"{name}.svg" for name in curves],
        "curves_data": [f"{name}.tsv" for name in curves],
        "arm_statistics": tables[0],
        "pairs": tables[1],
        "mcnemar": tables[2],
        "method": out("statistics/method.json"),
        "learned": out("learned.tsv"),
        "errors": out("errors.tsv"),
        "predictions": predictions,
        "run_records": records,
        "training_benchmarks": paths["benchmarks"],
        "manifest": manifest,
    }


def ask(folder, arms, runs, predictions, learned, keys):
    """Ask whether each arm differs from the first, before any run; return build_report's input, none of one arm."""
    questions = [{"ask": f"Does {name} differ from {arms[0]}?", "compare": [name, arms[0]]} for name in arms[1:]]
    if not questions:
        return {}
    register(str(folder), questions, lambda measure: [])
    path, noted = str(folder / "questions.tsv"), str(folder / REGISTER)
    answer_questions.main(runs, predictions, [], learned, path, keys, [], questions, noted)
    return {"questions": path}


def majority_of(manifest):
    """Return the larger class's share of the test reviews."""
    return majority_shares(read_json(manifest), ["test"])["test"]


def settings_of(arms, name="simulated"):
    """Return the settings of such a study."""
    seeds = sorted({seed for runs in arms.values() for seed in runs})
    return {
        "study": name,
        "finetuning": {
            "arms": {
                name_of(framework, init, *own): {"framework": framework, "model": "checkpoint", "init": init}
                for framework, init, *own in arms
            },
            "seeds": seeds,
            "protocol": "matched",
            "training": {"lr": 1e-05, "warmup_ratio": 0.06, "save_every": None},
        },
        "checkpoint": {"source": "pretrain", "corpus": {"files": [{"url": "/here/1.txt", "parts": [1, 2]}]}},
        "qa": {"base": {"source": "embedded", "embedded": EMBEDDED}},
        "mirror": "/here",
    }


EMBEDDED = {"architecture": {"layers": 4, "width": 64}, "training": {"updates": 300}}


def simulated(generator, n_test, arms, seeds, accuracies, n_classes=2):
    """Return (labels, arms) for `write_tables`: runs that get each review right with their arm's chance.

    Args:
        generator: random.Random.
        n_test: reviews.
        arms: list of (framework, init).
        seeds: list of int.
        accuracies: chance of a right answer, one an arm.
        n_classes: classes; of more than two the first is the largest.
    """
    labels = [place % n_classes if n_classes == 2 else place % (2 * n_classes) % n_classes if place % 3 else 0
              for place in range(n_test)]  # fmt: skip
    runs = {}
    for arm, accuracy in zip(arms, accuracies, strict=True):
        runs[arm] = {
            seed: (
                [y if generator.random() < accuracy else (y + 1) % n_classes for y in labels],
                generator.randint(8, 20),
            )
            for seed in seeds
        }
    return labels, runs


def make_page(folder, files, settings):
    """Build the page, quietly, and return its text."""
    with contextlib.redirect_stdout(io.StringIO()):
        build_report.main(TEMPLATES, str(folder / "report.html"), settings, COMMIT, **files)
    return (folder / "report.html").read_text(encoding="utf-8")


def check_page(folder, files, settings, commit=COMMIT):
    """Check the page, quietly."""
    with contextlib.redirect_stdout(io.StringIO()):
        paths = str(folder / "report.html"), str(folder / "numbers.tsv")
        check_report.main(TEMPLATES, *paths, settings, commit, **files)


def against_baselines(arms, generator):
    """Rows of statistics/baselines.tsv by chance: an arm that is ahead, one that is not shown, one of one seed, ..."""
    for place, (arm, name) in enumerate(itertools.product(arms, ("tfidf_words", "tfidf_characters"))):
        difference, one_seed = generator.uniform(-0.3, 0.3), place // 2 % 3 == 2
        bounds = {"low": difference - 0.1, "high": difference + 0.1, "p": 0.01, "p_holm": generator.random()}
        bounds = dict.fromkeys(bounds, "") if one_seed else bounds
        facts = {"arm": arm, "framework": arm.partition("-")[0], "model": "checkpoint", "init": "random"}
        facts |= {"baseline": name, "n_seeds": 3, "n_test": 200, "level": 0.95, "difference": difference}
        yield facts | bounds


def make_rest(folder, generator, arms=("fairseq-random", "huggingface-random")):
    """Write small tables for the page's other sections, with numbers of every size; return build_report's inputs.

    Long: one table after another.
    """

    def small():
        return generator.choice([generator.random(), generator.random() * 10 ** generator.randint(-9, 9)])

    def table(name, *rows):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_tsv(path, rows, tuple(rows[0]))
        return str(path)

    def count():
        return generator.randint(0, 10 ** generator.randint(1, 9))

    runs = [{"arm": f"{f}-random", "seed": s} for f in ("fairseq", "huggingface") for s in (1, 2)]
    parity = []
    for split in ("train", "valid", "test"):
        parity.append(str(folder / "finetuning" / "token-ids" / "checkpoint" / f"{split}.parity.json"))
        write_json(parity[-1], {"n": count(), "n_identical": count()})
    answers = [{"arm": "rank8", "rank": 8, "seed": 1, "question": f"q {i}?", "reference": "r",
                "before": "b 7", "after": "a 1.5 €"}
               for i in range(3)]  # fmt: skip
    (folder / "qa" / "data").mkdir(parents=True)
    write_lines(folder / "qa" / "generations.jsonl", [json.dumps(row) for row in answers])
    write_json(folder / "qa" / "data" / "manifest.json", {"source": "file", "splits": {"train": {"n": 63}, "x": {}}})
    draw(folder / "figures" / "plain.svg", folder / "qa" / "data" / "manifest.json")
    measures = ("heldout_loss_before", "heldout_loss_after", "n_stopped_after")
    return {
        "baselines": table("baselines.tsv", *(
            {"baseline": name, "features": f"{name} of 1 to {n}", "valid_accuracy": generator.random(),
             "test_accuracy": generator.random(), "exact_low": generator.random() / 2,
             "exact_high": generator.random(), "n_test": count()}
            for n, name in enumerate(("majority", "tfidf_words", "tfidf_characters"), 2))),
        "against_baselines": table("statistics/baselines.tsv", *against_baselines(arms, generator)),
        "weights": table("weights.tsv", *(
            run | {name: count() for name in ("n_tensors", "n_equal", "n_new", "n_constant")} | {"head": "new"}
            for run in runs)),
        "parameter_ledger": table("parameter_ledger.tsv", *(
            {"section": "term", "item": item, "formula": f"{n}·D²", "count": count(), "expected": count(),
             "agrees": "true", "note": f"of {n} layers"} for n, item in enumerate(("tokens", "head2"), 2))),
        "lora_ledger": table("qa/lora_ledger.tsv", *(
            {"model": model, "arm": f"rank{rank}", "rank": rank, "setting": "r", "value": rank,
             "meaning": f"W·{rank}", "formula": "r·(in)",
             "parameters_per_module": count(), "parameters": count()}
            for model in ("the base", "BLOOM-560m") for rank in (8, 16))),
        "protocol_diff": table("protocol_diff.tsv", *(
            {"setting": name, "fairseq": small(), "huggingface": small(), "equal": equal, "note": "since 0.12"}
            for name, equal in (("lr", "true"), ("beta2", "false"), ("eps", "false")))),
        "logit_parity": table("logit_parity.tsv", *(
            {"weights": "checkpoint", "converted": "to", "quantity": q, "n_reviews": count(), "n_values": count(),
             "max_abs_difference": small(), "tolerance": 0.0001} for q in ("logits", "features"))),
        "audit": table("audit.tsv", *(
            {"check": f"check {n}", "split": "train", "other": "", "value": small(), "n": count(), "status": status,
             "note": f"{n} of them"} for n, status in enumerate(("", "leak", "leak")))),
        "framework_steps": table("frameworks/steps.tsv", *(
            {"framework": f, "step": n, "rule": f"rule_{n}", "command": f"fairseq-train --lr 1e-0{n}", "n_commands": n,
             "n_arguments": 21, "n_lines": 1234, "n_jobs": 3, "seconds": small(),
             "total_seconds": small(), "cpu_seconds": small(), "memory_mb": 1789.25,
             "n_files": 2, "bytes": count(), "files": "data/seed1.pt finetuning/run2/"}
            for f in ("fairseq", "huggingface") for n in (1, 2))),
        "framework_summary": table("frameworks/summary.tsv", *(
            {"framework": f, "n_steps": 2, "n_commands": 3, "n_arguments": 42, "n_lines": 2468, "seconds": small(),
             "memory_mb": 1789.25, "n_files": 4} for f in ("fairseq", "huggingface"))),
        "framework_defaults": table("frameworks/defaults.tsv", *(
            {"setting": f"beta{n}", "fairseq_default": "0.98", "huggingface_default": "0.999", "fairseq": "0.98",
             "huggingface": "0.98"} for n in (1, 2))),
        "claims": table("claims.tsv", *(
            {"id": f"c{n}", "sentence": f"It has {n} 806 528 parameters.", "source": f"report {n}", "verdict": "holds",
             "data": f"Welch p = {small():.2g}, n = {n}"} for n in range(3))),
        "claims_by_report": table("claims_by_report.tsv", *(
            {"part": part, "heading": "1 Question", "opening": "In these 2 parts", "claims": 30, "holds": 11,
             "fails": 3, "not_settled": 7, "cannot_be_decided": 5, "transcribed": 4}
            for part in ("all reports", "this study", "report 1"))),
        "pretraining": table("checkpoint/pretraining.tsv", *(
            {"update": update, "split": split, "loss": small(), "n_tokens": count()}
            for update in (500, 9000) for split in ("train", "valid"))),
        "qa_summary": table("qa/summary.tsv", *(
            {"arm": f"rank{rank}", "rank": rank, "metric": m, "n_seeds": 3}
            | {name: small() for name in ("mean", "sd_ddof1", "min", "max")}
            for rank in (8, 16) for m in measures)),
        "qa_loss": table("qa/loss.tsv", *(
            {"arm": "rank8", "rank": 8, "seed": 1, "update": step, "split": "train",
             "loss": small(), "objective": small()}
            for step in (0, 10, 1000))),
        "parity": parity,
        "qa_generations": str(folder / "qa" / "generations.jsonl"),
        "qa_manifest": str(folder / "qa" / "data" / "manifest.json"),
        "qa_loss_figure": str(folder / "figures" / "plain.svg"),
        "pretraining_figure": str(folder / "figures" / "plain.svg"),
    }  # fmt: skip


def make_whole(folder, number=1, n_classes=2):
    """Return (inputs, settings) of a simulated study with every section of the page."""
    generator = random.Random(number)
    arms = [("fairseq", "pretrained"), ("fairseq", "random"), ("huggingface", "pretrained")]
    labels, runs = simulated(generator, 400, arms, [1, 2, 3], [0.8, 0.66, 0.81], n_classes)
    with contextlib.redirect_stdout(io.StringIO()):
        files = write_tables(folder, labels, runs)
        files |= make_errors(folder, files)
    return files | make_rest(folder, generator), settings_of(runs)


def make_errors(folder, files):
    """Measure the errors of a simulated study; return build_report's inputs for them."""
    names = ("confusion", "calibration", "by_length", "agreement", "runs", "counts")
    tables = {name: str(folder / "errors" / f"{name}.tsv") for name in names}
    figures = [
        str(folder / "figures" / "errors" / name) for name in ("confusion", "agreement", "calibration", "by_length")
    ]
    svgs, pngs = ([f"{name}.{ending}" for name in figures] for ending in ("svg", "png"))
    n_test, hard = len(read_frame(files["errors"])), str(folder / "errors" / "hardest.jsonl")
    write_lines(folder / "data" / "test.review", [" ".join(["mot"] * (1 + i % 60)) for i in range(n_test)])
    keys = [tuple(run) for run in read_frame(files["runs"])[measure_errors.RUN].itertuples(index=False)]
    measure_errors.main(
        files["predictions"],
        folder / "data" / "test.review",
        files["manifest"],
        keys,
        True,
        None,
        None,
        hard,
        svgs,
        pngs,
        **tables,
    )
    by_class = {name: str(folder / "errors" / f"{name}.tsv") for name in ("by_class", "macro", "confusion_arms")}
    measure_classes.main(tables["confusion"], *by_class.values())
    tables |= by_class
    return {f"errors_{name}": path for name, path in tables.items()} | {"hardest": hard, "error_figures": svgs}
