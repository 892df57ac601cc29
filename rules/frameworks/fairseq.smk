"""fairseq's runs, and the proofs that Hugging Face sees the same token ids and computes the same logits."""

from frameworks.fairseq.products import BOTH


include: "fairseq/inputs.smk"


rule binarize_texts:
    input:
        reviews=lambda wildcards: expand("<results>/data/{split}.review", split=splits_of(wildcards.part)),
        labels=lambda wildcards: expand("<results>/data/{split}.label", split=splits_of(wildcards.part)),
        model="<results>/checkpoint/sentencepiece.bpe.model",
        dictionary="<results>/checkpoint/dict.txt",
    output:
        folder=directory("<results>/finetuning/data-bin/{part}"),
        pieces=directory("<results>/finetuning/pieces/{part}"),
    conda:
        "../../envs/fairseq.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("20m"),
    params:
        classes=class_names,
        # fairseq uses these names: a subset is its `train`.
        splits=lambda wildcards: [split.partition("-")[0] for split in splits_of(wildcards.part)],
        max_positions=ARCHITECTURE["max_positions"],
    script:
        "../../scripts/frameworks/fairseq/binarize_texts.py"


# This is a separate rule because it reads fairseq's data with fairseq, which has another environment.
rule compare_token_ids:
    input:
        token_ids="<results>/finetuning/token-ids/checkpoint/{split}.npz",
        data=lambda wildcards: f"<results>/finetuning/data-bin/{part_of(wildcards.split)}",
    output:
        parity="<results>/finetuning/token-ids/checkpoint/{split}.parity.json",
    conda:
        "../../envs/fairseq.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("20m"),
    script:
        "../../scripts/frameworks/fairseq/compare_token_ids.py"


rule finetune_fairseq:
    input:
        unpack(starting_checkpoint),
        data=lambda wildcards: path(f"<results>/finetuning/data-bin/{part_of(RUN_FILES.training_split(wildcards))}"),
    output:
        checkpoints=run_checkpoints("<results>/finetuning/{arm}/seed{seed}/checkpoints"),
        history="<results>/finetuning/{arm}/seed{seed}/history.tsv",
        run="<results>/finetuning/{arm}/seed{seed}/run.json",
        weights="<results>/finetuning/{arm}/seed{seed}/weights.json",
        tensorboard=directory("<results>/finetuning/{arm}/seed{seed}/tensorboard"),
    wildcard_constraints:
        arm=RUN_FILES.of_framework("fairseq"),
    conda:
        "../../envs/fairseq.yaml"
    resources:
        gpu=GPU,
        mem_mb=grow(3500),
        runtime=grow("4h"),
    params:
        facts=RUN_FILES.run_facts,
        architecture=ARCHITECTURE,
        settings=lambda wildcards: arm_settings(FINETUNING, wildcards.arm),
        states=state("finetune_fairseq/{arm}/seed{seed}"),
        # This is also a function of `threads`: see `unwatched`.
        save_every=lambda wildcards, threads: arm_training(FINETUNING, wildcards.arm)["save_every"],
    script:
        "../../scripts/frameworks/fairseq/train.py"


rule evaluate_fairseq:
    input:
        data="<results>/finetuning/data-bin/test",
        checkpoints="<run>/selected",
        selected="<run>/selected.json",
        # They come from the same training, and are no reason to evaluate again.
        record=ancient("<run>/run.json"),
        history=ancient("<run>/history.tsv"),
    output:
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
        seal="<results>/predictions/{arm}/seed{seed}.json",
    wildcard_constraints:
        arm=RUN_FILES.of_framework("fairseq"),
    conda:
        "../../envs/fairseq.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("30m"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../../scripts/frameworks/fairseq/score.py"


rule test_curve_fairseq:
    input:
        data="<results>/finetuning/data-bin/test",
        checkpoints="<run>/checkpoints",
        history="<run>/history.tsv",
        selected="<run>/selected.json",
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
    output:
        curve="<results>/finetuning/{arm}/seed{seed}/test_curve.tsv",
        tensorboard=directory("<results>/finetuning/{arm}/seed{seed}/tensorboard-test"),
    wildcard_constraints:
        arm=RUN_FILES.of_framework("fairseq"),
    conda:
        "../../envs/fairseq.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("1h"),
    params:
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../../scripts/frameworks/fairseq/test_curve.py"


if made("logit_parity"):
    COMPARED = {
        f"{framework}{suffix}": first_run(framework, file)
        for framework in BOTH
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
            "../../envs/fairseq.yaml"
        resources:
            mem_mb=grow(2000),
            runtime=grow("30m"),
        params:
            batch_size=config["finetuning"]["evaluation"]["batch_size"],
        script:
            "../../scripts/frameworks/fairseq/score_logits_fairseq.py"

    rule compare_logits:
        input:
            **COMPARED,
            logits="<results>/finetuning/logits/fairseq.npz",
            folder="<results>/checkpoint/huggingface",
            token_ids="<results>/finetuning/token-ids/checkpoint/valid.npz",
        output:
            **outputs("compare_logits"),
        conda:
            "../../envs/huggingface.yaml"
        resources:
            mem_mb=grow(2000),
            runtime=grow("30m"),
        params:
            batch_size=config["finetuning"]["evaluation"]["batch_size"],
        script:
            "../../scripts/frameworks/fairseq/compare_logits.py"
