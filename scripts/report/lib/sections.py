"""What each section of the report rests on: tables and facts of the study's files, no words.

A section is a function of `Study`, named like its template in report/page. It returns what the template asks for, or
None where the study lacks the files.
"""

import difflib
import json
import os

from markupsafe import Markup

from common.arms import ARM, CHECKPOINT, FRAMEWORKS, arm_label, named_arms
from common.files import read_json
from common.machine import PLACES, settings_hash, study_settings
from report.lib import charts
from report.lib.arms import anchor_of, label_of
from report.lib.formats import FILTERS, joined
from report.lib.inputs import Table, located
from report.lib.records import Derived, Key, Value, derive
from report.lib.sections_answer import answer, arms_with_intervals
from report.lib.sections_errors import POLARITY, errors
from report.lib.sections_frameworks import frameworks
from report.lib.sections_learning_curves import learning_curves
from report.lib.sections_methods import SELECTED_BY, glossary, methods
from report.lib.sections_parameters import parameters
from report.lib.sections_recipes import recipes
from report.lib.sections_training import all_curves, overfitting

SHOWN_ANSWERS = 12
# What the frameworks' steps are called for readers.
STEPS = {
    "binarize_texts": "texts to token ids",
    "tokenize_texts": "texts to token ids",
    "convert_tokenizer": "tokenizer converted",
    "convert_checkpoint": "checkpoint converted",
    "finetune_fairseq": "training",
    "finetune_huggingface": "training",
    "select_checkpoint": "epoch chosen",
    "evaluate_fairseq": "test scored",
    "evaluate_huggingface": "test scored",
}


def test_accuracy(study):
    """The table of arms with every seed's figure, and the table of runs."""
    runs = study.frame("runs")
    by_seed = runs.pivot(index=ARM, columns="seed", values="test_accuracy").fillna("").reset_index()
    arms = arms_with_intervals(study).merge(by_seed, on=ARM)
    return {
        "arms": Table(arms.to_dict("records"), study.href("test_accuracy")),
        "runs": Table([row | {"row_id": anchor_of(row)} for row in study.table("runs").rows], study.href("runs")),
        "seeds": sorted(runs["seed"].unique(), key=int),
        "select_by": SELECTED_BY.get((study.settings.get("finetuning") or {}).get("select_by")),
    }


def curves(study):
    """Accuracy by epoch, one figure an arm."""
    if not study.has("curves"):
        return None
    # {arm}.svg: pair each figure with the table beside it.
    data = {os.path.splitext(path)[0]: path for path in study.paths("curves_data")}
    return {
        "arms": [curve(study, svg, data[os.path.splitext(svg)[0]]) for svg in study.paths("curves")],
        "tested": "test" in set(study.frame("history")["split"]),
        "several": study.frame("runs")["seed"].nunique() > 1,
    }


def curve(study, svg, data):
    """Return an arm's figure, its points by seed and epoch, and where validation began, ended and was best."""
    points = study.read(data)
    valid = points[points["split"] == "valid"]
    epochs = sorted(valid["epoch"].unique(), key=int)
    key = ["seed", "epoch"]
    by_split = points.pivot(index=key, columns="split", values="accuracy").fillna("").reset_index()
    # The last row of a seed's epoch says whether that epoch was chosen.
    table = points.drop_duplicates(key, keep="last")[[*key, "update", "chosen"]].merge(by_split, on=key)
    table = table.sort_values(key, key=lambda column: column.astype(int))
    return {
        **points.iloc[0][ARM].to_dict(),
        "drawing": study.drawing(svg),
        "points": Table(table.to_dict("records"), study.link(data)),
        "tested": "test" in by_split,
        "n_seeds": study.distinct(data, "seed", split="valid"),
        "several": valid["seed"].nunique() > 1,
        "chosen": valid[valid["chosen"] == "true"].to_dict("records"),
        # (epoch, accuracies of the seeds in ascending order)
        "ends": [
            (epoch, sorted(valid[valid["epoch"] == epoch]["accuracy"], key=float))
            for epoch in dict.fromkeys((epochs[0], epochs[-1]))
        ],
    }


