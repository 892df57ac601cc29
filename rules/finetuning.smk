"""Fine-tuning: the same token ids for both frameworks, one run per arm and seed, its best epoch, its test score."""

from finetuning.lib.protocol import arm_settings, arm_training, framework_settings

# Training sees `train-valid` only; the test reviews are a folder of their own.
PARTS = {"train-valid": ["train", "valid"], "test": ["test"]}
PARTS |= {f"train-{n}-valid": [f"train-{n}", "valid"] for n in SUBSETS}
# The first part of several that hold a split.
PART_OF = {split: part for part, splits in reversed(PARTS.items()) for split in splits}
# One run of each framework stands for it where weights and logits are compared: the first arm's first seed.
FIRST_RUNS = {arm.framework: (name, SEEDS[0]) for name, arm in reversed(ARMS.items()) if arm.model == CHECKPOINT}
# What arms start from, by name: the models, and the checkpoint at earlier updates.
PROVED = {model: model_folder(model) for model in STARTS} | {
    f"{CHECKPOINT} at update {update}": f"<results>/checkpoint/kept/update{update}/huggingface" for update in KEPT
}
# Asked for where the study has both frameworks.
LOGIT_PARITY = ["<results>/logit_parity.tsv"] if len(FIRST_RUNS) == 2 else []


rule binarize_texts:
    input:
        reviews=of_part("<results>/data/{split}.review"),
        labels=of_part("<results>/data/{split}.label"),
        model="<results>/checkpoint/sentencepiece.bpe.model",
        dictionary="<results>/checkpoint/dict.txt",
    output:
        folder=directory("<results>/finetuning/data-bin/{part}"),
        pieces=directory("<results>/finetuning/pieces/{part}"),
    conda:
        "../envs/fairseq.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("20m"),
    params:
        classes=class_names,
        # As fairseq calls them: a subset is its `train`.
        splits=lambda wildcards: [split.partition("-")[0] for split in PARTS[wildcards.part]],
        max_positions=ARCHITECTURE["max_positions"],
    script:
        "../scripts/finetuning/binarize_texts.py"


rule take_model:
    input:
        files=model_files,
    output:
        folder=directory("<results>/finetuning/models/{model}"),
    conda:
        "../envs/huggingface.yaml"
    resources:
        mem_mb=grow(4000),
        runtime=grow("30m"),
    params:
        name="{model}",
    script:
        "../scripts/finetuning/take_model.py"


rule tokenize_texts:
    input:
        reviews="<results>/data/{split}.review",
        labels="<results>/data/{split}.label",
        tokenizer=tokenizer_of,
    output:
        token_ids="<results>/finetuning/token-ids/{model}/{split}.npz",
    conda:
        "../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("20m"),
    params:
        classes=class_names,
        max_positions=lambda wildcards: ARCHITECTURE["max_positions"] if wildcards.model == CHECKPOINT else None,
    script:
        "../scripts/finetuning/tokenize_texts.py"


# For the audit: token ids are cut to the model's length, and a text's whole length is asked for.
rule measure_tokens:
    input:
        reviews=expand("<results>/data/{split}.review", split=SPLITS),
        unlabelled="<results>/data/unlabelled.review",
        folder="<results>/finetuning/models/{model}",
    output:
        lengths="<results>/finetuning/token-ids/{model}/lengths.json",
    conda:
        "../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("20m"),
    script:
        "../scripts/finetuning/measure_tokens.py"


# A rule of its own because it reads fairseq's data with fairseq, whose environment is another.
rule compare_token_ids:
    input:
        token_ids="<results>/finetuning/token-ids/checkpoint/{split}.npz",
        data=lambda wildcards: f"<results>/finetuning/data-bin/{PART_OF[wildcards.split]}",
    output:
        parity="<results>/finetuning/token-ids/checkpoint/{split}.parity.json",
    conda:
        "../envs/fairseq.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("20m"),
    script:
        "../scripts/finetuning/compare_token_ids.py"


