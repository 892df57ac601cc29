"""The report page."""


rule build_report:
    input:
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
        template=workflow.source_path("../report/report.html.j2"),
        common=common("arms", "errors", "files", "page", "rule"),
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
    script:
        "../scripts/build_report.py"
