"""The Hugging Face arms: converted checkpoint, token ids proved equal to fairseq's, fine-tuning, test evaluation."""

HUGGINGFACE_RUN = f"{RESULTS}/sentiment/huggingface/{{init}}/seed{{seed}}"


# Apart from the weights: the reviews are tokenized and compared while the checkpoint is still being pretrained.
rule convert_tokenizer:
    input:
        dictionary=f"{RESULTS}/checkpoint/dict.txt",
        pieces=f"{RESULTS}/checkpoint/sentencepiece.bpe.model",
    output:
        folder=directory(f"{RESULTS}/checkpoint/tokenizer"),
    log:
        f"{LOGS}/convert_tokenizer.log",
    benchmark:
        f"{BENCHMARKS}/convert_tokenizer.tsv"
    conda:
        "../envs/huggingface.yaml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow("10m"),
    params:
        max_positions=ARCHITECTURE["max_positions"],
        helpers=helpers("convert_tokenizer"),
    script:
        "../scripts/convert_tokenizer.py"


rule convert_checkpoint:
    input:
        checkpoint=f"{RESULTS}/checkpoint/model.pt",
        tokenizer=rules.convert_tokenizer.output.folder,
    output:
        folder=directory(f"{RESULTS}/checkpoint/huggingface"),
    log:
        f"{LOGS}/convert_checkpoint.log",
    benchmark:
        f"{BENCHMARKS}/convert_checkpoint.tsv"
    conda:
        "../envs/huggingface.yaml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow("10m"),
    params:
        architecture=ARCHITECTURE,
        helpers=helpers("convert_checkpoint"),
    script:
        "../scripts/convert_checkpoint.py"


# Two jobs, as in fairseq.smk: the jobs of training never see the test reviews.
rule tokenize_train_valid:
    input:
        reviews=expand(f"{RESULTS}/data/{{split}}.review", split=PARTS["train-valid"]),
        labels=expand(f"{RESULTS}/data/{{split}}.label", split=PARTS["train-valid"]),
        tokenizer=rules.convert_tokenizer.output.folder,
    output:
        token_ids=expand(f"{RESULTS}/sentiment/token-ids/{{split}}.npz", split=PARTS["train-valid"]),
    log:
        f"{LOGS}/tokenize_train_valid.log",
    benchmark:
        f"{BENCHMARKS}/tokenize_train_valid.tsv"
    conda:
        "../envs/huggingface.yaml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow("10m"),
    params:
        max_positions=ARCHITECTURE["max_positions"],
        helpers=helpers("tokenize_reviews"),
    script:
        "../scripts/tokenize_reviews.py"


use rule tokenize_train_valid as tokenize_test with:
    input:
        reviews=expand(f"{RESULTS}/data/{{split}}.review", split=PARTS["test"]),
        labels=expand(f"{RESULTS}/data/{{split}}.label", split=PARTS["test"]),
        tokenizer=rules.convert_tokenizer.output.folder,
    output:
        token_ids=expand(f"{RESULTS}/sentiment/token-ids/{{split}}.npz", split=PARTS["test"]),
    log:
        f"{LOGS}/tokenize_test.log",
    benchmark:
        f"{BENCHMARKS}/tokenize_test.tsv"
    params:
        helpers=helpers("tokenize_reviews"),


# Rules of their own because they read fairseq's data with fairseq, whose environment is another.
rule compare_train_valid:
    input:
        token_ids=rules.tokenize_train_valid.output.token_ids,
        data=rules.binarize_train_valid.output.folder,
    output:
        parity=expand(f"{RESULTS}/sentiment/token-ids/{{split}}.parity.json", split=PARTS["train-valid"]),
    log:
        f"{LOGS}/compare_train_valid.log",
    benchmark:
        f"{BENCHMARKS}/compare_train_valid.tsv"
    conda:
        "../envs/fairseq.yaml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow("10m"),
    params:
        splits=PARTS["train-valid"],
        helpers=helpers("compare_token_ids"),
    script:
        "../scripts/compare_token_ids.py"


use rule compare_train_valid as compare_test with:
    input:
        token_ids=rules.tokenize_test.output.token_ids,
        data=rules.binarize_test.output.folder,
    output:
        parity=expand(f"{RESULTS}/sentiment/token-ids/{{split}}.parity.json", split=PARTS["test"]),
    log:
        f"{LOGS}/compare_test.log",
    benchmark:
        f"{BENCHMARKS}/compare_test.tsv"
    params:
        splits=PARTS["test"],
        helpers=helpers("compare_token_ids"),


