"""Question answering: pairs, base model, LoRA runs, their evaluation, the ledger."""

from qa.guest import qa_addresses
from qa.products.answers import answer_measures
from qa.qa_arms import qa_arms, variations, without_saves

QA = config["qa"]
QA_ADDRESSES = qa_addresses(QA)
SWEPT = QA["rank_sweep"]
QA_ARMS = qa_arms(QA)
QA_EMBEDDED = QA["base"]["embedded"] if QA["base"]["source"] == "embedded" else None
QA_READS_TABLES = bool(QA_EMBEDDED and QA_EMBEDDED["corpus_tables"])
if QA_EMBEDDED:
    # A fact that an input gives is no parameter.
    QA_EMBEDDED = {key: value for key, value in QA_EMBEDDED.items() if key != "corpus_tables"}
# The sources of the base model, and the file of pairs; none for embedded ones, and where the study forgot a path (the
# script reports it).
BASE_FILES = [local(QA["base"]["folder"])] if QA["base"]["source"] == "folder" and QA["base"]["folder"] else []
BASE_FILES += retrieved(*QA_ADDRESSES["hub"], *QA_ADDRESSES["corpus"])
QA_PAIRS = [local(QA["data"]["file"])] if QA["data"]["source"] == "file" and QA["data"]["file"] else []
QA_PAIRS += retrieved(*QA_ADDRESSES["pairs"])
QA_RUN = "<results>/qa/{arm}/seed{seed}"
QA_RUNS = expand(QA_RUN, arm=QA_ARMS, seed=QA["seeds"])
SWEEP = "<results>/qa/sweep/rank{rank}/seed{seed}"
VARIED = variations(QA)
VARIED_NAMES = [one["name"] for one in VARIED]
VARIATION = "<results>/qa/variations/{name}/seed{seed}"
VARIATIONS = expand(VARIATION, name=VARIED_NAMES, seed=QA["variations"]["seeds"])
SWEEPS = expand(SWEEP, rank=SWEPT["ranks"], seed=SWEPT["seeds"])


rule build_qa_pairs:
    input:
        pairs=QA_PAIRS,
    output:
        **outputs("build_qa_pairs"),
        train="<results>/qa/data/train.jsonl",
        heldout="<results>/qa/data/heldout.jsonl",
    localrule: True
    conda:
        "../envs/data.yaml"
    params:
        source=QA["data"]["source"],
        url=QA["data"]["url"] if QA["data"]["source"] == "url" else None,
        columns=[QA["data"]["question"], QA["data"]["answer"]],
        n_heldout=QA["data"]["n_heldout"],
        split_seed=QA["data"]["split_seed"],
    script:
        "../scripts/qa/build_qa_pairs.py"


rule build_qa_base_model:
    input:
        **({"tables": "<results>/checkpoint/corpus-tables"} if QA_READS_TABLES else {}),
        files=BASE_FILES,
    output:
        base=directory("<results>/qa/base"),
        pretraining=f"<results>/{product('qa_pretraining').path}",
    conda:
        "../envs/qa.yaml"
    resources:
        mem_mb=grow(4000),
        runtime=grow("4h"),
    params:
        source=QA["base"]["source"],
        embedded=QA_EMBEDDED,
        template=lambda wildcards: QA["prompt"],
    script:
        "../scripts/qa/build_qa_base_model.py"


rule finetune_lora:
    input:
        train="<results>/qa/data/train.jsonl",
        heldout="<results>/qa/data/heldout.jsonl",
        base="<results>/qa/base",
    output:
        loss=f"{QA_RUN}/loss.tsv",
        adapter=directory(f"{QA_RUN}/adapter"),
        tensorboard=directory(f"{QA_RUN}/tensorboard"),
        run=f"{QA_RUN}/run.json",
    conda:
        "../envs/qa.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(8000),
        runtime=grow("6h"),
    params:
        states=state("finetune_lora/{arm}/seed{seed}"),
        lora=lambda wildcards: without_saves(QA_ARMS[wildcards.arm]["lora"]),
        training=lambda wildcards: without_saves(QA_ARMS[wildcards.arm]["training"]),
        template=lambda wildcards: QA["prompt"],
        # This is also a function of `threads`: see `unwatched`.
        save_every=lambda wildcards, threads: QA_ARMS[wildcards.arm]["training"]["save_every"],
    script:
        "../scripts/qa/finetune_lora.py"


rule evaluate_qa:
    input:
        train="<results>/qa/data/train.jsonl",
        heldout="<results>/qa/data/heldout.jsonl",
        base="<results>/qa/base",
        adapter=f"{QA_RUN}/adapter",
        run=f"{QA_RUN}/run.json",
    output:
        generations=f"{QA_RUN}/generations.jsonl",
        evaluation=f"{QA_RUN}/evaluation.json",
    conda:
        "../envs/qa.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(8000),
        runtime=grow("2h"),
    params:
        training=lambda wildcards: without_saves(QA_ARMS[wildcards.arm]["training"]),
        generation=QA["generation"],
        template=lambda wildcards: QA["prompt"],
    script:
        "../scripts/qa/evaluate_qa.py"


