"""Sections of the report beyond accuracy: what makes the numbers hold, and the question-answering study."""

import json

from common import page
from common.arms import arm_label, percent, run_label
from common.files import read_json, read_lines, read_tsv
from common.page import (
    as_code,
    as_integer,
    as_p_value,
    as_percent,
    as_prose,
    as_text,
    cell,
    column,
    notice,
    section,
    table,
)

SHOWN_ANSWERS = 12


def interval(low, high):
    """Return a cell with an interval of fractions in percent; a dash where there is none."""
    return cell(f"{percent(low)} to {percent(high)}" if low else "", sort=low)


def statistics(study):
    """Intervals of the arms, tests of their differences, and what can be claimed."""
    if not study.has("pairs", "arm_statistics"):
        return None
    method = study.json("method")
    arms = table(
        "Mean test accuracy by arm, with its interval (percent)",
        [
            "Arm",
            column("Seeds (n)", number=True),
            column("Mean", number=True),
            column("Interval", number=True),
            column("Nested bootstrap", number=True),
            column("Runs that learnt", number=True),
            column("Expected best of k runs", wide=True),
        ],
        [
            [
                arm_label(row["framework"], row["init"]),
                cell(row["n_seeds"]),
                as_percent(row["mean"]),
                interval(row["low"], row["high"]),
                interval(row["bootstrap_low"], row["bootstrap_high"]),
                cell(f"{row['n_learned']} of {row['n_runs']}"),
                cell(best_of_k(row["best_of_k"])),
            ]
            for row in study.tsv("arm_statistics")
        ],
        study,
        study.path("arm_statistics"),
        "compute_statistics",
    )
    pairs = table(
        "Differences between arms: mean of the first less mean of the second, in points",
        [
            "Pair",
            column("Difference", number=True),
            column("Interval", number=True),
            column("Welch p (Holm)", number=True),
            column("Seeds p (Holm)", number=True),
            column("Least p of so many seeds", number=True),
            column("Reviews p (Holm)", number=True),
            column("Least effect at 80 % power", number=True),
            column("P(first better)", number=True),
        ],
        [
            [
                f"{arm_label(row['framework_a'], row['init_a'])} − {arm_label(row['framework_b'], row['init_b'])}",
                as_percent(row["difference"]),
                interval(row["low"], row["high"]),
                as_p_value(row["welch_p_holm"]),
                as_p_value(row["seeds_p_holm"]),
                as_p_value(row["seeds_p_floor"]),
                as_p_value(row["items_p_holm"]),
                as_percent(row["minimum_detectable"]),
                page.as_decimals(2)(row["probability_better_seeds"]),
            ]
            for row in study.tsv("pairs")
        ],
        study,
        study.path("pairs"),
        "compute_statistics",
        note="Seeds p: exact permutation of runs; with few seeds it cannot fall below the least p beside it. "
        "Reviews p: permutation of paired predictions, which says nothing of other seeds.",
    )
    how = [f"{name}: {text}" for name, text in method.items() if isinstance(text, str)]
    return section("statistics", "Statistics", arms, pairs, page.prose(*how, heading="Methods"))


def best_of_k(text):
    """Return `1=0.71;2=0.73` as `1: 71.00, 2: 73.00`."""
    parts = [part.split("=") for part in text.replace(";", " ").replace(",", " ").split() if "=" in part]
    return ", ".join(f"{k}: {percent(value)}" for k, value in parts)


