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


rule all:
    default_target: True
    input:
        f"{RESULTS}/report.html",
        f"{RESULTS}/report_numbers.tsv",
        f"{RESULTS}/ro-crate-metadata.json",
        COMPARISON,
