"""Hugging Face as the lab used it: texts written as JSON, then the recipe of the `run_glue` example."""


rule write_json_texts:
    input:
        reviews="<results>/data/{split}.review",
        labels="<results>/data/{split}.label",
    output:
        texts="<results>/finetuning/json/{split}.json",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        classes=class_names,
    script:
        "../../scripts/frameworks/run_glue/write_json_texts.py"


rule finetune_run_glue:
    input:
        train=RUN_FILES.of_training_split("<results>/finetuning/json/{split}.json"),
        valid=RUN_FILES.of_valid("<results>/finetuning/json/{split}.json"),
        checkpoint=RUN_FILES.start_folder,
    output:
        checkpoints=run_checkpoints("<results>/finetuning/{arm}/seed{seed}/checkpoints"),
        history="<results>/finetuning/{arm}/seed{seed}/history.tsv",
        run="<results>/finetuning/{arm}/seed{seed}/run.json",
        weights="<results>/finetuning/{arm}/seed{seed}/weights.json",
        tensorboard=directory("<results>/finetuning/{arm}/seed{seed}/tensorboard"),
        recipe_records=directory("<results>/finetuning/{arm}/seed{seed}/recipe"),
    wildcard_constraints:
        arm=RUN_FILES.of_framework("run_glue"),
    conda:
        "../../envs/huggingface.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(3500),
        runtime=grow("4h"),
    params:
        facts=RUN_FILES.run_facts,
        classes=class_names,
        settings=lambda wildcards: arm_settings(FINETUNING, wildcards.arm),
        states=state("finetune_run_glue/{arm}/seed{seed}"),
    script:
        "../../scripts/frameworks/run_glue/train.py"


rule evaluate_run_glue:
    input:
        selected="<run>/selected.json",
        checkpoints="<run>/selected",
        train=RUN_FILES.of_training_split("<results>/finetuning/json/{split}.json"),
        valid=RUN_FILES.of_valid("<results>/finetuning/json/{split}.json"),
        test="<results>/finetuning/json/test.json",
        tokenizer=RUN_FILES.start_folder,
        # They come from the same training, and are no reason to evaluate again.
        record=ancient("<run>/run.json"),
        history=ancient("<run>/history.tsv"),
    output:
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
        seal="<results>/predictions/{arm}/seed{seed}.json",
    wildcard_constraints:
        arm=RUN_FILES.of_framework("run_glue"),
    conda:
        "../../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("30m"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../../scripts/frameworks/run_glue/score.py"


rule test_curve_run_glue:
    input:
        history="<run>/history.tsv",
        checkpoints="<run>/checkpoints",
        selected="<run>/selected.json",
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
        record=ancient("<run>/run.json"),
        train=RUN_FILES.of_training_split("<results>/finetuning/json/{split}.json"),
        valid=RUN_FILES.of_valid("<results>/finetuning/json/{split}.json"),
        test="<results>/finetuning/json/test.json",
        tokenizer=RUN_FILES.start_folder,
    output:
        curve="<results>/finetuning/{arm}/seed{seed}/test_curve.tsv",
        tensorboard=directory("<results>/finetuning/{arm}/seed{seed}/tensorboard-test"),
    wildcard_constraints:
        arm=RUN_FILES.of_framework("run_glue"),
    conda:
        "../../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("1h"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../../scripts/frameworks/run_glue/test_curve.py"
