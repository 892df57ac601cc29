"""The lab: its reports' claims, the parameter count by hand, its frameworks in use."""

from lab.framework_jobs import data_jobs, first_trainings, in_json, run_jobs
from lab.guest import CLAIMED
from study.products import products

# True where the texts are a user's table, which the lab's reports do not cover.
OWN_TEXTS = config["data"]["source"] == "table"
CLAIM_TABLES = {
    **{f"{name}.tsv": workflow.source_path(f"../claims/{name}.tsv") for name in ("published_runs", "published_points")},
    **{f"{name}.tsv": made(key) for name, key in CLAIMED.items() if key in products() and made(key)},
}
FRAMEWORK_STEPS = {name: frameworks.load(name).STEPS for name in frameworks.having("STEPS") if name in FIRST_RUNS}
DATA_JOBS = data_jobs(PARTS, ALL_SPLITS, FRAMEWORK_STEPS)


if made("framework_steps"):

    # `make regenerate` does not make it: like the parameter ledger it is read from files that only a finished study
    # has.
    rule compare_frameworks:
        input:
            **{
                f"{framework}_finetune_{framework}": [
                    first_run(framework, file) for file in ("history.tsv", "run.json", "weights.json", "tensorboard")
                ]
                for framework in FIRST_RUNS
            },
            **{
                f"{framework}_select_checkpoint": [
                    first_run(framework, "selected"),
                    first_run(framework, "selected.json"),
                ]
                for framework in FIRST_RUNS
            },
            **{
                f"{framework}_evaluate_{framework}": path(f"<results>/predictions/{arm}/seed{seed}.tsv")
                for framework, (arm, seed) in FIRST_RUNS.items()
            },
            **inputs(runs="runs", protocol="protocol_diff"),
            **in_json(FRAMEWORK_STEPS, SPLITS),
            # A function, as in `runs`.
            benchmarks=lambda wildcards: [
                path(f"<benchmarks>/{job}.tsv") for job in [*DATA_JOBS, *run_jobs(TRAINED, seeds_of_arms(wildcards))]
            ],
            logs=[f"<logs>/{job}.log" for job in (*DATA_JOBS, *first_trainings(FIRST_RUNS))],
            fairseq_binarize_texts=expand("<results>/finetuning/{kind}/{part}", kind=["data-bin", "pieces"], part=PARTS),
            huggingface_convert_tokenizer="<results>/checkpoint/tokenizer",
            huggingface_convert_checkpoint="<results>/checkpoint/huggingface",
            huggingface_tokenize_texts=expand("<results>/finetuning/token-ids/checkpoint/{split}.npz", split=SPLITS),
        output:
            **outputs("compare_frameworks"),
        conda:
            "../envs/report.yaml"
        params:
            steps=FRAMEWORK_STEPS,
            arms={framework: RUN_FILES.names_of(framework) for framework in FRAMEWORK_STEPS},
            stock={
                framework: framework_settings(config["finetuning"] | {"protocol": "published"}, framework)
                for framework in FRAMEWORK_STEPS
            },
        script:
            "../scripts/lab/compare_frameworks.py"


rule derive_parameters:
    input:
        ledger=made("parameter_ledger"),
        claims=[] if OWN_TEXTS else workflow.source_path("../claims/published.yaml"),
    output:
        **outputs("derive_parameters"),
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/lab/derive_parameters.py"


rule check_claims:
    input:
        # The lab's reports concern their reviews.
        published=[] if OWN_TEXTS else workflow.source_path("../claims/published.yaml"),
        reports=workflow.source_path("../claims/reports.tsv"),
        study_claims=[workflow.source_path(os.path.join(ROOT, file)) for file in config["claims"]],
        tables=list(CLAIM_TABLES.values()),
        asked=[] if OWN_TEXTS else workflow.source_path("../claims/conclusions.yaml"),
        listed=[] if OWN_TEXTS else workflow.source_path("../claims/items.tsv"),
    output:
        **outputs("check_claims"),
    conda:
        "../envs/report.yaml"
    params:
        names=list(CLAIM_TABLES),
    script:
        "../scripts/lab/check_claims.py"
