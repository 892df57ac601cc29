"""Question answering: pairs, base model, LoRA runs, their evaluation, the ledger."""

QA = config["qa"]
QA_RUN = f"{RESULTS}/qa/rank{{rank}}/seed{{seed}}"
QA_BASE = f"{RESULTS}/qa/base"


wildcard_constraints:
    rank=r"\d+",


try:
    QA_ADDRESSES = qa_addresses(QA)
    QA_RETRIEVALS = qa_retrievals(config, PINS)
except StudyError as error:
    raise WorkflowError(str(error))


rule retrieve_qa_pairs:
    output:
        files=retrieved(*QA_RETRIEVALS["pairs"]["urls"]),
        manifest=qa_record("pairs"),
    log:
        f"{LOGS}/retrieve_qa_pairs.log",
    benchmark:
        f"{BENCHMARKS}/retrieve_qa_pairs.tsv"
    retries: 0
    localrule: True
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="1h",
    params:
        **QA_RETRIEVALS["pairs"],
        helpers=helpers("retrieve"),
    script:
        "../scripts/retrieve.py"


rule retrieve_qa_base:
    output:
        files=retrieved(*QA_RETRIEVALS["hub"]["urls"]),
        manifest=qa_record("hub"),
    log:
        f"{LOGS}/retrieve_qa_base.log",
    benchmark:
        f"{BENCHMARKS}/retrieve_qa_base.tsv"
    retries: 0
    localrule: True
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="6h",
    params:
        **QA_RETRIEVALS["hub"],
        helpers=helpers("retrieve"),
    script:
        "../scripts/retrieve.py"


rule retrieve_qa_corpus:
    output:
        files=retrieved(*QA_RETRIEVALS["corpus"]["urls"]),
        manifest=qa_record("corpus"),
    log:
        f"{LOGS}/retrieve_qa_corpus.log",
    benchmark:
        f"{BENCHMARKS}/retrieve_qa_corpus.tsv"
    retries: 0
    localrule: True
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="3h",
    params:
        **QA_RETRIEVALS["corpus"],
        helpers=helpers("retrieve"),
    script:
        "../scripts/retrieve.py"


rule build_qa_pairs:
    input:
        pairs=qa_pairs_file(),
    output:
        train=f"{RESULTS}/qa/data/train.jsonl",
        heldout=f"{RESULTS}/qa/data/heldout.jsonl",
        manifest=f"{RESULTS}/qa/data/manifest.json",
    log:
        f"{LOGS}/build_qa_pairs.log",
    benchmark:
        f"{BENCHMARKS}/build_qa_pairs.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        source=QA["data"]["source"],
        url=QA["data"]["url"] if QA["data"]["source"] == "url" else None,
        n_heldout=QA["data"]["n_heldout"],
        split_seed=QA["data"]["split_seed"],
        helpers=helpers("build_qa_pairs"),
    script:
        "../scripts/build_qa_pairs.py"


rule build_qa_base_model:
    input:
        files=qa_base_files(),
    output:
        base=directory(QA_BASE),
        pretraining=f"{RESULTS}/qa/pretraining.tsv",
    log:
        f"{LOGS}/build_qa_base_model.log",
    benchmark:
        f"{BENCHMARKS}/build_qa_base_model.tsv"
    conda:
        "../envs/qa.yaml"
    threads: 1
    resources:
        mem_mb=grow(4000),
        runtime=grow("4h"),
    params:
        source=QA["base"]["source"],
        embedded=QA["base"]["embedded"] if QA["base"]["source"] == "embedded" else None,
        helpers=helpers("build_qa_base_model"),
    script:
        "../scripts/build_qa_base_model.py"


rule finetune_lora:
    input:
        train=rules.build_qa_pairs.output.train,
        heldout=rules.build_qa_pairs.output.heldout,
        base=rules.build_qa_base_model.output.base,
    output:
        loss=f"{QA_RUN}/loss.tsv",
        adapter=directory(f"{QA_RUN}/adapter"),
        run=f"{QA_RUN}/run.json",
    log:
        f"{LOGS}/finetune_lora/rank{{rank}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/finetune_lora/rank{{rank}}/seed{{seed}}.tsv"
    conda:
        "../envs/qa.yaml"
    threads: 1
    resources:
        gpu=GPU,
        mem_mb=grow(8000),
        runtime=grow("6h"),
    params:
        # Not an output: it outlives a killed job, so that the next one goes on from it.
        state=f"{RESULTS}/state/qa",
        lora=QA["lora"],
        training=QA["training"],
        helpers=helpers("finetune_lora"),
    script:
        "../scripts/finetune_lora.py"


