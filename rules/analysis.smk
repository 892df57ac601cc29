"""From finished runs to what they say: tables, statistics, parameter counts, claims, figures."""

from finetuning.lib.learning_curves import REVIEWS, learning_points
from finetuning.lib.recipes import compared_recipes, tried_recipes

# Whether the texts are a table of one's own, which the lab's reports say nothing of.
OWN_TEXTS = config["data"]["source"] == "table"
# Whose tensors are counted.
COUNTED = {
    **({"checkpoint": "<results>/checkpoint/model.pt"} if USES_CHECKPOINT else {}),
    **({"checkpoint for Hugging Face": "<results>/checkpoint/huggingface"} if "huggingface" in FIRST_RUNS else {}),
    **{f"{framework}, fine-tuned": first_run(framework, "selected") for framework in sorted(FIRST_RUNS)},
}
# The count by hand, of the checkpoint's model.
PARAMETER_TABLES = (
    {
        "derivation": "<results>/parameters/derivation.tsv",
        "symbols": "<results>/parameters/symbols.tsv",
    }
    if USES_CHECKPOINT
    else {}
)
PARAMETER_FIGURE = ["<results>/figures/parameters.svg"] if USES_CHECKPOINT else []
# Tables that claims may rest on, by the name that they have there.
CLAIM_TABLES = {
    "published_runs.tsv": workflow.source_path("../claims/published_runs.tsv"),
    "published_points.tsv": workflow.source_path("../claims/published_points.tsv"),
    "runs.tsv": "<results>/runs.tsv",
    "test_accuracy.tsv": "<results>/test_accuracy.tsv",
    "arms.tsv": "<results>/statistics/arms.tsv",
    "pairs.tsv": "<results>/statistics/pairs.tsv",
    "mcnemar.tsv": "<results>/statistics/mcnemar.tsv",
    "learned.tsv": "<results>/learned.tsv",
    "baselines.tsv": "<results>/baselines.tsv",
    "parameter_ledger.tsv": "<results>/parameter_ledger.tsv",
    "audit.tsv": "<results>/audit.tsv",
}
# What using a framework takes, from reviews to test predictions: its rules in order, and where their scripts lie.
FRAMEWORK_STEPS = {
    "fairseq": {
        "binarize_texts": "finetuning",
        "finetune_fairseq": "finetuning",
        "select_checkpoint": "finetuning",
        "evaluate_fairseq": "finetuning",
    },
    "huggingface": {
        "convert_tokenizer": "checkpoint",
        "convert_checkpoint": "checkpoint",
        "tokenize_texts": "finetuning",
        "finetune_huggingface": "finetuning",
        "select_checkpoint": "finetuning",
        "evaluate_huggingface": "finetuning",
    },
}
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
        for name, arm in ARMS.items()
        for step in (f"finetune_{arm.framework}", "select_checkpoint", f"evaluate_{arm.framework}")
        for seed in SEEDS
    ),
]
# Asked for where the study has both frameworks.
FRAMEWORK_TABLES = (
    {
        "steps": "<results>/frameworks/steps.tsv",
        "summary": "<results>/frameworks/summary.tsv",
        "defaults": "<results>/frameworks/defaults.tsv",
    }
    if LOGIT_PARITY
    else {}
)
# What `measure_errors` makes.
ERROR_TABLES = {
    "confusion": "<results>/errors/confusion.tsv",
    "calibration": "<results>/errors/calibration.tsv",
    "by_length": "<results>/errors/by_length.tsv",
    "agreement": "<results>/errors/agreement.tsv",
    "runs": "<results>/errors/runs.tsv",
    "counts": "<results>/errors/counts.tsv",
}
# What `measure_classes` makes.
CLASS_TABLES = {
    "by_class": "<results>/errors/by_class.tsv",
    "macro": "<results>/errors/macro.tsv",
    "confusion_arms": "<results>/errors/confusion_arms.tsv",
}
# All arms over training: as measured, and the highest so far.
MEASURES = ("accuracy", "highest_so_far")
# Asked for where a start has several recipes; differences and interactions where pretrained and random arms share
# several, the pairs of starts where others have a choice, too.
RECIPES = tried_recipes(config["finetuning"])
COMPARED_RECIPES = compared_recipes(RECIPES)
RECIPE_TABLES = {}
if RECIPES:
    RECIPE_TABLES |= {"recipes": "<results>/recipes.tsv", "recipe_runs": "<results>/recipes/runs.tsv"}
