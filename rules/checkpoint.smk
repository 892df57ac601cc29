"""The checkpoint: fetched (rules/data.smk) or made here, then converted for Hugging Face."""

ARCHITECTURE = config["checkpoint"]["architecture"]

if config["checkpoint"]["source"] == "pretrain":

    rule build_corpus:
        input:
            files=retrieved(*CORPUS),
            unlabelled=f"{RESULTS}/data/unlabelled.review",
            training=f"{RESULTS}/data/pretraining.review",
        output:
            train=f"{RESULTS}/checkpoint/corpus/train.txt",
            valid=f"{RESULTS}/checkpoint/corpus/valid.txt",
            manifest=f"{RESULTS}/checkpoint/corpus/manifest.json",
        log:
            f"{LOGS}/build_corpus.log",
        benchmark:
            f"{BENCHMARKS}/build_corpus.tsv"
        priority: 50
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=grow(1000),
            runtime=grow("10m"),
        params:
            repeats={
                "files": config["checkpoint"]["corpus"]["files_repeat"],
                "unlabelled": config["checkpoint"]["corpus"]["unlabelled_repeat"],
                "train": config["checkpoint"]["corpus"]["train_repeat"],
            },
            valid_fraction=config["checkpoint"]["corpus"]["valid_fraction"],
            helpers=helpers("build_corpus"),
        script:
            "../scripts/build_corpus.py"

    rule train_sentencepiece:
        input:
            corpus=rules.build_corpus.output.train,
        output:
            model=f"{RESULTS}/checkpoint/sentencepiece.bpe.model",
            dictionary=f"{RESULTS}/checkpoint/dict.txt",
        log:
            f"{LOGS}/train_sentencepiece.log",
        benchmark:
            f"{BENCHMARKS}/train_sentencepiece.tsv"
        priority: 50
        conda:
            "../envs/fairseq.yaml"
        threads: 1
        resources:
            mem_mb=grow(2000),
            runtime=grow("30m"),
        params:
            vocab_size=config["checkpoint"]["sentencepiece"]["vocab_size"],
            model_type=config["checkpoint"]["sentencepiece"]["model_type"],
            helpers=helpers("train_sentencepiece"),
        script:
            "../scripts/train_sentencepiece.py"

    rule binarize_corpus:
        input:
            train=rules.build_corpus.output.train,
            valid=rules.build_corpus.output.valid,
            model=rules.train_sentencepiece.output.model,
            dictionary=rules.train_sentencepiece.output.dictionary,
        output:
            folder=directory(f"{RESULTS}/checkpoint/corpus-bin"),
        log:
            f"{LOGS}/binarize_corpus.log",
        benchmark:
            f"{BENCHMARKS}/binarize_corpus.tsv"
        priority: 50
        conda:
            "../envs/fairseq.yaml"
        threads: 1
        resources:
            mem_mb=grow(3000),
            runtime=grow("30m"),
        params:
            # Where a block is one text, <s> and </s> leave it two pieces less.
            limit=(
                config["checkpoint"]["pretraining"]["tokens_per_sample"] - 2
                if config["checkpoint"]["pretraining"]["sample_break_mode"] == "eos"
                else None
            ),
            helpers=helpers("binarize_corpus"),
        script:
            "../scripts/binarize_corpus.py"

    rule pretrain:
        input:
            data=rules.binarize_corpus.output.folder,
        output:
            model=f"{RESULTS}/checkpoint/model.pt",
            history=f"{RESULTS}/checkpoint/pretraining.tsv",
            tensorboard=directory(f"{RESULTS}/checkpoint/tensorboard"),
        log:
            f"{LOGS}/pretrain.log",
        benchmark:
            f"{BENCHMARKS}/pretrain.tsv"
        priority: 50
        conda:
            "../envs/fairseq.yaml"
        # A narrow model's products are too small to share between threads.
        threads: 2 if ARCHITECTURE["width"] >= 256 else 1
        resources:
            gpu=GPU,
            mem_mb=grow(4000),
            runtime=grow("24h"),
        params:
            architecture=ARCHITECTURE,
            pretraining=config["checkpoint"]["pretraining"],
            state=f"{RESULTS}/state/pretrain",
            helpers=helpers("pretrain"),
        script:
            "../scripts/pretrain.py"

    rule plot_pretraining:
        input:
            history=rules.pretrain.output.history,
            manifest=f"{RESULTS}/data/manifest.json",
        output:
            svg=report(
                f"{RESULTS}/figures/pretraining.svg",
                caption="../report/pretraining.rst",
                category="Checkpoint",
                labels={"figure": "pretraining loss by update"},
            ),
            png=f"{RESULTS}/figures/pretraining.png",
        log:
            f"{LOGS}/plot_pretraining.log",
        benchmark:
            f"{BENCHMARKS}/plot_pretraining.tsv"
        # As the other small jobs of the page in Snakefile; this one is not in every study.
        localrule: True
        conda:
            "../envs/report.yaml"
        threads: 1
        resources:
            mem_mb=1000,
            runtime="5m",
        params:
            helpers=helpers("plot_pretraining"),
        script:
            "../scripts/plot_pretraining.py"
