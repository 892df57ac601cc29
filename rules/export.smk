"""Fine-tuned models to give away: a Hugging Face folder with a model card for each run. Asked for by name only."""


rule export_model:
    input:
        checkpoints=f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/selected",
        selected=f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/selected.json",
        run=f"{RESULTS}/sentiment/{{framework}}/{{init}}/seed{{seed}}/run.json",
        converted=rules.convert_checkpoint.output.folder,
        runs=rules.aggregate_runs.output.runs,
        test_accuracy=rules.tabulate_test_accuracy.output.tsv,
        arms=rules.compute_statistics.output.arms,
        manifest=f"{RESULTS}/data/manifest.json",
        # The exported model has to give the run's predictions.
        reviews=f"{RESULTS}/data/test.review",
        predictions=f"{RESULTS}/predictions/{{framework}}/{{init}}/seed{{seed}}.tsv",
        template=workflow.source_path("../report/model_card.md.j2"),
    output:
        folder=directory(f"{RESULTS}/models/{{framework}}-{{init}}-seed{{seed}}"),
    log:
        f"{LOGS}/export_model/{{framework}}/{{init}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/export_model/{{framework}}/{{init}}/seed{{seed}}.tsv"
    conda:
        "../envs/huggingface.yaml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow("30m"),
    params:
        study=config["study"],
        start={key: config["checkpoint"][key] for key in ("source", "folder", "fetch")},
        batch_size=config["sentiment"]["evaluation"]["batch_size"],
        helpers=helpers("export_model"),
    script:
        "../scripts/export_model.py"


# `snakemake export_models`; not part of `all`.
rule export_models:
    input:
        runs(f"{RESULTS}/models/{{framework}}-{{init}}-seed{{seed}}"),