def learned(study):
    """Which runs learnt, and what simple models reach on the same data."""
    if not study.has("learned", "baselines"):
        return None
    rows = study.tsv("learned")
    failed = [run_label(r["framework"], r["init"], r["seed"]) for r in rows if r["learned"] == "false"]
    text = (
        f"{len(failed)} of {len(rows)} runs did not learn: their best validation accuracy is within chance of the "
        f"majority class ({', '.join(failed)}). They are counted in every mean."
        if failed
        else None
    )
    return section(
        "learned",
        "Did it learn?",
        notice(text) if text else None,
        page.tsv_table(
            study,
            study.path("learned"),
            "compute_statistics",
            "Each run's best validation accuracy against the majority class (one-sided exact binomial test)",
            {
                "framework": ("Framework", as_text),
                "init": ("Start", as_text),
                "seed": ("Seed", as_integer),
                "valid_accuracy": ("Validation (%)", as_percent),
                "majority_share": ("Majority (%)", as_percent),
                "p_value": ("p", as_p_value),
                "learned": ("Learnt", as_text),
                "constant_on_test": ("One answer to all", as_text),
            },
            row_header=False,
        ),
        page.tsv_table(
            study,
            study.path("baselines"),
            "train_baselines",
            "Simple models on the same splits, test accuracy with its exact interval",
            {
                "baseline": ("Model", as_text),
                "features": ("Features", as_text),
                "valid_accuracy": ("Validation (%)", as_percent),
                "test_accuracy": ("Test (%)", as_percent),
                "interval_low": ("from", as_percent),
                "interval_high": ("to", as_percent),
                "n_test": ("n", as_integer),
            },
        ),
        lead="A run that did no better on validation than always answering the larger class is shown, never dropped.",
    )


def checkpoint(study):
    """What the pretrained arms start from: the curve where the study made it."""
    start = study.settings.get("checkpoint") or {}
    if start.get("source") == "fetch":
        lead = "The pretrained arms start from the published checkpoint, fetched from the address in the settings."
        return section("checkpoint", "Checkpoint", lead=lead)
    if start.get("source") == "folder":
        lead = "The pretrained arms start from the checkpoint in the folder of the settings, made elsewhere."
        return section("checkpoint", "Checkpoint", lead=lead)
    if not study.has("pretraining", "pretraining_figure"):
        return None
    points = [row for row in study.tsv("pretraining") if row["split"] == "valid"]
    first, last = points[0], points[-1]
    course = f"{float(last['loss']):.2f} nats a masked piece after {last['update']} updates"
    if len(points) > 1:
        course = f"{float(first['loss']):.2f} nats a masked piece after {first['update']} updates, {course}"
    values = page.tsv_table(
        study,
        study.path("pretraining"),
        "pretrain",
        "Loss by update, nats a masked piece",
        {
            "update": ("Update", as_integer),
            "split": ("Split", as_text),
            "loss": ("Loss", page.as_decimals(3)),
            "tokens": ("Masked pieces", as_integer),
        },
        row_header=False,
    )
    return section(
        "checkpoint",
        "Checkpoint",
        page.figure(
            study,
            study.path("pretraining_figure"),
            "plot_pretraining",
            "Loss in nats a masked piece; the held-out text was never trained on.",
            f"Line chart of the pretraining loss by update, on text trained on and on text kept out: {course}.",
            values,
            title="Pretraining loss by update",
        ),
        lead=f"The pretrained arms start from a checkpoint that this study made from random weights. Loss on text kept "
        f"out: {course}.",
    )