rule evaluate_qa:
    input:
        train=rules.build_qa_pairs.output.train,
        heldout=rules.build_qa_pairs.output.heldout,
        base=rules.build_qa_base_model.output.base,
        adapter=rules.finetune_lora.output.adapter,
        run=rules.finetune_lora.output.run,
    output:
        generations=f"{QA_RUN}/generations.jsonl",
        evaluation=f"{QA_RUN}/evaluation.json",
    log:
        f"{LOGS}/evaluate_qa/rank{{rank}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_qa/rank{{rank}}/seed{{seed}}.tsv"
    conda:
        "../envs/qa.yaml"
    threads: 1
    resources:
        gpu=GPU,
        mem_mb=grow(8000),
        runtime=grow("2h"),
    params:
        training=QA["training"],
        generation=QA["generation"],
        helpers=helpers("evaluate_qa"),
    script:
        "../scripts/evaluate_qa.py"


rule aggregate_qa:
    input:
        runs=qa_runs("run.json"),
        evaluations=qa_runs("evaluation.json"),
        losses=qa_runs("loss.tsv"),
        generations=qa_runs("generations.jsonl"),
        manifest=rules.build_qa_pairs.output.manifest,
    output:
        runs=report(
            f"{RESULTS}/qa/runs.tsv",
            caption="../report/qa_runs.rst",
            category="Question answering",
            subcategory="Tables",
            labels={"table": "runs"},
        ),
        loss=f"{RESULTS}/qa/loss.tsv",
        summary=report(
            f"{RESULTS}/qa/summary.tsv",
            caption="../report/qa_summary.rst",
            category="Question answering",
            subcategory="Tables",
            labels={"table": "means over seeds"},
        ),
        generations=f"{RESULTS}/qa/generations.jsonl",
    log:
        f"{LOGS}/aggregate_qa.log",
    benchmark:
        f"{BENCHMARKS}/aggregate_qa.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        study=config["study"],
        helpers=helpers("aggregate_qa"),
    script:
        "../scripts/aggregate_qa.py"


rule plot_qa_loss:
    input:
        loss=rules.aggregate_qa.output.loss,
        manifest=rules.build_qa_pairs.output.manifest,
    output:
        svg=report(
            f"{RESULTS}/qa/figures/loss.svg",
            caption="../report/qa_loss.rst",
            category="Question answering",
            subcategory="Figures",
            labels={"figure": "loss by update"},
        ),
        png=f"{RESULTS}/qa/figures/loss.png",
    log:
        f"{LOGS}/plot_qa_loss.log",
    benchmark:
        f"{BENCHMARKS}/plot_qa_loss.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        helpers=helpers("plot_qa_loss"),
    script:
        "../scripts/plot_qa_loss.py"


rule build_lora_ledger:
    input:
        # From the configuration alone: neither the weights nor a base made here are waited for.
        files=[
            path
            for path in qa_base_files()
            if QA["base"]["source"] == "folder" or os.path.basename(path) == "config.json"
        ],
    output:
        tsv=report(
            f"{RESULTS}/qa/lora_ledger.tsv",
            caption="../report/lora_ledger.rst",
            category="Question answering",
            subcategory="Tables",
            labels={"table": "LoRA ledger"},
        ),
        markdown=f"{RESULTS}/qa/lora_ledger.md",
    log:
        f"{LOGS}/build_lora_ledger.log",
    benchmark:
        f"{BENCHMARKS}/build_lora_ledger.tsv"
    conda:
        "../envs/qa.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="10m",
    params:
        source=QA["base"]["source"],
        embedded=QA["base"]["embedded"] if QA["base"]["source"] == "embedded" else None,
        lora=QA["lora"],
        helpers=helpers("build_lora_ledger"),
    script:
        "../scripts/build_lora_ledger.py"