rule finetune_huggingface:
    input:
        train=f"{RESULTS}/sentiment/token-ids/train.npz",
        valid=f"{RESULTS}/sentiment/token-ids/valid.npz",
        # Not read: no run starts on token ids that differ from fairseq's.
        parity=expand(f"{RESULTS}/sentiment/token-ids/{{split}}.parity.json", split=["train", "valid"]),
        checkpoint=rules.convert_checkpoint.output.folder,
    output:
        checkpoints=run_checkpoints(f"{HUGGINGFACE_RUN}/checkpoints"),
        history=f"{HUGGINGFACE_RUN}/history.tsv",
        run=f"{HUGGINGFACE_RUN}/run.json",
        weights=f"{HUGGINGFACE_RUN}/weights.json",
        tensorboard=directory(f"{HUGGINGFACE_RUN}/tensorboard"),
    log:
        f"{LOGS}/finetune_huggingface/{{init}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/finetune_huggingface/{{init}}/seed{{seed}}.tsv"
    conda:
        "../envs/huggingface.yaml"
    threads: 1
    resources:
        gpu=GPU,
        mem_mb=grow(3500),
        runtime=grow("4h"),
    params:
        settings=framework_settings(config["sentiment"], "huggingface"),
        # Not an output: it outlives a killed job, so that the next one goes on from it.
        states=f"{RESULTS}/state/finetune_huggingface/{{init}}/seed{{seed}}",
        save_every=save_every,
        helpers=helpers("finetune_huggingface"),
    script:
        "../scripts/finetune_huggingface.py"


rule evaluate_huggingface:
    input:
        selected=f"{HUGGINGFACE_RUN}/selected.json",
        checkpoints=f"{HUGGINGFACE_RUN}/selected",
        token_ids=f"{RESULTS}/sentiment/token-ids/test.npz",
        parity=f"{RESULTS}/sentiment/token-ids/test.parity.json",
    output:
        predictions=f"{RESULTS}/predictions/huggingface/{{init}}/seed{{seed}}.tsv",
    log:
        f"{LOGS}/evaluate_huggingface/{{init}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_huggingface/{{init}}/seed{{seed}}.tsv"
    conda:
        "../envs/huggingface.yaml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow("30m"),
    params:
        batch_size=config["sentiment"]["evaluation"]["batch_size"],
        helpers=helpers("evaluate_huggingface"),
    script:
        "../scripts/evaluate_huggingface.py"


rule test_curve_huggingface:
    input:
        history=rules.finetune_huggingface.output.history,
        checkpoints=rules.finetune_huggingface.output.checkpoints,
        token_ids=f"{RESULTS}/sentiment/token-ids/test.npz",
        parity=f"{RESULTS}/sentiment/token-ids/test.parity.json",
    output:
        curve=f"{HUGGINGFACE_RUN}/test_curve.tsv",
    log:
        f"{LOGS}/test_curve_huggingface/{{init}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/test_curve_huggingface/{{init}}/seed{{seed}}.tsv"
    conda:
        "../envs/huggingface.yaml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow("1h"),
    params:
        batch_size=config["sentiment"]["evaluation"]["batch_size"],
        helpers=helpers("test_curve_huggingface"),
    script:
        "../scripts/test_curve_huggingface.py"


# Asked for by `all` where the study fetches both forms of the checkpoint; no arm depends on it.
COMPARISON = []

if config["checkpoint"]["source"] == "fetch" and "huggingface_checkpoint" in RETRIEVALS:
    COMPARISON = [f"{RESULTS}/checkpoint/huggingface-comparison.json"]

    rule compare_huggingface_weights:
        input:
            ours=rules.convert_checkpoint.output.folder,
            theirs=f"{RESULTS}/checkpoint/huggingface-fetched",
        output:
            comparison=COMPARISON[0],
        log:
            f"{LOGS}/compare_huggingface_weights.log",
        benchmark:
            f"{BENCHMARKS}/compare_huggingface_weights.tsv"
        conda:
            "../envs/huggingface.yaml"
        threads: 1
        resources:
            mem_mb=grow(2000),
            runtime=grow("10m"),
        params:
            helpers=helpers("compare_huggingface_weights"),
        script:
            "../scripts/compare_huggingface_weights.py"
