"""From finished runs to what they say: tables, statistics, parameter counts, claims, figures."""

from analysis.products.errors import run_keys
from finetuning.learning_curves import learning_points
from study.questions import REGISTER, measures_asked

# Whether the texts are a table of one's own, which the lab's reports say nothing of.
OWN_TEXTS = config["data"]["source"] == "table"
# Whose tensors are counted.
COUNTED = {
    **({"checkpoint": "<results>/checkpoint/model.pt"} if USES_CHECKPOINT else {}),
    **{
        f"checkpoint for {frameworks.label(name)}": "<results>/checkpoint/huggingface"
        for name in FIRST_RUNS
        if frameworks.load(name).OTHERS_MODELS
    },
    **{f"{framework}, fine-tuned": first_run(framework, "selected") for framework in sorted(FIRST_RUNS)},
}
# Tables that claims may rest on, by the name that they have there.
CLAIMED = {
    "arms" if key == "arm_statistics" else key: made(key)
    for key in (
        *("runs", "test_accuracy", "arm_statistics", "pairs", "mcnemar", "learned", "baselines", "against_baselines"),
        *("parameter_ledger", "audit", "recipes", "recipe_starts", "recipe_differences", "recipe_interactions"),
        "learning_curve_means",
    )
}
CLAIM_TABLES = {
    **{f"{name}.tsv": workflow.source_path(f"../claims/{name}.tsv") for name in ("published_runs", "published_points")},
    **{f"{name}.tsv": file for name, file in CLAIMED.items() if file},
}
# What using a framework takes, from reviews to test predictions: its rules in order, and their scripts.
FRAMEWORK_STEPS = {name: frameworks.load(name).STEPS for name in frameworks.having("STEPS")}
DATA_JOBS = [
    *(f"binarize_texts/{part}" for part in PARTS),
    *(f"tokenize_texts/checkpoint/{split}" for split in ALL_SPLITS),
    "convert_tokenizer",
    "convert_checkpoint",
]
FIRST_TRAININGS = [f"finetune_{framework}/{arm}/seed{seed}" for framework, (arm, seed) in FIRST_RUNS.items()]
FRAMEWORK_BENCHMARKS = [
    *(path(f"<benchmarks>/{job}.tsv") for job in DATA_JOBS),
    *(
        path(f"<benchmarks>/{step}/{name}/seed{seed}.tsv")
        for name, arm in TRAINED.items()
        for step in (f"finetune_{arm.framework}", "select_checkpoint", f"evaluate_{arm.framework}")
        for seed in SEEDS
    ),
]
# A parameter that a study without subsets lacks, so that its tables are as they were.
SUBSET_SIZES = (
    {"subsets": {name: arm.get("n_train") for name, arm in config["finetuning"]["arms"].items()}} if SUBSETS else {}
)


# A rule whose inputs are products is a row in scripts/<room>/products/, and so are its outputs.
for room, row in generated_rules(config):

    rule:
        name:
            row.name
        input:
            **inputs(**row.inputs),
        output:
            **outputs(row.name),
        priority: row.priority
        conda:
            "../envs/report.yaml"
        params:
            **{name: value(config) for name, value in row.params.items()},
            # A job looks at the script's name when it runs, long after this loop.
            script=f"{room}/{row.name}.py",
        script:
            "../scripts/{params.script}"


rule aggregate_runs:
    input:
        **inputs(
            records="run_records",
            selected="run_selections",
            histories="run_histories",
            predictions="predictions",
            seals="seals",
            test_curves="run_test_curves",
            manifest="manifest",
        ),
    output:
        **outputs("aggregate_runs"),
    conda:
        "../envs/report.yaml"
    params:
        **SUBSET_SIZES,
        # Those whose runs have a curve, where not all have.
        **({} if len(TRAINED) == len(ARMS) else {"curved": list(TRAINED)}),
        study=config["study"],
    script:
        "../scripts/analysis/aggregate_runs.py"


