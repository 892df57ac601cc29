"""From finished runs to tables and figures: selection, aggregation, test accuracy by arm, curves."""


rule select_checkpoint:
    input:
        history=f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/history.tsv",
        checkpoints=f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/checkpoints",
    output:
        weights=directory(f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/selected"),
        selected=f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/selected.json",
    log:
        f"{LOGS}/select_checkpoint/{{framework}}/{{init}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/select_checkpoint/{{framework}}/{{init}}/seed{{seed}}.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        helpers=helpers("select_checkpoint"),
    script:
        "../scripts/select_checkpoint.py"


rule aggregate_runs:
    input:
        runs=runs(f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/run.json"),
        selected=runs(f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/selected.json"),
        histories=runs(f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/history.tsv"),
        predictions=runs(f"{RESULTS}/predictions/{{framework}}/{{init}}/seed{{seed}}.tsv"),
        test_curves=branch(
            lookup("sentiment/evaluation/test_curves", within=config),
            then=runs(f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/test_curve.tsv"),
            otherwise=[],
        ),
        manifest=f"{RESULTS}/data/manifest.json",
    output:
        runs=report(
            f"{RESULTS}/runs.tsv",
            caption="../report/runs.rst",
            category="Sentiment",
            subcategory="Tables",
            labels={"table": "runs"},
        ),
        history=report(
            f"{RESULTS}/history.tsv",
            caption="../report/history.rst",
            category="Sentiment",
            subcategory="Tables",
            labels={"table": "history by epoch"},
        ),
    log:
        f"{LOGS}/aggregate_runs.log",
    benchmark:
        f"{BENCHMARKS}/aggregate_runs.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        study=config["study"],
        helpers=helpers("aggregate_runs"),
    script:
        "../scripts/aggregate_runs.py"


rule count_errors:
    input:
        predictions=runs(f"{RESULTS}/predictions/{{framework}}/{{init}}/seed{{seed}}.tsv"),
    output:
        errors=report(
            f"{RESULTS}/errors.tsv",
            caption="../report/errors.rst",
            category="Sentiment",
            subcategory="Tables",
            labels={"table": "errors by review"},
        ),
    log:
        f"{LOGS}/count_errors.log",
    benchmark:
        f"{BENCHMARKS}/count_errors.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        helpers=helpers("count_errors"),
    script:
        "../scripts/count_errors.py"


rule tabulate_test_accuracy:
    input:
        runs=rules.aggregate_runs.output.runs,
    output:
        tsv=report(
            f"{RESULTS}/test_accuracy.tsv",
            caption="../report/test_accuracy.rst",
            category="Sentiment",
            subcategory="Tables",
            labels={"table": "test accuracy by arm"},
        ),
        markdown=f"{RESULTS}/test_accuracy.md",
        latex=f"{RESULTS}/test_accuracy.tex",
    log:
        f"{LOGS}/tabulate_test_accuracy.log",
    benchmark:
        f"{BENCHMARKS}/tabulate_test_accuracy.tsv"
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime="5m",
    params:
        helpers=helpers("tabulate_test_accuracy"),
    script:
        "../scripts/tabulate_test_accuracy.py"


rule plot_accuracy_by_epoch:
    input:
        runs=rules.aggregate_runs.output.runs,
        history=rules.aggregate_runs.output.history,
        manifest=f"{RESULTS}/data/manifest.json",
    output:
        svg=report(
            f"{RESULTS}/figures/accuracy_by_epoch/{{framework}}-{{init}}.svg",
            caption="../report/accuracy_by_epoch.rst",
            category="Sentiment",
            subcategory="Accuracy by epoch",
            labels={"framework": "{framework}", "init": "{init}"},
        ),
        png=f"{RESULTS}/figures/accuracy_by_epoch/{{framework}}-{{init}}.png",
        data=f"{RESULTS}/figures/accuracy_by_epoch/{{framework}}-{{init}}.tsv",
    log:
        f"{LOGS}/plot_accuracy_by_epoch/{{framework}}-{{init}}.log",
    benchmark:
        f"{BENCHMARKS}/plot_accuracy_by_epoch/{{framework}}-{{init}}.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        colours=config["report"]["colours"],
        helpers=helpers("plot_accuracy_by_epoch"),
    script:
        "../scripts/plot_accuracy_by_epoch.py"


rule plot_arms:
    input:
        runs=rules.aggregate_runs.output.runs,
        manifest=f"{RESULTS}/data/manifest.json",
    output:
        svg=report(
            f"{RESULTS}/figures/arms.svg",
            caption="../report/arms.rst",
            category="Sentiment",
            subcategory="Arms compared",
            labels={"figure": "test accuracy by arm"},
        ),
        png=f"{RESULTS}/figures/arms.png",
        data=f"{RESULTS}/figures/arms.tsv",
    log:
        f"{LOGS}/plot_arms.log",
    benchmark:
        f"{BENCHMARKS}/plot_arms.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        colours=config["report"]["colours"],
        helpers=helpers("plot_arms"),
    script:
        "../scripts/plot_arms.py"
