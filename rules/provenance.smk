"""What made the numbers, for programs: an RO-Crate over the study's folder."""

# What the report shows; the crate gives their hashes. The page itself reads the crate, so its hash cannot be in it.
RECORDED = [
    rules.aggregate_runs.output.runs,
    rules.aggregate_runs.output.history,
    rules.tabulate_test_accuracy.output.tsv,
    rules.plot_arms.output.svg,
    *(f"{RESULTS}/figures/accuracy_by_epoch/{framework}-{init}.svg" for framework, init in ARMS),
    rules.compute_statistics.output.pairs,
    rules.count_errors.output.errors,
    *TRUST,
    *LOGIT_PARITY,
]
# The question-answering half, where the study has it.
QA_RECORDED = (
    {
        "qa_runs": qa_runs("run.json"),
        "qa_results": qa_runs("evaluation.json"),
        "qa_manifest": rules.build_qa_pairs.output.manifest,
    }
    if config["qa"]["enabled"]
    else {}
)
if config["qa"]["enabled"]:
    RECORDED += [
        rules.aggregate_qa.output.summary,
        rules.aggregate_qa.output.loss,
        rules.plot_qa_loss.output.svg,
        rules.build_lora_ledger.output.tsv,
    ]
if config["checkpoint"]["source"] == "pretrain":
    RECORDED += [rules.pretrain.output.history, rules.plot_pretraining.output.svg]


rule record_provenance:
    input:
        **QA_RECORDED,
        runs=runs(f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/run.json"),
        predictions=runs(f"{RESULTS}/predictions/{{framework}}/{{init}}/seed{{seed}}.tsv"),
        manifest=f"{RESULTS}/data/manifest.json",
        tables=RECORDED,
    output:
        crate=report(
            f"{RESULTS}/ro-crate-metadata.json",
            caption="../report/provenance.rst",
            category="Trust",
            labels={"record": "provenance (RO-Crate)"},
        ),
    log:
        f"{LOGS}/record_provenance.log",
    benchmark:
        f"{BENCHMARKS}/record_provenance.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        settings=config,
        commit=COMMIT,
        helpers=helpers("record_provenance"),
    script:
        "../scripts/record_provenance.py"
