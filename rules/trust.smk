"""What makes the numbers hold: audit, protocol diff, statistics, baselines, parameter ledger, claims."""

# One run of each framework stands for the tensors that it trains; the later arms yield to the first.
FIRST_RUNS = {framework: (framework, init, SEEDS[0]) for framework, init in reversed(ARMS)}
COUNTED = {
    "checkpoint": f"{RESULTS}/checkpoint/model.pt",
    **({"checkpoint for Hugging Face": f"{RESULTS}/checkpoint/huggingface"} if "huggingface" in FIRST_RUNS else {}),
    **{
        f"{framework}, fine-tuned": f"{RESULTS}/sentiment/{framework}/{init}/seed{seed}/selected"
        for framework, init, seed in sorted(FIRST_RUNS.values())
    },
}
# Tables that claims may rest on, by the name that they have there.
CLAIM_TABLES = {
    "published_runs.tsv": workflow.source_path("../claims/published_runs.tsv"),
    "runs.tsv": f"{RESULTS}/runs.tsv",
    "test_accuracy.tsv": f"{RESULTS}/test_accuracy.tsv",
    "arms.tsv": f"{RESULTS}/statistics/arms.tsv",
    "pairs.tsv": f"{RESULTS}/statistics/pairs.tsv",
    "mcnemar.tsv": f"{RESULTS}/statistics/mcnemar.tsv",
    "learned.tsv": f"{RESULTS}/learned.tsv",
    "baselines.tsv": f"{RESULTS}/baselines.tsv",
    "parameter_ledger.tsv": f"{RESULTS}/parameter_ledger.tsv",
    "audit.tsv": f"{RESULTS}/audit.tsv",
}
OWN_CLAIMS = os.path.join(workflow.basedir, "claims", f"{config['study']}.yaml")
TRUST = [
    f"{RESULTS}/weights.tsv",
    f"{RESULTS}/audit.tsv",
    f"{RESULTS}/protocol_diff.tsv",
    f"{RESULTS}/statistics/arms.tsv",
    f"{RESULTS}/learned.tsv",
    f"{RESULTS}/baselines.tsv",
    f"{RESULTS}/parameter_ledger.tsv",
    f"{RESULTS}/claims.tsv",
]