def statistics(study):
    """Intervals of the arms, tests of their differences, and what can be claimed."""
    if not study.has("pairs", "arm_statistics"):
        return None
    return {"arms": study.table("arm_statistics"), "pairs": study.table("pairs")}


def learned(study):
    """Which runs learnt, and what simple models reach on the same data."""
    if not study.has("learned", "baselines"):
        return None
    runs = study.table("learned")
    failed = [row for row in runs.rows if row["learned"] == "false"]
    path = study.path("learned")
    return {
        "runs": runs,
        "failed": failed,
        "n_failed": study.count(path, learned="false"),
        "n_runs": study.count(path),
        "baselines": study.table("baselines"),
    }


def checkpoint(study):
    """What the pretrained arms start from: the curve where the study made it."""
    arms = study.frame("runs").drop_duplicates(ARM).to_dict("records")
    own = [row for row in arms if row["model"] == CHECKPOINT]
    if not own:
        return None
    started = [row for row in own if row["init"] == "pretrained"]
    # Of whom the section speaks: all pretrained arms need no names.
    whose = {"every": started == [row for row in arms if row["init"] == "pretrained"] and bool(started)}
    whose |= {"started": bool(started), "of": started or own}
    asked = (study.settings.get("finetuning") or {}).get("arms") or {}
    whose["earlier"] = [row for row in started if (asked.get(row["arm"]) or {}).get("at_update") is not None]
    settings = study.settings.get("checkpoint") or {}
    source = settings.get("source")
    if source in ("fetch", "folder"):
        records = [read_json(path) for path in study.paths("run_records")]
        # Older records do not say.
        unverified = any(record.get("heads_verified") is False for record in records)
        sizes = located(settings.get("architecture") or {}, "config", "checkpoint.architecture")
        return {"source": source, "whose": whose, "heads": sizes["heads"] if unverified else None}
    if not study.has("pretraining", "pretraining_figure"):
        return None
    points = study.table("pretraining")
    valid = [row for row in points.rows if row["split"] == "valid"]
    pretraining = settings.get("pretraining") or {}
    return {
        "source": source,
        "whose": whose,
        "factors": pretraining.get("word_init") == "cooccurrence",
        "first_token": float(pretraining.get("first_token_weight") or 0) > 0,
        "points": points,
        "drawing": study.drawing(study.path("pretraining_figure")),
        "ends": valid if len(valid) == 1 else [valid[0], valid[-1]],
    }


def question_answering(study):
    """A language model with LoRA: loss, perplexity, and answers side by side."""
    if not study.has("qa_summary", "qa_loss_figure"):
        return None
    summary, manifest = study.table("qa_summary"), study.json("qa_manifest")
    generations = study.lines("qa_generations")
    one = generations[0]
    shown = [row for row in generations if (row["arm"], row["seed"]) == (one["arm"], one["seed"])][:SHOWN_ANSWERS]
    # Pairs from elsewhere do not say what language they are in.
    lang = "fr" if manifest.get("source") == "embedded" else None
    swept = study.table("qa_rank_sweep") if study.has("qa_rank_sweep", "qa_rank_sweep_figure") else None
    qa = study.settings.get("qa") or {}
    base, lora = (located(qa.get(name) or {}, "config", f"qa.{name}") for name in ("base", "lora"))
    if any("lora_alpha" in own for own in (qa.get("arms") or {}).values()):
        # Then no one alpha is the study's.
        lora = {name: value for name, value in lora.items() if name != "lora_alpha"}
    return {
        "summary": Table(before_and_after(summary.rows), summary.href),
        "loss": study.table("qa_loss"),
        "drawing": study.drawing(study.path("qa_loss_figure")),
        "arms": list(dict.fromkeys(row["arm"] for row in summary.rows)),
        "answers": [row | {"lang": lang} | marked(row["before"], row["after"]) for row in shown],
        "answers_href": study.href("qa_generations"),
        "one": one,
        "manifest": manifest,
        "splits": [(name, part["n"]) for name, part in (manifest.get("splits") or {}).items() if "n" in part],
        "base": base,
        "bloom": is_bloom(base),
        "lora": lora,
        "swept": swept,
        "sweep_ends": sweep_ends(swept.rows) if swept else None,
        "sweep_drawing": study.drawing(study.path("qa_rank_sweep_figure")) if swept else None,
        "schematic": study.drawing(study.path("lora_schematic")) if study.has("lora_schematic") else None,
    }


