from snakemake.utils import min_version

min_version("9.27")


configfile: workflow.source_path("config.yaml")


report: "report/workflow.rst"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/checkpoint.smk"
include: "rules/fairseq.smk"
include: "rules/huggingface.smk"
include: "rules/aggregate.smk"
include: "rules/trust.smk"
include: "rules/qa.smk"
include: "rules/provenance.smk"
include: "rules/report.smk"
include: "rules/print.smk"
include: "rules/export.smk"


# On a cluster these stay where Snakemake runs, as the downloads do: seconds each, and the queue would cost more.
localrules:
    aggregate_qa,
    aggregate_runs,
    build_lora_ledger,
    build_parameter_ledger,
    build_protocol_diff,
    build_qa_pairs,
    build_report,
    check_claims,
    check_report,
    compute_statistics,
    count_errors,
    plot_accuracy_by_epoch,
    plot_arms,
    plot_qa_loss,
    print_report,
    prove_weights,
    record_provenance,
    tabulate_test_accuracy,


rule all:
    default_target: True
    input:
        f"{RESULTS}/report.html",
        f"{RESULTS}/report_numbers.tsv",
        f"{RESULTS}/ro-crate-metadata.json",
        COMPARISON,