if len(RECIPES) > len(COMPARED_RECIPES):
    RECIPE_TABLES["recipe_starts"] = "<results>/recipes/starts.tsv"
if COMPARED_RECIPES:
    RECIPE_TABLES |= {
        "recipe_differences": "<results>/recipes/differences.tsv",
        "recipe_interactions": "<results>/recipes/interactions.tsv",
    }
RECIPE_FIGURE = ["<results>/figures/recipes.svg"] if COMPARED_RECIPES else []
CLAIM_TABLES |= {f"{name}.tsv": path for name, path in RECIPE_TABLES.items() if name != "recipe_runs"}
# Asked for where arms differ in how much they learn from.
LEARNING_POINTS = learning_points(config["finetuning"])
LEARNING_TABLES = (
    {
        "learning_curve_means": "<results>/learning_curves/means.tsv",
        "learning_curve_runs": "<results>/learning_curves/runs.tsv",
    }
    if LEARNING_POINTS
    else {}
)
if LEARNING_POINTS:
    CLAIM_TABLES["learning_curve_means.tsv"] = LEARNING_TABLES["learning_curve_means"]
# What the simple models reach, where a curve is of labelled reviews.
if any(point["curve"] == REVIEWS for point in LEARNING_POINTS):
    LEARNING_TABLES["learning_curve_baselines"] = "<results>/learning_curves/baselines.tsv"
LEARNING_FIGURE = ["<results>/figures/learning_curves.svg"] if LEARNING_POINTS else []
ERROR_FIGURES = ("confusion", "agreement", "calibration", "by_length")
# Of others' reviews the page leaves the words out, unless the study says otherwise.
SHOW_TEXTS = config["report"]["show_texts"]
if SHOW_TEXTS == "auto":
    SHOW_TEXTS = config["data"]["source"] == "embedded"


# A parameter that a study without subsets lacks, so that its tables are as they were.
SUBSET_SIZES = (
    {"subsets": {name: arm.get("n_train") for name, arm in config["finetuning"]["arms"].items()}} if SUBSETS else {}
)


rule aggregate_runs:
    input:
        records=runs("<run>/run.json"),
        selected=runs("<run>/selected.json"),
        histories=runs("<run>/history.tsv"),
        predictions=runs("<results>/predictions/{arm}/seed{seed}.tsv"),
        test_curves=branch(
            config["finetuning"]["evaluation"]["test_curves"],
            then=runs("<run>/test_curve.tsv"),
            otherwise=[],
        ),
        manifest="<results>/data/manifest.json",
    output:
        runs=shown("<results>/runs.tsv", "runs", "Sentiment", table="runs"),
        history=shown("<results>/history.tsv", "history", "Sentiment", table="history by epoch"),
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        **SUBSET_SIZES,
        study=config["study"],
    script:
        "../scripts/analysis/aggregate_runs.py"


rule count_errors:
    input:
        predictions=runs("<results>/predictions/{arm}/seed{seed}.tsv"),
    output:
        errors=shown("<results>/errors.tsv", "errors", "Sentiment", table="errors by review"),
    localrule: True
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/analysis/count_errors.py"


# Test reviews are read for their lengths, and for their words where the report may show them: nothing is chosen here.
rule measure_errors:
    input:
        predictions=runs("<results>/predictions/{arm}/seed{seed}.tsv"),
        reviews="<results>/data/test.review",
        manifest="<results>/data/manifest.json",
    output:
        **ERROR_TABLES,
        hard="<results>/errors/hardest.jsonl",
        svgs=[
            shown(
                f"<results>/figures/errors/{name}.svg", "errors", "Sentiment", "Errors", figure=name.replace("_", " ")
            )
            for name in ERROR_FIGURES
        ],
        pngs=[f"<results>/figures/errors/{name}.png" for name in ERROR_FIGURES],
    # Others wait for it; figures do not.
    priority: 1
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        run_keys=[(arm, str(seed)) for arm in ARMS for seed in SEEDS],
        show_texts=SHOW_TEXTS,
        colours=config["report"]["colours"],
    script:
        "../scripts/analysis/measure_errors.py"