def is_bloom(base):
    """Say whether the base model is known to be a BLOOM: the one that the study trains, or by its name on the hub."""
    source = base.get("source")
    return source == "embedded" or (source == "hub" and "bloom" in base["hub"]["repo"].lower())


def sweep_ends(rows):
    """Return a row of the smallest and of the largest rank of a sweep, with the seeds' mean held-out loss."""
    ends = []
    for row in (rows[0], rows[-1]):
        losses = [other["heldout_loss"] for other in rows if other["rank"] == row["rank"]]
        ends.append(row | {"heldout_loss": derive("mean", *losses)})
    return ends


def marked(before, after):
    """Return the second text as [(word, whether the first lacks it in that place)]."""
    first, second = before.split(), after.split()
    new = [True] * len(second)
    for match in difflib.SequenceMatcher(None, first, second, False).get_matching_blocks():
        new[match.b : match.b + match.size] = [False] * match.size
    return {"after_words": [(FILTERS["word"](after, place), flag) for place, flag in enumerate(new)]}


def before_and_after(rows):
    """Return a row for each arm and measure of qa/summary.tsv, with what it was before tuning and after."""
    found = {}
    for row in rows:
        measure, _, moment = row["metric"].rpartition("_")
        place = found.setdefault((row["arm"], measure), {"arm": row["arm"], "rank": row["rank"], "measure": measure})
        place |= {"n_seeds": row["n_seeds"], moment: row["mean"], f"{moment}_sd": row["sd_ddof1"]}
    empty = {"before": "", "before_sd": "", "after": "", "after_sd": ""}
    return [empty | row for row in found.values()]


def ledgers(study):
    """Where every parameter count comes from, and what every LoRA setting does."""
    found = {name: study.table(name) if study.has(name) else None for name in ("parameter_ledger", "lora_ledger")}
    return found if any(found.values()) else None


def protocol(study):
    """What each framework really ran with."""
    if not study.has("protocol_diff"):
        return None
    settings = study.table("protocol_diff")
    parity = []
    for path in study.paths("parity"):
        record = located(read_json(path), study.link(path))
        parity.append({"split": os.path.basename(path).split(".")[0]} | record | {"href": study.link(path)})
    return {
        "mode": located((study.settings.get("finetuning") or {}).get("protocol", ""), "config", "finetuning.protocol"),
        "settings": settings,
        "frameworks": [name for name in settings.rows[0] if name not in ("setting", "equal", "note")],
        "unequal": [row["setting"] for row in settings.rows if row["equal"] == "false"],
        "n_settings": study.count(study.path("protocol_diff")),
        "n_unequal": study.count(study.path("protocol_diff"), equal="false"),
        "weights": study.table("weights") if study.has("weights") else None,
        "parity": Table(parity) if parity else None,
        "logits": study.table("logit_parity") if study.has("logit_parity") else None,
    }


def data(study):
    """What the data are, by the manifest."""
    manifest, href = study.json("manifest"), study.href("manifest")
    splits, names = [], manifest.get("labels") or list(POLARITY.values())
    polar = names == list(POLARITY.values())
    for split in ("train", "valid", "test"):
        counts = manifest["splits"][split]
        digests = {kind: FILTERS["prefix"](counts[f"sha256_{kind}"] or "", 16) for kind in ("review", "label")}
        share = derive("ratio", counts["n_positive"], counts["n"]) if polar and int(counts["n"]) else ""
        splits.append({"split": split, "n": counts["n"], "positive_share": share, **digests})
    files = [{"file": Key(digest), "sha256": digest} for name, digest in sorted(manifest["files"].items())]
    return {
        "manifest": manifest,
        "splits": Table(splits, href),
        "polar": polar,
        "classes": None if polar else Table(count_classes(manifest, names), href),
        "files": Table(files, href),
        "n_unlabelled": (manifest.get("unlabelled") or {}).get("n") or "0",
    }