rule prove_weights:
    input:
        proofs=runs(f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/weights.json"),
        converted=f"{RESULTS}/checkpoint/huggingface",
    output:
        table=report(
            f"{RESULTS}/weights.tsv",
            caption="../report/weights.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "proof of weights"},
        ),
    log:
        f"{LOGS}/prove_weights.log",
    benchmark:
        f"{BENCHMARKS}/prove_weights.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        helpers=helpers("prove_weights"),
    script:
        "../scripts/prove_weights.py"


# Asked for where the study has both frameworks; the runs are those that stand for their framework above.
LOGIT_PARITY = []

if len(FIRST_RUNS) == 2:
    LOGIT_PARITY = [f"{RESULTS}/logit_parity.tsv"]
    COMPARED = {
        name: f"{RESULTS}/sentiment/{framework}/{init}/seed{seed}/{file}"
        for framework, init, seed in FIRST_RUNS.values()
        for name, file in ((framework, "selected"), (f"{framework}_selected", "selected.json"))
    }

    rule score_logits_fairseq:
        input:
            **COMPARED,
            checkpoint=f"{RESULTS}/checkpoint/model.pt",
            data=f"{RESULTS}/sentiment/data-bin/train-valid",
        output:
            logits=f"{RESULTS}/sentiment/logits/fairseq.npz",
        log:
            f"{LOGS}/score_logits_fairseq.log",
        benchmark:
            f"{BENCHMARKS}/score_logits_fairseq.tsv"
        conda:
            "../envs/fairseq.yaml"
        threads: 1
        resources:
            mem_mb=grow(2000),
            runtime=grow("30m"),
        params:
            batch_size=config["sentiment"]["evaluation"]["batch_size"],
            helpers=helpers("score_logits_fairseq"),
        script:
            "../scripts/score_logits_fairseq.py"

    rule compare_logits:
        input:
            **COMPARED,
            logits=rules.score_logits_fairseq.output.logits,
            folder=f"{RESULTS}/checkpoint/huggingface",
            token_ids=f"{RESULTS}/sentiment/token-ids/valid.npz",
        output:
            table=report(
                LOGIT_PARITY[0],
                caption="../report/logit_parity.rst",
                category="Trust",
                subcategory="Tables",
                labels={"table": "logits of both frameworks"},
            ),
        log:
            f"{LOGS}/compare_logits.log",
        benchmark:
            f"{BENCHMARKS}/compare_logits.tsv"
        conda:
            "../envs/huggingface.yaml"
        threads: 1
        resources:
            mem_mb=grow(2000),
            runtime=grow("30m"),
        params:
            batch_size=config["sentiment"]["evaluation"]["batch_size"],
            helpers=helpers("compare_logits"),
        script:
            "../scripts/compare_logits.py"


rule audit_data:
    input:
        reviews=expand(f"{RESULTS}/data/{{split}}.review", split=SPLITS),
        labels=expand(f"{RESULTS}/data/{{split}}.label", split=SPLITS),
        unlabelled=f"{RESULTS}/data/unlabelled.review",
        model=f"{RESULTS}/checkpoint/sentencepiece.bpe.model",
        dictionary=f"{RESULTS}/checkpoint/dict.txt",
        corpora=branch(
            config["checkpoint"]["source"] == "pretrain",
            then=[f"{RESULTS}/checkpoint/corpus/{split}.txt" for split in ("train", "valid")],
            otherwise=[],
        ),
    output:
        table=report(
            f"{RESULTS}/audit.tsv",
            caption="../report/audit.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "data audit"},
        ),
        details=f"{RESULTS}/audit.json",
    log:
        f"{LOGS}/audit_data.log",
    benchmark:
        f"{BENCHMARKS}/audit_data.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow("20m"),
    params:
        splits=list(SPLITS),
        max_positions=config["checkpoint"]["architecture"]["max_positions"],
        helpers=helpers("audit_data"),
    script:
        "../scripts/audit_data.py"


rule build_protocol_diff:
    input:
        runs=runs(f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/run.json"),
    output:
        table=report(
            f"{RESULTS}/protocol_diff.tsv",
            caption="../report/protocol_diff.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "protocol diff"},
        ),
    log:
        f"{LOGS}/build_protocol_diff.log",
    benchmark:
        f"{BENCHMARKS}/build_protocol_diff.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        mode=lookup("sentiment/protocol", within=config, default="matched"),
        helpers=helpers("build_protocol_diff"),
    script:
        "../scripts/build_protocol_diff.py"


rule compute_statistics:
    input:
        runs=f"{RESULTS}/runs.tsv",
        predictions=runs(f"{RESULTS}/predictions/{{framework}}/{{init}}/seed{{seed}}.tsv"),
        manifest=f"{RESULTS}/data/manifest.json",
    output:
        arms=report(
            f"{RESULTS}/statistics/arms.tsv",
            caption="../report/arm_statistics.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "arms with intervals"},
        ),
        pairs=report(
            f"{RESULTS}/statistics/pairs.tsv",
            caption="../report/pairs.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "pairs of arms, with verdicts"},
        ),
        mcnemar=report(
            f"{RESULTS}/statistics/mcnemar.tsv",
            caption="../report/mcnemar.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "McNemar's test"},
        ),
        method=f"{RESULTS}/statistics/method.json",
        learned=report(
            f"{RESULTS}/learned.tsv",
            caption="../report/learned.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "which runs learnt"},
        ),
    log:
        f"{LOGS}/compute_statistics.log",
    benchmark:
        f"{BENCHMARKS}/compute_statistics.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime="20m",
    params:
        run_keys=[[framework, init, str(seed)] for framework, init in ARMS for seed in SEEDS],
        options={
            "alpha": 0.05,
            "level": 0.95,
            "power": 0.8,
            "resamples": 9999,
            "bootstrap": 4000,
            "seed": 1,
        },
        helpers=helpers("compute_statistics"),
    script:
        "../scripts/compute_statistics.py"


rule train_baselines:
    input:
        reviews=expand(f"{RESULTS}/data/{{split}}.review", split=SPLITS),
        labels=expand(f"{RESULTS}/data/{{split}}.label", split=SPLITS),
    output:
        table=report(
            f"{RESULTS}/baselines.tsv",
            caption="../report/baselines.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "baselines"},
        ),
    log:
        f"{LOGS}/train_baselines.log",
    benchmark:
        f"{BENCHMARKS}/train_baselines.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow("10m"),
    params:
        splits=list(SPLITS),
        helpers=helpers("train_baselines"),
    script:
        "../scripts/train_baselines.py"


rule build_parameter_ledger:
    input:
        models=list(COUNTED.values()),
    output:
        ledger=report(
            f"{RESULTS}/parameter_ledger.tsv",
            caption="../report/parameter_ledger.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "parameter ledger"},
        ),
    log:
        f"{LOGS}/build_parameter_ledger.log",
    benchmark:
        f"{BENCHMARKS}/build_parameter_ledger.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        names=list(COUNTED),
        size={
            "vocab_size": config["checkpoint"]["sentencepiece"]["vocab_size"],
            **{
                key: config["checkpoint"]["architecture"][key]
                for key in ("width", "ffn_width", "layers", "max_positions")
            },
        },
        helpers=helpers("build_parameter_ledger"),
    script:
        "../scripts/build_parameter_ledger.py"


rule check_claims:
    input:
        published=workflow.source_path("../claims/published.yaml"),
        own=[workflow.source_path(OWN_CLAIMS)] if os.path.exists(OWN_CLAIMS) else [],
        tables=list(CLAIM_TABLES.values()),
        method=rules.compute_statistics.output.method,
    output:
        claims=report(
            f"{RESULTS}/claims.tsv",
            caption="../report/claims.rst",
            category="Trust",
            subcategory="Tables",
            labels={"table": "claims"},
        ),
    log:
        f"{LOGS}/check_claims.log",
    benchmark:
        f"{BENCHMARKS}/check_claims.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        names=list(CLAIM_TABLES),
        helpers=helpers("check_claims"),
    script:
        "../scripts/check_claims.py"
