"""The runs of Hugging Face's Trainer."""


rule finetune_huggingface:
    input:
        train=RUN_FILES.training_ids,
        valid=RUN_FILES.token_ids("valid"),
        # This is not read, but no run may start on token ids that differ from fairseq's.
        parity=lambda wildcards: (
            parity(RUN_FILES.training_split(wildcards), RUN_FILES.drawn("valid", wildcards))
            if RUN_FILES.arms[wildcards.arm].model == CHECKPOINT
            else []
        ),
        checkpoint=RUN_FILES.start_folder,
    output:
        checkpoints=run_checkpoints("<results>/finetuning/{arm}/seed{seed}/checkpoints"),
        history="<results>/finetuning/{arm}/seed{seed}/history.tsv",
        run="<results>/finetuning/{arm}/seed{seed}/run.json",
        weights="<results>/finetuning/{arm}/seed{seed}/weights.json",
        tensorboard=directory("<results>/finetuning/{arm}/seed{seed}/tensorboard"),
    wildcard_constraints:
        arm=RUN_FILES.of_framework("huggingface"),
    conda:
        "../../envs/huggingface.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(3500),
        runtime=grow("4h"),
    params:
        **TASK,
        facts=RUN_FILES.run_facts,
        classes=class_names,
        settings=lambda wildcards: arm_settings(FINETUNING, wildcards.arm),
        states=state("finetune_huggingface/{arm}/seed{seed}"),
        # This is also a function of `threads`: see `unwatched`.
        save_every=lambda wildcards, threads: arm_training(FINETUNING, wildcards.arm)["save_every"],
    script:
        "../../scripts/frameworks/huggingface/train.py"


rule evaluate_huggingface:
    input:
        selected="<run>/selected.json",
        checkpoints="<run>/selected",
        token_ids=RUN_FILES.token_ids("test"),
        parity=lambda wildcards: parity("test") if RUN_FILES.arms[wildcards.arm].model == CHECKPOINT else [],
        # They come from the same training, and are no reason to evaluate again.
        record=ancient("<run>/run.json"),
        history=ancient("<run>/history.tsv"),
    output:
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
        seal="<results>/predictions/{arm}/seed{seed}.json",
    wildcard_constraints:
        arm=RUN_FILES.of_framework("huggingface"),
    conda:
        "../../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("30m"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../../scripts/frameworks/huggingface/score.py"


rule test_curve_huggingface:
    input:
        history="<run>/history.tsv",
        checkpoints="<run>/checkpoints",
        selected="<run>/selected.json",
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
        token_ids=RUN_FILES.token_ids("test"),
        parity=lambda wildcards: parity("test") if RUN_FILES.arms[wildcards.arm].model == CHECKPOINT else [],
    output:
        curve="<results>/finetuning/{arm}/seed{seed}/test_curve.tsv",
        tensorboard=directory("<results>/finetuning/{arm}/seed{seed}/tensorboard-test"),
    wildcard_constraints:
        arm=RUN_FILES.of_framework("huggingface"),
    conda:
        "../../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("1h"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../../scripts/frameworks/huggingface/test_curve.py"