rule measure_classes:
    input:
        confusion=ERROR_TABLES["confusion"],
    output:
        by_label=shown(CLASS_TABLES["by_class"], "classes", "Sentiment", table="measures by class"),
        macro=shown(CLASS_TABLES["macro"], "classes", "Sentiment", table="means over classes"),
        confusion_arms=shown(CLASS_TABLES["confusion_arms"], "classes", "Sentiment", table="confusion by arm"),
    localrule: True
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/analysis/measure_classes.py"


rule tabulate_test_accuracy:
    input:
        runs="<results>/runs.tsv",
    output:
        tsv=shown("<results>/test_accuracy.tsv", "test_accuracy", "Sentiment", table="test accuracy by arm"),
        markdown="<results>/test_accuracy.md",
        latex="<results>/test_accuracy.tex",
    localrule: True
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/analysis/tabulate_test_accuracy.py"


rule plot_accuracy_by_epoch:
    input:
        runs="<results>/runs.tsv",
        history="<results>/history.tsv",
        manifest="<results>/data/manifest.json",
    output:
        svgs=[
            shown(
                f"<results>/figures/accuracy_by_epoch/{arm}.svg",
                "accuracy_by_epoch",
                "Sentiment",
                "Accuracy by epoch",
                arm=arm,
            )
            for arm in ARMS
        ],
        pngs=[f"<results>/figures/accuracy_by_epoch/{arm}.png" for arm in ARMS],
        tables=[f"<results>/figures/accuracy_by_epoch/{arm}.tsv" for arm in ARMS],
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        arms=list(ARMS),
        colours=config["report"]["colours"],
    script:
        "../scripts/analysis/plot_accuracy_by_epoch.py"


rule plot_arms_by_epoch:
    input:
        runs="<results>/runs.tsv",
        history="<results>/history.tsv",
        manifest="<results>/data/manifest.json",
    output:
        svgs=[
            shown(
                f"<results>/figures/arms_by_epoch/{measure}.svg",
                "arms_by_epoch",
                "Sentiment",
                "Arms compared",
                figure=f"all arms over training: {measure}",
            )
            for measure in MEASURES
        ],
        pngs=[f"<results>/figures/arms_by_epoch/{measure}.png" for measure in MEASURES],
        tables=[f"<results>/figures/arms_by_epoch/{measure}.tsv" for measure in MEASURES],
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        measures=list(MEASURES),
        colours=config["report"]["colours"],
    script:
        "../scripts/analysis/plot_arms_by_epoch.py"


rule plot_train_and_valid:
    input:
        runs="<results>/runs.tsv",
        history="<results>/history.tsv",
        manifest="<results>/data/manifest.json",
    output:
        svgs=[
            shown(
                f"<results>/figures/train_and_valid/{arm}.svg",
                "train_and_valid",
                "Sentiment",
                "Training and validation",
                arm=arm,
            )
            for arm in ARMS
        ],
        pngs=[f"<results>/figures/train_and_valid/{arm}.png" for arm in ARMS],
        tables=[f"<results>/figures/train_and_valid/{arm}.tsv" for arm in ARMS],
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        arms=list(ARMS),
        colours=config["report"]["colours"],
    script:
        "../scripts/analysis/plot_train_and_valid.py"


rule measure_overfitting:
    input:
        runs="<results>/runs.tsv",
        history="<results>/history.tsv",
    output:
        by_run=shown(
            "<results>/overfitting/runs.tsv", "overfitting_runs", "Sentiment", table="gap to validation by run"
        ),
        arms=shown("<results>/overfitting/arms.tsv", "overfitting_arms", "Sentiment", table="gap to validation by arm"),
    localrule: True
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/analysis/measure_overfitting.py"


rule plot_arms:
    input:
        runs="<results>/runs.tsv",
        manifest="<results>/data/manifest.json",
    output:
        svg=shown("<results>/figures/arms.svg", "arms", "Sentiment", "Arms compared", figure="test accuracy by arm"),
        png="<results>/figures/arms.png",
        data="<results>/figures/arms.tsv",
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        colours=config["report"]["colours"],
    script:
        "../scripts/analysis/plot_arms.py"


rule build_protocol_diff:
    input:
        records=runs("<run>/run.json"),
    output:
        table=shown("<results>/protocol_diff.tsv", "protocol_diff", "Trust", table="protocol diff"),
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        mode=config["finetuning"]["protocol"],
        arms=config["finetuning"]["arms"],
    script:
        "../scripts/analysis/build_protocol_diff.py"