def question_answering(study):
    """BLOOM with LoRA: loss, perplexity, and answers side by side."""
    if not study.has("qa_summary", "qa_loss_figure"):
        return None
    summary = study.tsv("qa_summary")
    loss = page.tsv_table(
        study,
        study.path("qa_loss"),
        "aggregate_qa",
        "Loss by update, nats an answer token",
        {
            "rank": ("Rank", as_integer),
            "seed": ("Seed", as_integer),
            "step": ("Update", as_integer),
            "split": ("Split", as_text),
            "loss": ("Loss", page.as_decimals(3)),
        },
        row_header=False,
    )
    ranks = sorted({int(row["rank"]) for row in summary})
    alt = f"Line chart of training and held-out loss by update, LoRA rank {', '.join(map(str, ranks))}."
    generations = [json.loads(line) for line in read_lines(study.path("qa_generations"))]
    first = [
        row for row in generations if (row["rank"], row["seed"]) == (generations[0]["rank"], generations[0]["seed"])
    ]
    manifest = study.json("qa_manifest")
    # Pairs from elsewhere do not say what language they are in.
    lang = "fr" if manifest.get("source") == "embedded" else None
    answers = table(
        "Answers to held-out questions before and after tuning, same seed of sampling",
        [column("Question", wide=True), *(column(t, wide=True) for t in ("Reference", "Before", "After"))],
        [
            [cell(row[key], lang=lang) for key in ("question", "reference", "before", "after")]
            for row in first[:SHOWN_ANSWERS]
        ],
        study,
        study.path("qa_generations"),
        "aggregate_qa",
        note=f"Rank {first[0]['rank']}, seed {first[0]['seed']}; the file holds every run's answers.",
    )
    return section(
        "question-answering",
        "Question answering: BLOOM with LoRA",
        page.figure(
            study,
            study.path("qa_loss_figure"),
            "plot_qa_loss",
            "Loss in nats an answer token; the held-out pairs were never trained on.",
            alt,
            loss,
            title="Loss by update",
        ),
        page.tsv_table(
            study,
            study.path("qa_summary"),
            "aggregate_qa",
            "Before and after tuning: mean over seeds, standard deviation with ddof 1",
            {
                "rank": ("Rank", as_integer),
                "metric": ("Measure", as_code),
                "n": ("Seeds (n)", as_integer),
                "mean": ("Mean", page.as_number(5)),
                "sd_ddof1": ("SD (ddof 1)", page.as_number(3)),
                "min": ("Least", page.as_number(5)),
                "max": ("Most", page.as_number(5)),
            },
            row_header=False,
        ),
        answers,
        lead=[qa_lead(manifest), qa_base(((study.settings.get("qa") or {}).get("base")) or {})],
    )


def qa_lead(manifest):
    """Return what the pairs are."""
    splits = {name: part["n"] for name, part in (manifest.get("splits") or {}).items() if "n" in part}
    counts = ", ".join(f"{n} {name}" for name, n in splits.items())
    text = f"Source of the pairs: {manifest.get('source', 'unknown')}" + (f" ({counts})." if counts else ".")
    return text + (" The pairs are synthetic." if manifest.get("synthetic") else "")


def qa_base(base):
    """Return what the base model is: `qa.base` of the settings."""
    if base.get("source") == "hub":
        return f"Base model: {base['hub']['repo']}, as published."
    if base.get("source") == "folder":
        return "Base model: that of the folder in the settings."
    if base.get("source") != "embedded":
        return "Base model: unknown."
    size, training = base["embedded"]["architecture"], base["embedded"]["training"]
    return (
        f"Base model: a BLOOM of {size['layers']} layers of width {size['width']}, trained by this study from random "
        f"weights for {training['updates']} updates on the texts in its settings. It is no published model, and its "
        "answers are no measure of one."
    )


def ledgers(study):
    """Where every parameter count comes from, and what every LoRA setting does."""
    blocks = []
    if study.has("parameter_ledger"):
        blocks.append(
            page.tsv_table(
                study,
                study.path("parameter_ledger"),
                "build_parameter_ledger",
                "Parameters: term by term, by each published convention, and as counted in the files",
                {
                    "section": ("Kind", as_text),
                    "item": ("Item", as_text),
                    "formula": ("Formula", as_code),
                    "count": ("Count", as_integer),
                    "expected": ("Expected", as_integer),
                    "agrees": ("Agrees", as_text),
                    "note": ("Note", as_prose),
                },
                row_header=False,
                fold="Parameter ledger",
            )
        )
    if study.has("lora_ledger"):
        blocks.append(
            page.tsv_table(
                study,
                study.path("lora_ledger"),
                "build_lora_ledger",
                "LoRA: every setting, what it does, and the parameters it costs",
                {
                    "rank": ("Rank", as_integer),
                    "setting": ("Setting", as_code),
                    "value": ("Value", as_code),
                    "meaning": ("Meaning", as_prose),
                    "formula": ("Formula", as_code),
                    "parameters_per_module": ("Per module", as_integer),
                    "parameters": ("In all", as_integer),
                },
                row_header=False,
                fold="LoRA ledger",
            )
        )
    return section("ledgers", "Ledgers", *blocks) if blocks else None


