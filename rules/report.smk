"""The report page."""

# The question-answering half, where the study has it.
QA_REPORT = (
    {
        "qa_summary": rules.aggregate_qa.output.summary,
        "qa_loss": rules.aggregate_qa.output.loss,
        "qa_generations": rules.aggregate_qa.output.generations,
        "qa_manifest": rules.build_qa_pairs.output.manifest,
        "qa_loss_figure": rules.plot_qa_loss.output.svg,
        "lora_ledger": rules.build_lora_ledger.output.tsv,
    }
    if config["qa"]["enabled"]
    else {}
)
# The checkpoint's curve, where the study makes its own.
PRETRAINING_REPORT = (
    {"pretraining": rules.pretrain.output.history, "pretraining_figure": rules.plot_pretraining.output.svg}
    if config["checkpoint"]["source"] == "pretrain"
    else {}
)


rule build_report:
    input:
        **QA_REPORT,
        **PRETRAINING_REPORT,
        runs=rules.aggregate_runs.output.runs,
        history=rules.aggregate_runs.output.history,
        test_accuracy=rules.tabulate_test_accuracy.output.tsv,
        test_accuracy_markdown=rules.tabulate_test_accuracy.output.markdown,
        test_accuracy_latex=rules.tabulate_test_accuracy.output.latex,
        curves=[f"{RESULTS}/figures/accuracy_by_epoch/{framework}-{init}.svg" for framework, init in ARMS],
        curves_data=[f"{RESULTS}/figures/accuracy_by_epoch/{framework}-{init}.tsv" for framework, init in ARMS],
        arms_figure=rules.plot_arms.output.svg,
        arms_data=rules.plot_arms.output.data,
        manifest=f"{RESULTS}/data/manifest.json",
        run_records=runs(f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/run.json"),
        pairs=rules.compute_statistics.output.pairs,
        arm_statistics=rules.compute_statistics.output.arms,
        method=rules.compute_statistics.output.method,
        learned=rules.compute_statistics.output.learned,
        baselines=rules.train_baselines.output.table,
        parameter_ledger=rules.build_parameter_ledger.output.ledger,
        protocol_diff=rules.build_protocol_diff.output.table,
        audit=rules.audit_data.output.table,
        claims=rules.check_claims.output.claims,
        weights=rules.prove_weights.output.table,
        logit_parity=LOGIT_PARITY,
        parity=expand(f"{RESULTS}/sentiment/token-ids/{{split}}.parity.json", split=SPLITS),
        errors=rules.count_errors.output.errors,
        predictions=runs(f"{RESULTS}/predictions/{{framework}}/{{init}}/seed{{seed}}.tsv"),
        training_benchmarks=runs(f"{BENCHMARKS}/finetune_{{framework}}/{{init}}/seed{{seed}}.tsv"),
        provenance=rules.record_provenance.output.crate,
        template=workflow.source_path("../report/report.html.j2"),
    output:
        report=report(
            f"{RESULTS}/report.html",
            caption="../report/report.rst",
            category="Report",
            labels={"page": "the study's report"},
        ),
    log:
        f"{LOGS}/build_report.log",
    benchmark:
        f"{BENCHMARKS}/build_report.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        settings=config,
        commit=COMMIT,
        helpers=helpers("build_report"),
    script:
        "../scripts/build_report.py"


rule check_report:
    input:
        report=rules.build_report.output.report,
        # What sentences may quote; the figures and tables of the page show their files themselves.
        tables=[
            rules.aggregate_runs.output.runs,
            rules.tabulate_test_accuracy.output.tsv,
            rules.compute_statistics.output.arms,
            rules.compute_statistics.output.pairs,
            rules.compute_statistics.output.method,
            rules.compute_statistics.output.learned,
            rules.train_baselines.output.table,
            rules.prove_weights.output.table,
            rules.build_parameter_ledger.output.ledger,
            rules.build_protocol_diff.output.table,
            rules.audit_data.output.table,
            rules.count_errors.output.errors,
            f"{RESULTS}/data/manifest.json",
            *(QA_REPORT[name] for name in ("qa_summary", "qa_manifest", "lora_ledger") if QA_REPORT),
            *([PRETRAINING_REPORT["pretraining"]] if PRETRAINING_REPORT else []),
        ],
    output:
        numbers=f"{RESULTS}/report_numbers.tsv",
    log:
        f"{LOGS}/check_report.log",
    benchmark:
        f"{BENCHMARKS}/check_report.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        settings=config,
        helpers=helpers("check_report"),
    script:
        "../scripts/check_report.py"
