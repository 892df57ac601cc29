"""The fairseq arms: binarized reviews, fine-tuning, test evaluation."""

RUN = f"{RESULTS}/sentiment/fairseq/{{init}}/seed{{seed}}"
# Training sees `train-valid` only; the test reviews are a folder of their own.
PARTS = {"train-valid": ["train", "valid"], "test": ["test"]}


rule binarize_train_valid:
    input:
        reviews=expand(f"{RESULTS}/data/{{split}}.review", split=PARTS["train-valid"]),
        labels=expand(f"{RESULTS}/data/{{split}}.label", split=PARTS["train-valid"]),
        model=f"{RESULTS}/checkpoint/sentencepiece.bpe.model",
        dictionary=f"{RESULTS}/checkpoint/dict.txt",
    output:
        pieces=expand(f"{RESULTS}/sentiment/pieces/{{split}}.pieces", split=PARTS["train-valid"]),
        folder=directory(f"{RESULTS}/sentiment/data-bin/train-valid"),
    log:
        f"{LOGS}/binarize_train_valid.log",
    benchmark:
        f"{BENCHMARKS}/binarize_train_valid.tsv"
    conda:
        "../envs/fairseq.yaml"
    threads: 1
    resources:
        mem_mb=grow(1000),
        runtime=grow("10m"),
    params:
        splits=PARTS["train-valid"],
        max_positions=ARCHITECTURE["max_positions"],
        helpers=helpers("binarize_reviews"),
    script:
        "../scripts/binarize_reviews.py"


use rule binarize_train_valid as binarize_test with:
    input:
        reviews=expand(f"{RESULTS}/data/{{split}}.review", split=PARTS["test"]),
        labels=expand(f"{RESULTS}/data/{{split}}.label", split=PARTS["test"]),
        model=f"{RESULTS}/checkpoint/sentencepiece.bpe.model",
        dictionary=f"{RESULTS}/checkpoint/dict.txt",
    output:
        pieces=expand(f"{RESULTS}/sentiment/pieces/{{split}}.pieces", split=PARTS["test"]),
        folder=directory(f"{RESULTS}/sentiment/data-bin/test"),
    log:
        f"{LOGS}/binarize_test.log",
    benchmark:
        f"{BENCHMARKS}/binarize_test.tsv"
    params:
        splits=PARTS["test"],
        max_positions=ARCHITECTURE["max_positions"],
        helpers=helpers("binarize_reviews"),


rule finetune_fairseq:
    input:
        unpack(starting_checkpoint),
        data=rules.binarize_train_valid.output.folder,
    output:
        checkpoints=run_checkpoints(f"{RUN}/checkpoints"),
        history=f"{RUN}/history.tsv",
        run=f"{RUN}/run.json",
        weights=f"{RUN}/weights.json",
        tensorboard=directory(f"{RUN}/tensorboard"),
    log:
        f"{LOGS}/finetune_fairseq/{{init}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/finetune_fairseq/{{init}}/seed{{seed}}.tsv"
    conda:
        "../envs/fairseq.yaml"
    threads: 1
    resources:
        gpu=GPU,
        mem_mb=grow(3500),
        runtime=grow("4h"),
    params:
        architecture=ARCHITECTURE,
        settings=framework_settings(config["sentiment"], "fairseq"),
        # Not an output: it outlives a killed job, so that the next one goes on from it.
        states=f"{RESULTS}/state/finetune_fairseq/{{init}}/seed{{seed}}",
        save_every=save_every,
        helpers=helpers("finetune_fairseq"),
    script:
        "../scripts/finetune_fairseq.py"


rule evaluate_fairseq:
    input:
        data=rules.binarize_test.output.folder,
        checkpoints=f"{RUN}/selected",
        selected=f"{RUN}/selected.json",
    output:
        predictions=f"{RESULTS}/predictions/fairseq/{{init}}/seed{{seed}}.tsv",
    log:
        f"{LOGS}/evaluate_fairseq/{{init}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_fairseq/{{init}}/seed{{seed}}.tsv"
    conda:
        "../envs/fairseq.yaml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow("30m"),
    params:
        batch_size=config["sentiment"]["evaluation"]["batch_size"],
        helpers=helpers("evaluate_fairseq"),
    script:
        "../scripts/evaluate_fairseq.py"


rule test_curve_fairseq:
    input:
        data=rules.binarize_test.output.folder,
        checkpoints=rules.finetune_fairseq.output.checkpoints,
        history=rules.finetune_fairseq.output.history,
    output:
        curve=f"{RUN}/test_curve.tsv",
    log:
        f"{LOGS}/test_curve_fairseq/{{init}}/seed{{seed}}.log",
    benchmark:
        f"{BENCHMARKS}/test_curve_fairseq/{{init}}/seed{{seed}}.tsv"
    conda:
        "../envs/fairseq.yaml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow("1h"),
    params:
        batch_size=config["sentiment"]["evaluation"]["batch_size"],
        helpers=helpers("test_curve_fairseq"),
    script:
        "../scripts/test_curve_fairseq.py"