def protocol(study):
    """What each framework really ran with."""
    if not study.has("protocol_diff"):
        return None
    path = study.path("protocol_diff")
    rows = read_tsv(path)
    frameworks = [name for name in rows[0] if name not in ("setting", "equal", "note")]
    unequal = [row["setting"] for row in rows if row["equal"] == "false"]
    sentiment = study.settings.get("sentiment") or {}
    mode = sentiment.get("protocol", "")
    lead = f"Mode {mode}. Read back from each framework's own objects: {len(rows)} settings, {len(unequal)} unequal"
    lead += f" ({', '.join(unequal)})." if unequal else "."
    return section(
        "protocol",
        "Protocol: what each framework ran with",
        page.tsv_table(
            study,
            path,
            "build_protocol_diff",
            "Settings of the runs by framework",
            {
                "setting": ("Setting", as_code),
                **{name: (name, as_text) for name in frameworks},
                "equal": ("Equal", as_text),
                "note": ("Note", as_prose),
            },
        ),
        weights_table(study),
        parity_table(study),
        logits_table(study),
        lead=lead,
    )


def weights_table(study):
    """What each run started from, counted in tensors."""
    if not study.has("weights"):
        return None
    return page.tsv_table(
        study,
        study.path("weights"),
        "prove_weights",
        "Proof of the start: tensors in memory before the first update against the checkpoint's (SHA-256 of values)",
        {
            "framework": ("Framework", as_text),
            "init": ("Init", as_text),
            "seed": ("Seed", as_integer),
            "n_tensors": ("Tensors", as_integer),
            "n_equal": ("Equal", as_integer),
            "n_new": ("Not in the checkpoint", as_integer),
            "n_constant": ("Constant", as_integer),
        },
        note="The classification head is new in every run and not compared; constant tensors (zero biases, unit "
        "scales) are alike in every new model and prove nothing.",
    )


def parity_table(study):
    """Token ids of the two frameworks."""
    if not study.has("parity"):
        return None
    rows = []
    for path in study.paths("parity"):
        record = read_json(path)
        split = study.link(path).split("/")[-1].split(".")[0]
        rows.append(
            [cell(split, href=study.link(path)), as_integer(str(record["n"])), as_integer(str(record["n_identical"]))]
        )
    return table(
        "Token ids: reviews for which both frameworks see the same input",
        ["Split", column("Reviews", number=True), column("Identical", number=True)],
        rows,
    )


def logits_table(study):
    """Numbers of the same weights in both frameworks."""
    if not study.has("logit_parity"):
        return None
    return page.tsv_table(
        study,
        study.path("logit_parity"),
        "compare_logits",
        "The same weights in both frameworks, on the validation reviews: largest difference",
        {
            "weights": ("Weights", as_text),
            "converted": ("Converted", as_text),
            "quantity": ("Quantity", as_text),
            "n_reviews": ("Reviews", as_integer),
            "n_values": ("Values", as_integer),
            "max_abs_difference": ("Largest difference", page.as_number(2)),
            "tolerance": ("Allowed", page.as_number(1)),
        },
        row_header=False,
    )


def audit(study):
    """Duplicates, leaks, lengths and unknown pieces."""
    if not study.has("audit"):
        return None
    rows = study.tsv("audit")
    leaks = [row for row in rows if row["status"] == "leak"]
    return section(
        "audit",
        "Data audit",
        notice(f"{len(leaks)} checks found text shared between splits; the table says which.") if leaks else None,
        page.tsv_table(
            study,
            study.path("audit"),
            "audit_data",
            "Audit of the splits: duplicates, leaks, balance, lengths",
            {
                "check": ("Check", as_text),
                "split": ("Split", as_text),
                "other": ("Against", as_text),
                "value": ("Value", page.as_number(5)),
                "n": ("of n", as_integer),
                "status": ("Status", as_text),
                "note": ("Note", as_prose),
            },
            row_header=False,
            fold="The whole audit",
        ),
    )


