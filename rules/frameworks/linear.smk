"""The simple models (`finetuning.baselines`), one run each and no arms of `finetuning.arms`; then arms on features."""

# Their training splits.
LINEAR_SPLITS = list(dict.fromkeys(arm["split"] for arm in LINEAR.values()))


# There is no wildcard: one job fits all simple models.
rule finetune_linear:
    input:
        train=expand("<results>/data/{split}.review", split=LINEAR_SPLITS),
        train_labels=expand("<results>/data/{split}.label", split=LINEAR_SPLITS),
        valid="<results>/data/valid.review",
        valid_labels="<results>/data/valid.label",
    output:
        records=linear("<results>/finetuning/{arm}/seed0/run.json"),
        selected=linear("<results>/finetuning/{arm}/seed0/selected.json"),
    log:
        "<logs>/finetune_linear.log",
    benchmark:
        "<benchmarks>/finetune_linear.tsv"
    conda:
        "../../envs/data.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("10m"),
    params:
        **LED,
        **TASK,
        arms=LINEAR,
        splits=LINEAR_SPLITS,
        classes=class_names,
    script:
        "../../scripts/frameworks/linear/train.py"


rule evaluate_linear:
    input:
        train=expand("<results>/data/{split}.review", split=LINEAR_SPLITS),
        train_labels=expand("<results>/data/{split}.label", split=LINEAR_SPLITS),
        records=ancient(linear("<results>/finetuning/{arm}/seed0/run.json")),
        selected=linear("<results>/finetuning/{arm}/seed0/selected.json"),
        reviews=made("test_reviews"),
        labels="<results>/data/test.label",
    output:
        predictions=linear("<results>/predictions/{arm}/seed0.tsv"),
        seals=linear("<results>/predictions/{arm}/seed0.json"),
    log:
        "<logs>/evaluate_linear.log",
    benchmark:
        "<benchmarks>/evaluate_linear.tsv"
    conda:
        "../../envs/data.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("10m"),
    params:
        **TASK,
        arms=LINEAR,
        splits=LINEAR_SPLITS,
        classes=class_names,
    script:
        "../../scripts/frameworks/linear/score.py"


# Features are those of a model and not of an arm: several arms may share them.
rule extract_features:
    input:
        checkpoint=lambda wildcards: RUN_FILES.model_folder(wildcards.model),
        token_ids="<results>/finetuning/token-ids/{model}/{split}.npz",
    output:
        table="<results>/finetuning/features/{model}/{features}/{split}.npy",
    wildcard_constraints:
        features="mean|first",
    conda:
        "../../envs/huggingface.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(3500),
        runtime=grow("4h"),
    script:
        "../../scripts/frameworks/linear/extract_features.py"


if FURTHER:

    use rule extract_features as extract_features_again with:
        input:
            checkpoint="<results>/checkpoint/seed{seed}/huggingface",
            token_ids=f"<results>/finetuning/token-ids/{CHECKPOINT}/{{split}}.npz",
        output:
            table=f"<results>/finetuning/features/{CHECKPOINT}/seed{{seed}}/{{features}}/{{split}}.npy",


rule fit_probe:
    input:
        train=lambda wildcards: RUN_FILES.features(wildcards, RUN_FILES.training_split(wildcards)),
        train_labels=RUN_FILES.of_training_split("<results>/data/{split}.label"),
        valid=lambda wildcards: RUN_FILES.features(wildcards, RUN_FILES.drawn("valid", wildcards)),
        valid_labels=RUN_FILES.of_valid("<results>/data/{split}.label"),
    output:
        model="<results>/finetuning/{arm}/seed{seed}/probe.npz",
        history="<results>/finetuning/{arm}/seed{seed}/history.tsv",
        run="<results>/finetuning/{arm}/seed{seed}/run.json",
        selected="<results>/finetuning/{arm}/seed{seed}/selected.json",
    log:
        "<logs>/finetune_linear/{arm}/seed{seed}.log",
    benchmark:
        "<benchmarks>/finetune_linear/{arm}/seed{seed}.tsv"
    wildcard_constraints:
        arm=RUN_FILES.of_framework("linear"),
    conda:
        "../../envs/data.yaml"
    resources:
        mem_mb=grow(3500),
        runtime=grow("2h"),
    params:
        **LED,
        facts=RUN_FILES.run_facts,
        classes=class_names,
        settings=lambda wildcards: arm_settings(config["finetuning"], wildcards.arm),
    script:
        "../../scripts/frameworks/linear/fit_probe.py"


rule score_probe:
    input:
        model="<run>/probe.npz",
        features=lambda wildcards: RUN_FILES.features(wildcards, "test"),
    output:
        probabilities=temp("<results>/finetuning/{arm}/seed{seed}/test.npy"),
    wildcard_constraints:
        arm=RUN_FILES.of_framework("linear"),
    conda:
        "../../envs/data.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("10m"),
    script:
        "../../scripts/frameworks/linear/score_probe.py"