def count_classes(manifest, names):
    """Return a row for each class: its name and its reviews in each split."""
    return [
        {"class": name} | {split: manifest["splits"][split]["n_by_class"][k] for split in ("train", "valid", "test")}
        for k, name in enumerate(names)
    ]


def audit(study):
    """Duplicates, leaks, lengths and unknown pieces."""
    if not study.has("audit"):
        return None
    checks = study.table("audit")
    path = study.path("audit")
    return {"checks": checks, "n_leaks": study.count(path, status="leak"), "n_checks": study.count(path, status="ok")}


def cost(study):
    """Time, memory and updates a second of every run, by Snakemake's own measurements."""
    if not study.has("training_benchmarks"):
        return None
    by_run = study.frame("runs").set_index(["arm", "seed"], drop=False)
    rows = []
    for path in sorted(study.paths("training_benchmarks")):
        arm, seed = study.link(path).removesuffix(".tsv").split("/")[-2:]
        run = by_run.loc[(arm, seed.removeprefix("seed"))].to_dict()
        measured = study.read(path).iloc[0].to_dict()
        memory = measured.get("max_rss", "")
        rate = derive("ratio", run["total_updates"], run["train_seconds"])
        # Of a job that ended at once, Snakemake measured none.
        memory = memory if memory.replace(".", "").isdigit() else ""
        rows.append(run | {"seconds": measured["s"], "memory_mb": memory, "rate": rate})
    steps = study.table("framework_steps") if study.has("framework_steps") else None
    return {
        "runs": Table(rows),
        "by_run": bars(rows, "train_seconds", "{train_seconds|decimals,1} s", "Training time by run, in seconds"),
        "by_run_href": study.href("runs"),
        "steps": steps,
        "by_step": steps
        and bars(
            steps.rows,
            "total_seconds",
            "{total_seconds|decimals,1} s, {total_seconds/sum|percent,0} % of all steps",
            "Time by step, all jobs, in seconds and as a share of all steps",
        ),
        "memory_by_step": steps
        and bars(steps.rows, "memory_mb", "{memory_mb|integer} MB", "Memory of each step's largest job, in MB"),
    }


def bars(rows, column, words, title):
    """Return a chart of one bar for each row, named by its run or its framework and rule; None without numbers."""
    rows = [row for row in rows if row.get(column)]
    if not rows or not max(float(row[column]) for row in rows):
        return None
    x, height = charts.Scale(0, 1.04 * max(float(row[column]) for row in rows), 0, charts.WIDTH - 8), 30
    places = {id(row): place for place, row in enumerate(rows)}
    names = [
        f"{FRAMEWORKS.get(row['framework'], row['framework'])}: {STEPS.get(row['rule'], row['rule'])}" if "rule" in row
        else f"{label_of(row)}, seed {row['seed']}"
        for row in rows
    ]  # fmt: skip

    def bar(row):
        own = {"x": 0, "y": places[id(row)] * height + 17, "height": 9, "width": x(row[column]), "class": "bar"}
        return "rect", own, None

    def beside(row):
        return {"x": charts.WIDTH - 8, "y": places[id(row)] * height + 12.0, "text_anchor": "end"}

    labels = [charts.tag("text", name, class_="name plain", x=0, y=i * height + 12.0) for i, name in enumerate(names)]
    bottom = len(rows) * height + 2
    axis = charts.horizontal_ticks(x, 0, bottom)
    made = charts.group(bar, rows, words, {"width": column}, x=x, written=beside)
    return charts.chart(bottom + 20, title, axis, made, *labels)


