from snakemake.utils import min_version

min_version("9.27")


report: "report/workflow.rst"


# This is used with `--sdm apptainer` only, and built from envs/workstation.def (docs/guides/containers.md).
container: "workstation.sif"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/checkpoint.smk"
include: "rules/finetuning.smk"
include: "rules/analysis.smk"


for guest in guests():

    include: f"rules/{guest}.smk"


include: "rules/report.smk"


rule all:
    input:
        finished,
        "<results>/report.html",
        "<results>/report_numbers.tsv",
        "<results>/ro-crate-metadata.json",
        "<results>/settings.json",
        FETCHED_COMPARISON,


complete_rules(workflow, CHOOSING)