# Outcomes of `count_errors`, and how many lines of the test file each shows.
OUTCOMES = ("all wrong", "runs disagree", "all right")
SHOWN_IDS = 40


def errors(study):
    """Confusion of every run, and the reviews that every run misses."""
    if not study.has("predictions", "errors"):
        return None
    rows = []
    for path in study.paths("predictions"):
        run = study.link(path).removesuffix(".tsv").split("/")[-3:]
        counts = {(a, b): 0 for a in "01" for b in "01"}
        for row in read_tsv(path):
            counts[row["label"], row["prediction"]] += 1
        rows.append(
            [
                cell(run_label(run[0], run[1], run[2].removeprefix("seed")), href=study.link(path)),
                *(as_integer(str(counts[pair])) for pair in (("1", "1"), ("0", "1"), ("0", "0"), ("1", "0"))),
            ]
        )
    reviews = study.tsv("errors")
    of = {outcome: [row["id"] for row in reviews if row["outcome"] == outcome] for outcome in OUTCOMES}
    return section(
        "errors",
        "Errors",
        table(
            "Confusion of every run on test (reviews)",
            [
                "Run",
                column("Positive, said so", number=True),
                column("Negative, called positive", number=True),
                column("Negative, said so", number=True),
                column("Positive, called negative", number=True),
            ],
            rows,
        ),
        table(
            "Reviews on which the runs agree or not (first lines of the test file, counted from 0)",
            ["Outcome", column("Reviews", number=True), column("Lines", wide=True)],
            [
                [outcome, as_integer(str(len(ids))), as_prose(", ".join(ids[:SHOWN_IDS]) or "none")]
                for outcome, ids in of.items()
            ],
            study,
            study.path("errors"),
            "count_errors",
        ),
        lead=[
            f"Of {len(reviews)} test reviews, every run has {len(of['all right'])} right and {len(of['all wrong'])} "
            f"wrong; on {len(of['runs disagree'])} the runs disagree."
        ],
    )


def cost(study):
    """Time, memory and updates a second of every run, by Snakemake's own measurements."""
    if not study.has("training_benchmarks"):
        return None
    seconds = {(r["framework"], r["init"], r["seed"]): r for r in study.tsv("runs")}
    rows = []
    for path in sorted(study.paths("training_benchmarks")):
        measured = read_tsv(path)[0]
        rule, init, seed = study.link(path).removesuffix(".tsv").split("/")[-3:]
        run = seconds[rule.removeprefix("finetune_"), init, seed.removeprefix("seed")]
        rate = float(run["total_updates"]) / float(run["train_seconds"])
        memory = measured.get("max_rss", "")
        rows.append(
            [
                run_label(run["framework"], init, run["seed"]),
                page.as_decimals(1)(run["train_seconds"]),
                page.as_decimals(1)(measured["s"]),
                page.as_decimals(2)(str(rate)),
                as_integer(memory if memory.replace(".", "").isdigit() else ""),
                cell(run["threads"]),
            ]
        )
    return section(
        "cost",
        "Cost",
        table(
            "Time and memory of each training run",
            [
                "Run",
                column("Training (s)", number=True),
                column("Whole job (s)", number=True),
                column("Updates a second", number=True),
                column("Peak memory (MB)", number=True),
                column("Threads", number=True),
            ],
            rows,
            note="Measured once, on a machine that other jobs may have shared: no benchmark.",
        ),
    )


def claims(study):
    """Statements checked against data."""
    if not study.has("claims"):
        return None
    return section(
        "claims",
        "Claims, checked",
        page.tsv_table(
            study,
            study.path("claims"),
            "check_claims",
            "Published statements and whether the data bear them out",
            {
                "sentence": ("Claim", as_prose),
                "source": ("Source", as_prose),
                "verdict": ("Verdict", as_text),
                "data": ("What the data say", as_prose),
            },
            fold="All claims",
        ),
    )