if FRAMEWORK_TABLES:

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
            benchmarks=lambda wildcards: FRAMEWORK_BENCHMARKS,
            runs="<results>/runs.tsv",
            logs=[f"<logs>/{job}.log" for job in (*DATA_JOBS, *FIRST_TRAININGS)],
            protocol="<results>/protocol_diff.tsv",
            fairseq_binarize_texts=expand("<results>/finetuning/{kind}/{part}", kind=["data-bin", "pieces"], part=PARTS),
            huggingface_convert_tokenizer="<results>/checkpoint/tokenizer",
            huggingface_convert_checkpoint="<results>/checkpoint/huggingface",
            huggingface_tokenize_texts=expand("<results>/finetuning/token-ids/checkpoint/{split}.npz", split=SPLITS),
        output:
            table=shown(FRAMEWORK_TABLES["steps"], "framework_steps", "Trust", table="both frameworks in use"),
            summary=FRAMEWORK_TABLES["summary"],
            defaults=shown(
                FRAMEWORK_TABLES["defaults"], "framework_defaults", "Trust", table="the frameworks' defaults"
            ),
        localrule: True
        conda:
            "../envs/report.yaml"
        params:
            steps={
                framework: {rule: f"{room}/{rule}.py" for rule, room in rules.items()}
                for framework, rules in FRAMEWORK_STEPS.items()
            },
            arms={framework: names_of(framework) for framework in FRAMEWORK_STEPS},
            stock={
                framework: framework_settings(config["finetuning"] | {"protocol": "published"}, framework)
                for framework in FRAMEWORK_STEPS
            },
        script:
            "../scripts/analysis/compare_frameworks.py"


rule compute_statistics:
    input:
        runs="<results>/runs.tsv",
        predictions=runs("<results>/predictions/{arm}/seed{seed}.tsv"),
        manifest="<results>/data/manifest.json",
    output:
        arms=shown("<results>/statistics/arms.tsv", "arm_statistics", "Trust", table="arms with intervals"),
        pairs=shown("<results>/statistics/pairs.tsv", "pairs", "Trust", table="pairs of arms, with verdicts"),
        mcnemar=shown("<results>/statistics/mcnemar.tsv", "mcnemar", "Trust", table="McNemar's test"),
        method="<results>/statistics/method.json",
        learned=shown("<results>/learned.tsv", "learned", "Trust", table="which runs learnt"),
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        run_keys=[(arm, str(seed)) for arm in ARMS for seed in SEEDS],
    script:
        "../scripts/analysis/compute_statistics.py"


if RECIPES:

    # Chosen on validation; the accuracies on test are for what is said of the choice.
    rule choose_recipes:
        input:
            runs="<results>/runs.tsv",
        output:
            table=shown(RECIPE_TABLES["recipes"], "recipes", "Sentiment", table="recipes, chosen on validation"),
            seeds=RECIPE_TABLES["recipe_runs"],
        localrule: True
        conda:
            "../envs/report.yaml"
        params:
            recipes=RECIPES,
        script:
            "../scripts/analysis/choose_recipes.py"


if "recipe_starts" in RECIPE_TABLES:

    rule compare_starts:
        input:
            runs="<results>/runs.tsv",
            predictions=runs("<results>/predictions/{arm}/seed{seed}.tsv"),
            table=RECIPE_TABLES["recipes"],
            learned="<results>/learned.tsv",
            manifest="<results>/data/manifest.json",
        output:
            pairs=shown(
                RECIPE_TABLES["recipe_starts"], "recipes", "Sentiment", table="starts, each with its own recipe"
            ),
        localrule: True
        conda:
            "../envs/report.yaml"
        params:
            run_keys=[(arm, str(seed)) for arm in ARMS for seed in SEEDS],
        script:
            "../scripts/analysis/compare_starts.py"


