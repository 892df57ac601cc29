"""The simple models (`finetuning.baselines`): arms of one run each, which are no arms of `finetuning.arms`."""

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