def claims(study):
    """Statements checked against data, and how many hold."""
    if not study.has("claims", "claims_by_report"):
        return None
    counts = study.table("claims_by_report")
    return {"claims": study.table("claims"), "counts": counts, "of": {row["part"]: row for row in counts.rows}}


def flatten(value, prefix=""):
    """Return [(dotted key, text)] of nested settings; lists of plain values stay on one line."""
    if isinstance(value, dict) and value:
        return [pair for key in value for pair in flatten(value[key], f"{prefix}.{key}" if prefix else str(key))]
    if isinstance(value, (list, tuple)) and any(isinstance(item, (dict, list, tuple)) for item in value):
        return [pair for i, item in enumerate(value) for pair in flatten(item, f"{prefix}[{i}]")]
    if isinstance(value, str):
        # A path of one machine says nothing to others and would differ between two builds.
        return [(prefix, os.path.basename(value) if os.path.isabs(value) else value)]
    return [(prefix, json.dumps(value, ensure_ascii=False))]


def settings(study):
    """Every setting of the study, as resolved from config.yaml and the study's file."""
    values = [Value(text, "config", None, key) for key, text in flatten(study_settings(study.settings))]
    return {"study": study.name, "settings": Table([{"key": Key(value), "value": value} for value in values])}


def sources(study):
    """Where every number comes from: the page itself knows, from the sections above."""
    return {}


def provenance(study):
    """Versions, hashes, times and machines: what made these results."""
    records = named_arms([located(read_json(path), study.link(path)) for path in study.paths("run_records")])
    every, having = list(dict.fromkeys(record["arm"] for record in records)), {}
    for record in records:
        for package, version in (record.get("versions") or {}).items():
            having.setdefault((package, version), []).append(record)
    versions = []
    for (_, version), those in sorted(having.items()):
        of = list(dict.fromkeys(record["arm"] for record in those))
        arms = "" if of == every else Markup(", ").join(map(arm_label, of))
        versions.append({"package": Key(version), "version": version, "arms": arms})
    return {
        "settings_sha256": Derived(settings_hash(study_settings(study.settings)), "settings_hash"),
        "places": PLACES,
        "commit": Derived(study.commit, "commit"),
        "crate": study.href("provenance") if study.has("provenance") else None,
        "records": Table([record_row(record) for record in records]),
        "untimed": any("started" not in record for record in records),
        "versions": Table(versions),
    }


def record_row(record):
    """Return a run's record as a row; an older record that lacks a fact has an empty text there."""
    machine = record.get("machine") or {}
    memory = machine.get("memory_mb") and joined("{} GiB", FILTERS["gibibytes"](machine["memory_mb"]))
    cores = machine.get("cores") and joined("{} core{}", machine["cores"], "s" if int(machine["cores"]) > 1 else "")
    where = [machine.get("cpu"), cores, memory, machine.get("gpu"), machine.get("os")]
    return {
        **{name: record[name] for name in ("arm", "seed")},
        "started": FILTERS["moment"](record.get("started") or ""),
        "commit": record.get("commit") or "",
        "settings": FILTERS["prefix"](record.get("settings_sha256") or "", 16),
        "machine": Markup(", ").join(fact for fact in where if fact),
        "threads": record.get("threads"),
    }


# The page's chapters in a reader's order. A new section: write a function and its template in report/page, add it here,
# name its files in rules/report.smk. After `sources` comes what rests on no table.
CHAPTERS = {
    "The answer": (answer,),
    "Results": (test_accuracy, recipes, learning_curves, all_curves, curves, overfitting, learned, errors),
    "Question answering": (question_answering,),
    "Cost": (cost,),
    "Can it be trusted?": (statistics, data, audit, checkpoint, protocol, frameworks, claims),
    "Parameters": (parameters, ledgers),
    "Methods and sources": (methods, settings, sources, provenance, glossary),
}
SECTIONS = [facts_of for those in CHAPTERS.values() for facts_of in those]
