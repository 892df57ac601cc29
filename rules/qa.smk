"""Question answering: pairs, base model, LoRA runs, their evaluation, the ledger."""

from study.addresses import qa_addresses

QA = config["qa"]
QA_ADDRESSES = qa_addresses(QA)
SWEPT = QA["rank_sweep"]
QA_ARMS = qa_arms(QA)
QA_EMBEDDED = QA["base"]["embedded"] if QA["base"]["source"] == "embedded" else None
QA_READS_TABLES = bool(QA_EMBEDDED and QA_EMBEDDED["corpus_tables"])
if QA_EMBEDDED:
    # What an input tells is no parameter.
    QA_EMBEDDED = {key: value for key, value in QA_EMBEDDED.items() if key != "corpus_tables"}


rule build_qa_pairs:
    input:
        pairs=qa_pairs_file(),
    output:
        train="<results>/qa/data/train.jsonl",
        heldout="<results>/qa/data/heldout.jsonl",
        manifest="<results>/qa/data/manifest.json",
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
        files=qa_base_files(),
    output:
        base=directory("<results>/qa/base"),
        pretraining="<results>/qa/pretraining.tsv",
    conda:
        "../envs/qa.yaml"
    resources:
        mem_mb=grow(4000),
        runtime=grow("4h"),
    params:
        source=QA["base"]["source"],
        embedded=QA_EMBEDDED,
        template=prompt_template,
    script:
        "../scripts/qa/build_qa_base_model.py"


rule finetune_lora:
    input:
        train="<results>/qa/data/train.jsonl",
        heldout="<results>/qa/data/heldout.jsonl",
        base="<results>/qa/base",
    output:
        loss="<qa_run>/loss.tsv",
        adapter=directory("<qa_run>/adapter"),
        tensorboard=directory("<qa_run>/tensorboard"),
        run="<qa_run>/run.json",
    conda:
        "../envs/qa.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(8000),
        runtime=grow("6h"),
    params:
        states=state("finetune_lora/{arm}/seed{seed}"),
        lora=of_arm("lora"),
        training=of_arm("training"),
        template=prompt_template,
        # A function of `threads`, too: see `unwatched`.
        save_every=lambda wildcards, threads: QA_ARMS[wildcards.arm]["training"]["save_every"],
    script:
        "../scripts/qa/finetune_lora.py"


rule evaluate_qa:
    input:
        train="<results>/qa/data/train.jsonl",
        heldout="<results>/qa/data/heldout.jsonl",
        base="<results>/qa/base",
        adapter="<qa_run>/adapter",
        run="<qa_run>/run.json",
    output:
        generations="<qa_run>/generations.jsonl",
        evaluation="<qa_run>/evaluation.json",
    conda:
        "../envs/qa.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(8000),
        runtime=grow("2h"),
    params:
        training=of_arm("training"),
        generation=QA["generation"],
        template=prompt_template,
    script:
        "../scripts/qa/evaluate_qa.py"


rule aggregate_qa:
    input:
        records=qa_runs("run.json"),
        evaluations=qa_runs("evaluation.json"),
        losses=qa_runs("loss.tsv"),
        answers=qa_runs("generations.jsonl"),
        manifest="<results>/qa/data/manifest.json",
    output:
        runs=shown("<results>/qa/runs.tsv", "qa_runs", "Question answering", table="runs"),
        loss="<results>/qa/loss.tsv",
        summary=shown("<results>/qa/summary.tsv", "qa_summary", "Question answering", table="means over seeds"),
        generations="<results>/qa/generations.jsonl",
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        study=config["study"],
    script:
        "../scripts/qa/aggregate_qa.py"


rule plot_qa_loss:
    input:
        loss="<results>/qa/loss.tsv",
        manifest="<results>/qa/data/manifest.json",
    output:
        svg=shown("<results>/qa/figures/loss.svg", "qa_loss", "Question answering", "Figures", figure="loss by update"),
        png="<results>/qa/figures/loss.png",
    localrule: True
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/qa/plot_qa_loss.py"


if SWEPT["ranks"]:

    # Every rank of the sweep in one job; a rank has its place below all the same.
    rule sweep_lora_ranks:
        input:
            train="<results>/qa/data/train.jsonl",
            heldout="<results>/qa/data/heldout.jsonl",
            base="<results>/qa/base",
        output:
            losses=expand("<results>/qa/sweep/rank{rank}/seed{seed}/loss.tsv", rank=SWEPT["ranks"], allow_missing=True),
            records=expand("<results>/qa/sweep/rank{rank}/seed{seed}/run.json", rank=SWEPT["ranks"], allow_missing=True),
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
            template=prompt_template,
            save_every=unwatched(QA["training"]["save_every"]),
        script:
            "../scripts/qa/sweep_lora_ranks.py"

    rule tabulate_rank_sweep:
        input:
            records=swept("run.json"),
            losses=swept("loss.tsv"),
        output:
            table=shown("<results>/qa/rank_sweep.tsv", "rank_sweep", "Question answering", table="rank sweep"),
        localrule: True
        conda:
            "../envs/report.yaml"
        script:
            "../scripts/qa/tabulate_rank_sweep.py"

    rule plot_rank_sweep:
        input:
            table="<results>/qa/rank_sweep.tsv",
            manifest="<results>/qa/data/manifest.json",
        output:
            svg=shown(
                "<results>/qa/figures/rank_sweep.svg",
                "rank_sweep",
                "Question answering",
                "Figures",
                figure="rank sweep",
            ),
            png="<results>/qa/figures/rank_sweep.png",
        localrule: True
        conda:
            "../envs/report.yaml"
        script:
            "../scripts/qa/plot_rank_sweep.py"


rule build_lora_ledger:
    input:
        # From the configuration alone: neither the weights nor a base made here are waited for.
        files=[
            file
            for file in qa_base_files()
            if QA["base"]["source"] == "folder" or os.path.basename(file) == "config.json"
        ],
    output:
        tsv=shown("<results>/qa/lora_ledger.tsv", "lora_ledger", "Question answering", table="LoRA ledger"),
        markdown="<results>/qa/lora_ledger.md",
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


rule plot_lora_schematic:
    input:
        ledger="<results>/qa/lora_ledger.tsv",
    output:
        svg=shown("<results>/qa/figures/lora.svg", "lora_schematic", "Question answering", "Figures", figure="LoRA"),
        png="<results>/qa/figures/lora.png",
    localrule: True
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/qa/plot_lora_schematic.py"


# With `export_models`; not part of `all`.
rule export_adapter:
    input:
        adapter="<qa_run>/adapter",
        run="<qa_run>/run.json",
        generations="<qa_run>/generations.jsonl",
        evaluation="<qa_run>/evaluation.json",
        runs="<results>/qa/runs.tsv",
        summary="<results>/qa/summary.tsv",
        manifest="<results>/qa/data/manifest.json",
        base="<results>/qa/base",
        template=workflow.source_path("../report/adapter_card.md.j2"),
    output:
        folder=directory("<results>/models/qa-{arm}-seed{seed}"),
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        study=config["study"],
        source=QA["base"],
        generation=QA["generation"],
    script:
        "../scripts/qa/export_adapter.py"