# Outputs of rules for one framework are spelled out: Snakemake constrains no wildcard inside `<run>`.
rule finetune_fairseq:
    input:
        unpack(starting_checkpoint),
        data=lambda wildcards: path(f"<results>/finetuning/data-bin/{training_split(wildcards.arm)}-valid"),
    output:
        checkpoints=run_checkpoints("<results>/finetuning/{arm}/seed{seed}/checkpoints"),
        history="<results>/finetuning/{arm}/seed{seed}/history.tsv",
        run="<results>/finetuning/{arm}/seed{seed}/run.json",
        weights="<results>/finetuning/{arm}/seed{seed}/weights.json",
        tensorboard=directory("<results>/finetuning/{arm}/seed{seed}/tensorboard"),
    wildcard_constraints:
        arm=of_framework("fairseq"),
    conda:
        "../envs/fairseq.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(3500),
        runtime=grow("4h"),
    params:
        facts=facts_of_arm,
        architecture=ARCHITECTURE,
        settings=lambda wildcards: arm_settings(config["finetuning"], wildcards.arm),
        states=state("finetune_fairseq/{arm}/seed{seed}"),
        # A function of `threads`, too: see `unwatched`.
        save_every=lambda wildcards, threads: arm_training(config["finetuning"], wildcards.arm)["save_every"],
    script:
        "../scripts/finetuning/finetune_fairseq.py"


rule finetune_huggingface:
    input:
        train=training_ids,
        valid=token_ids("valid"),
        # Not read: no run starts on token ids that differ from fairseq's.
        parity=lambda wildcards: (
            parity(training_split(wildcards.arm), "valid") if ARMS[wildcards.arm].model == CHECKPOINT else []
        ),
        checkpoint=lambda wildcards: start_folder(wildcards.arm),
    output:
        checkpoints=run_checkpoints("<results>/finetuning/{arm}/seed{seed}/checkpoints"),
        history="<results>/finetuning/{arm}/seed{seed}/history.tsv",
        run="<results>/finetuning/{arm}/seed{seed}/run.json",
        weights="<results>/finetuning/{arm}/seed{seed}/weights.json",
        tensorboard=directory("<results>/finetuning/{arm}/seed{seed}/tensorboard"),
    wildcard_constraints:
        arm=of_framework("huggingface"),
    conda:
        "../envs/huggingface.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(3500),
        runtime=grow("4h"),
    params:
        facts=facts_of_arm,
        classes=class_names,
        settings=lambda wildcards: arm_settings(config["finetuning"], wildcards.arm),
        states=state("finetune_huggingface/{arm}/seed{seed}"),
        # A function of `threads`, too: see `unwatched`.
        save_every=lambda wildcards, threads: arm_training(config["finetuning"], wildcards.arm)["save_every"],
    script:
        "../scripts/finetuning/finetune_huggingface.py"


rule select_checkpoint:
    input:
        history="<run>/history.tsv",
        checkpoints="<run>/checkpoints",
    output:
        weights=directory("<run>/selected"),
        selected="<run>/selected.json",
    conda:
        "../envs/data.yaml"
    params:
        select_by=config["finetuning"]["select_by"],
    script:
        "../scripts/finetuning/select_checkpoint.py"


rule evaluate_fairseq:
    input:
        data="<results>/finetuning/data-bin/test",
        checkpoints="<run>/selected",
        selected="<run>/selected.json",
    output:
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
    wildcard_constraints:
        arm=of_framework("fairseq"),
    conda:
        "../envs/fairseq.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("30m"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../scripts/finetuning/evaluate_fairseq.py"


rule evaluate_huggingface:
    input:
        selected="<run>/selected.json",
        checkpoints="<run>/selected",
        token_ids=token_ids("test"),
        parity=lambda wildcards: parity("test") if ARMS[wildcards.arm].model == CHECKPOINT else [],
    output:
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
    wildcard_constraints:
        arm=of_framework("huggingface"),
    conda:
        "../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("30m"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../scripts/finetuning/evaluate_huggingface.py"