if made("framework_steps"):

    # No part of what `make regenerate` makes again: like the parameter ledger it is read from files that only a study
    # that has run holds.
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
            # A function, as in `runs`.
            **inputs(runs="runs", protocol="protocol_diff"),
            benchmarks=lambda wildcards: FRAMEWORK_BENCHMARKS,
            logs=[f"<logs>/{job}.log" for job in (*DATA_JOBS, *FIRST_TRAININGS)],
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
            arms={framework: names_of(framework) for framework in FRAMEWORK_STEPS},
            stock={
                framework: framework_settings(config["finetuning"] | {"protocol": "published"}, framework)
                for framework in FRAMEWORK_STEPS
            },
        script:
            "../scripts/analysis/compare_frameworks.py"


rule compare_baselines:
    input:
        **inputs(runs="runs", predictions="predictions"),
        records=linear("<results>/finetuning/{arm}/seed0/run.json"),
        selected=linear("<results>/finetuning/{arm}/seed0/selected.json"),
        answers=linear("<results>/predictions/{arm}/seed0.tsv"),
        seals=linear("<results>/predictions/{arm}/seed0.json"),
    output:
        **outputs("compare_baselines"),
    conda:
        "../envs/report.yaml"
    params:
        run_keys=run_keys(config),
        names=list(LINEAR),
    script:
        "../scripts/analysis/compare_baselines.py"


if config["questions"]:

    rule answer_questions:
        input:
            **inputs(runs="runs", predictions="predictions", learned="learned"),
            answers=linear("<results>/predictions/{arm}/seed0.tsv"),
        output:
            **outputs("answer_questions"),
        conda:
            "../envs/report.yaml"
        params:
            run_keys=run_keys(config),
            names=list(LINEAR),
            questions=config["questions"],
            # What the start of the study wrote, on this machine.
            register=f"{RESULTS}/{REGISTER}",
            versions=[file_digest(measures.file(name)) for name in measures_asked(config["questions"])],
        script:
            "../scripts/analysis/answer_questions.py"


if learning_points(config["finetuning"]):

    rule tabulate_learning_curves:
        input:
            **inputs(runs="runs", predictions="predictions"),
            # It says how many updates the whole checkpoint had.
            pretraining=[f"<results>/{product('pretraining').path}"] if KEPT else [],
        output:
            **outputs("tabulate_learning_curves"),
        conda:
            "../envs/report.yaml"
        params:
            run_keys=run_keys(config),
            points=learning_points(config["finetuning"]),
        script:
            "../scripts/analysis/tabulate_learning_curves.py"


rule build_parameter_ledger:
    input:
        models=list(COUNTED.values()),
        foreign=[model_folder(name) for name in FOREIGN],
    output:
        **outputs("build_parameter_ledger"),
    conda:
        "../envs/report.yaml"
    params:
        names=list(COUNTED),
        configured={
            # Another's checkpoint brings a vocabulary of its own.
            **({"vocab_size": config["checkpoint"]["sentencepiece"]["vocab_size"]} if SOURCE == "pretrain" else {}),
            **{key: ARCHITECTURE[key] for key in ("width", "ffn_width", "layers", "max_positions")},
        },
        classes=class_names,
    script:
        "../scripts/analysis/build_parameter_ledger.py"


rule derive_parameters:
    input:
        ledger=made("parameter_ledger"),
        claims=[] if OWN_TEXTS else workflow.source_path("../claims/published.yaml"),
    output:
        **outputs("derive_parameters"),
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/analysis/derive_parameters.py"


rule check_claims:
    input:
        # What the lab's reports say is said of their reviews.
        published=[] if OWN_TEXTS else workflow.source_path("../claims/published.yaml"),
        reports=workflow.source_path("../claims/reports.tsv"),
        own=[workflow.source_path(os.path.join(ROOT, file)) for file in config["claims"]],
        tables=list(CLAIM_TABLES.values()),
        method=made("method"),
    output:
        **outputs("check_claims"),
    conda:
        "../envs/report.yaml"
    params:
        names=list(CLAIM_TABLES),
    script:
        "../scripts/analysis/check_claims.py"
