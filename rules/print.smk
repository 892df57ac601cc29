"""The report on paper; asked for by name, since a machine may have no browser."""


rule print_report:
    input:
        report=rules.build_report.output.report,
    output:
        pdf=f"{RESULTS}/report.pdf",
    log:
        f"{LOGS}/print_report.log",
    benchmark:
        f"{BENCHMARKS}/print_report.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="20m",
    params:
        helpers=helpers("print_report"),
    script:
        "../scripts/print_report.py"