rule test_curve_fairseq:
    input:
        data="<results>/finetuning/data-bin/test",
        checkpoints="<run>/checkpoints",
        history="<run>/history.tsv",
        selected="<run>/selected.json",
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
    output:
        curve="<results>/finetuning/{arm}/seed{seed}/test_curve.tsv",
    wildcard_constraints:
        arm=of_framework("fairseq"),
    conda:
        "../envs/fairseq.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("1h"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../scripts/finetuning/test_curve_fairseq.py"


rule test_curve_huggingface:
    input:
        history="<run>/history.tsv",
        checkpoints="<run>/checkpoints",
        selected="<run>/selected.json",
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
        token_ids=token_ids("test"),
        parity=lambda wildcards: parity("test") if ARMS[wildcards.arm].model == CHECKPOINT else [],
    output:
        curve="<results>/finetuning/{arm}/seed{seed}/test_curve.tsv",
    wildcard_constraints:
        arm=of_framework("huggingface"),
    conda:
        "../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("1h"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../scripts/finetuning/test_curve_huggingface.py"


rule prove_weights:
    input:
        proofs=runs("<run>/weights.json"),
        converted=list(PROVED.values()),
    output:
        table=shown("<results>/weights.tsv", "weights", "Trust", table="proof of weights"),
    localrule: True
    conda:
        "../envs/data.yaml"
    params:
        **(
            {"updates": {name: arm.get("at_update") for name, arm in config["finetuning"]["arms"].items()}}
            if KEPT
            else {}
        ),
        models=list(PROVED),
        arms={name: list(arm) for name, arm in ARMS.items()},
    script:
        "../scripts/finetuning/prove_weights.py"


if LOGIT_PARITY:
    COMPARED = {
        f"{framework}{suffix}": first_run(framework, file)
        for framework in FIRST_RUNS
        for suffix, file in (("", "selected"), ("_selected", "selected.json"))
    }

    rule score_logits_fairseq:
        input:
            **COMPARED,
            checkpoint="<results>/checkpoint/model.pt",
            data="<results>/finetuning/data-bin/train-valid",
        output:
            logits="<results>/finetuning/logits/fairseq.npz",
        conda:
            "../envs/fairseq.yaml"
        resources:
            mem_mb=grow(2000),
            runtime=grow("30m"),
        params:
            batch_size=config["finetuning"]["evaluation"]["batch_size"],
        script:
            "../scripts/finetuning/score_logits_fairseq.py"

    rule compare_logits:
        input:
            **COMPARED,
            logits="<results>/finetuning/logits/fairseq.npz",
            folder="<results>/checkpoint/huggingface",
            token_ids="<results>/finetuning/token-ids/checkpoint/valid.npz",
        output:
            table=shown(LOGIT_PARITY[0], "logit_parity", "Trust", table="logits of both frameworks"),
        conda:
            "../envs/huggingface.yaml"
        resources:
            mem_mb=grow(2000),
            runtime=grow("30m"),
        params:
            batch_size=config["finetuning"]["evaluation"]["batch_size"],
        script:
            "../scripts/finetuning/compare_logits.py"


rule export_model:
    input:
        checkpoints="<run>/selected",
        selected="<run>/selected.json",
        run="<run>/run.json",
        converted=lambda wildcards: start_folder(wildcards.arm),
        runs="<results>/runs.tsv",
        test_accuracy="<results>/test_accuracy.tsv",
        arms="<results>/statistics/arms.tsv",
        manifest="<results>/data/manifest.json",
        # The exported model has to give the run's predictions.
        reviews="<results>/data/test.review",
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
        template=workflow.source_path("../report/model_card.md.j2"),
    output:
        folder=directory("<results>/models/{arm}-seed{seed}"),
    conda:
        "../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("30m"),
    params:
        facts=facts_of_arm,
        classes=class_names,
        study=config["study"],
        start=start_of_arm,
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../scripts/finetuning/export_model.py"


# `snakemake export_models`; not part of `all`.
rule export_models:
    input:
        runs("<results>/models/{arm}-seed{seed}"),
        adapters(),