rule aggregate_qa:
    input:
        records=[f"{run}/run.json" for run in QA_RUNS],
        evaluations=[f"{run}/evaluation.json" for run in QA_RUNS],
        losses=[f"{run}/loss.tsv" for run in QA_RUNS],
        answers=[f"{run}/generations.jsonl" for run in QA_RUNS],
        manifest=made("qa_manifest"),
    output:
        **outputs("aggregate_qa"),
    conda:
        "../envs/report.yaml"
    params:
        study=config["study"],
    script:
        "../scripts/qa/aggregate_qa.py"


rule score_answers:
    input:
        evaluations=[f"{run}/evaluation.json" for run in QA_RUNS],
        generations=made("qa_generations"),
    output:
        **outputs("score_answers"),
    localrule: True
    conda:
        "../envs/qa.yaml"
    params:
        names=answer_measures(),
        versions=[file_digest(measures.file(name)) for name in answer_measures()],
    script:
        "../scripts/qa/score_answers.py"


if SWEPT["ranks"]:

    # Every rank of the sweep is trained in one job, and each has a place below.
    rule sweep_lora_ranks:
        input:
            train="<results>/qa/data/train.jsonl",
            heldout="<results>/qa/data/heldout.jsonl",
            base="<results>/qa/base",
        output:
            losses=expand(f"{SWEEP}/loss.tsv", rank=SWEPT["ranks"], allow_missing=True),
            records=expand(f"{SWEEP}/run.json", rank=SWEPT["ranks"], allow_missing=True),
        conda:
            "../envs/qa.yaml"
        resources:
            gpu=GPU,
            mem_mb=grow(8000),
            runtime=grow("12h"),
        params:
            states=state("sweep_lora_ranks/seed{seed}"),
            ranks=SWEPT["ranks"],
            lora=QA["lora"],
            training=without_saves(QA["training"]),
            template=lambda wildcards: QA["prompt"],
            save_every=unwatched(QA["training"]["save_every"]),
        script:
            "../scripts/qa/sweep_lora_ranks.py"

    rule tabulate_rank_sweep:
        input:
            records=[f"{run}/run.json" for run in SWEEPS],
            losses=[f"{run}/loss.tsv" for run in SWEEPS],
        output:
            **outputs("tabulate_rank_sweep"),
        conda:
            "../envs/report.yaml"
        script:
            "../scripts/qa/tabulate_rank_sweep.py"


if VARIED:

    # Every run of a seed is trained in one job, and each has a place below.
    rule vary_lora:
        input:
            train="<results>/qa/data/train.jsonl",
            heldout="<results>/qa/data/heldout.jsonl",
            base="<results>/qa/base",
        output:
            losses=expand(f"{VARIATION}/loss.tsv", name=VARIED_NAMES, allow_missing=True),
            records=expand(f"{VARIATION}/run.json", name=VARIED_NAMES, allow_missing=True),
        conda:
            "../envs/qa.yaml"
        resources:
            gpu=GPU,
            mem_mb=grow(8000),
            runtime=grow("12h"),
        params:
            states=state("vary_lora/seed{seed}"),
            runs=VARIED,
            template=lambda wildcards: QA["prompt"],
            save_every=unwatched(QA["training"]["save_every"]),
        script:
            "../scripts/qa/vary_lora.py"

    rule tabulate_variations:
        input:
            records=[f"{run}/run.json" for run in VARIATIONS],
            losses=[f"{run}/loss.tsv" for run in VARIATIONS],
        output:
            **outputs("tabulate_variations"),
        conda:
            "../envs/report.yaml"
        script:
            "../scripts/qa/tabulate_variations.py"


rule build_lora_ledger:
    input:
        # It needs only the configuration and waits neither for the weights nor for a base made here.
        files=[
            file for file in BASE_FILES if QA["base"]["source"] == "folder" or os.path.basename(file) == "config.json"
        ],
    output:
        **outputs("build_lora_ledger"),
    # The longest of the page's jobs.
    priority: 1
    localrule: True
    conda:
        "../envs/qa.yaml"
    params:
        source=QA["base"]["source"],
        embedded=QA_EMBEDDED,
        arms={arm: settings["lora"] for arm, settings in QA_ARMS.items()},
    script:
        "../scripts/qa/build_lora_ledger.py"


# It runs with `export_models`, and is no part of `all`.
rule export_adapter:
    input:
        **inputs(runs="qa_runs", summary="qa_summary"),
        adapter=f"{QA_RUN}/adapter",
        run=f"{QA_RUN}/run.json",
        generations=f"{QA_RUN}/generations.jsonl",
        evaluation=f"{QA_RUN}/evaluation.json",
        manifest=made("qa_manifest"),
        base="<results>/qa/base",
        template=workflow.source_path("../report/adapter_card.md.j2"),
    output:
        folder=directory("<results>/models/qa-{arm}-seed{seed}"),
    conda:
        "../envs/report.yaml"
    params:
        study=config["study"],
        source=QA["base"],
        generation=QA["generation"],
    script:
        "../scripts/qa/export_adapter.py"