if COMPARED_RECIPES:

    rule compare_recipes:
        input:
            runs="<results>/runs.tsv",
            predictions=runs("<results>/predictions/{arm}/seed{seed}.tsv"),
            table=RECIPE_TABLES["recipes"],
        output:
            differing=shown(RECIPE_TABLES["recipe_differences"], "recipes", "Sentiment", table="differences by recipe"),
            interacting=RECIPE_TABLES["recipe_interactions"],
        localrule: True
        conda:
            "../envs/report.yaml"
        params:
            run_keys=[(arm, str(seed)) for arm in ARMS for seed in SEEDS],
            recipes=COMPARED_RECIPES,
        script:
            "../scripts/analysis/compare_recipes.py"

    rule plot_recipes:
        input:
            table=RECIPE_TABLES["recipes"],
            differing=RECIPE_TABLES["recipe_differences"],
            seeds=RECIPE_TABLES["recipe_runs"],
            manifest="<results>/data/manifest.json",
        output:
            svg=shown(RECIPE_FIGURE[0], "recipes", "Sentiment", "Arms compared", figure="accuracy by learning rate"),
            png="<results>/figures/recipes.png",
        localrule: True
        conda:
            "../envs/report.yaml"
        script:
            "../scripts/analysis/plot_recipes.py"


if LEARNING_POINTS:

    rule tabulate_learning_curves:
        input:
            runs="<results>/runs.tsv",
            predictions=runs("<results>/predictions/{arm}/seed{seed}.tsv"),
            # It says how many updates the whole checkpoint had.
            pretraining=["<results>/checkpoint/pretraining.tsv"] if KEPT else [],
        output:
            means=shown(
                LEARNING_TABLES["learning_curve_means"], "learning_curves", "Sentiment", table="learning curves"
            ),
            seeds=LEARNING_TABLES["learning_curve_runs"],
        localrule: True
        conda:
            "../envs/report.yaml"
        params:
            run_keys=[(arm, str(seed)) for arm in ARMS for seed in SEEDS],
            points=LEARNING_POINTS,
        script:
            "../scripts/analysis/tabulate_learning_curves.py"

    rule plot_learning_curves:
        input:
            means=LEARNING_TABLES["learning_curve_means"],
            seeds=LEARNING_TABLES["learning_curve_runs"],
            whole="<results>/baselines.tsv",
            simple=[table for name, table in LEARNING_TABLES.items() if name == "learning_curve_baselines"],
            manifest="<results>/data/manifest.json",
        output:
            svg=shown(LEARNING_FIGURE[0], "learning_curves", "Sentiment", "Arms compared", figure="learning curves"),
            png="<results>/figures/learning_curves.png",
        localrule: True
        conda:
            "../envs/report.yaml"
        script:
            "../scripts/analysis/plot_learning_curves.py"


rule build_parameter_ledger:
    input:
        models=list(COUNTED.values()),
        foreign=[model_folder(name) for name in FOREIGN],
    output:
        ledger=shown("<results>/parameter_ledger.tsv", "parameter_ledger", "Trust", table="parameter ledger"),
    localrule: True
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
        ledger="<results>/parameter_ledger.tsv",
        claims=[] if OWN_TEXTS else workflow.source_path("../claims/published.yaml"),
    output:
        derivation=shown("<results>/parameters/derivation.tsv", "derivation", "Trust", table="parameters, step by step"),
        symbols=shown("<results>/parameters/symbols.tsv", "symbols", "Trust", table="symbols of the parameter count"),
    localrule: True
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/analysis/derive_parameters.py"


rule plot_parameters:
    input:
        derivation="<results>/parameters/derivation.tsv",
    output:
        svg=shown(
            "<results>/figures/parameters.svg", "parameters", "Trust", "Figures", figure="where the parameters lie"
        ),
        png="<results>/figures/parameters.png",
    localrule: True
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/analysis/plot_parameters.py"


rule check_claims:
    input:
        # What the lab's reports say is said of their reviews.
        published=[] if OWN_TEXTS else workflow.source_path("../claims/published.yaml"),
        reports=workflow.source_path("../claims/reports.tsv"),
        own=[workflow.source_path(os.path.join(ROOT, file)) for file in config["claims"]],
        tables=list(CLAIM_TABLES.values()),
        method="<results>/statistics/method.json",
    output:
        claims=shown("<results>/claims.tsv", "claims", "Trust", table="claims"),
        by_report=shown("<results>/claims_by_report.tsv", "claims", "Trust", table="claims by report"),
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        names=list(CLAIM_TABLES),
    script:
        "../scripts/analysis/check_claims.py"
