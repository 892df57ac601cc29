"""The checkpoint that the pretrained arms start from: fetched, copied or pretrained here, then converted."""

from study.addresses import PRETRAINING, checkpoint_files, kept_file, kept_updates
from study.pretrainings import folder_of, further_seeds, pretraining_seeds, settings_of, uses_several

ARCHITECTURE = config["checkpoint"]["architecture"]
SOURCE = config["checkpoint"]["source"]
# `all` requests this where the study fetches both forms of the checkpoint; no arm depends on it.
FETCHED_COMPARISON = []
# Updates of the pretraining that arms start from, and those whose weights a pretraining here keeps.
KEPT = kept_updates(config)
KEEP = config["checkpoint"]["pretraining"]["keep"] or []
FACTORIZES = config["checkpoint"]["pretraining"]["word_init"] == "cooccurrence"
# The seeds of the pretrainings beside the first, whose files are in folders of their own.
FURTHER = further_seeds(config) if SOURCE == "pretrain" and uses_several(config) else []
# The folders of all pretrainings by their seeds.
PRETRAINED = {seed: f"checkpoint/{folder_of(config, seed)}".rstrip("/") for seed in pretraining_seeds(config)}


if SOURCE != "pretrain":

    rule copy_checkpoint:
        input:
            # A folder that a rule declares whole is an input as a whole.
            sources=(
                refusing(checkpoint_of_folder, config, logger.info if workflow.is_main_process else bool)
                if SOURCE == "folder"
                else "<results>/checkpoint/fetched/fairseq"
            ),
        output:
            destinations=checkpoint_files("<results>/checkpoint", KEPT),
        conda:
            "../envs/data.yaml"
        resources:
            runtime=grow("15m"),
        script:
            "../scripts/checkpoint/copy_checkpoint.py"


if SOURCE == "fetch":

    rule extract_checkpoint:
        input:
            archive=lambda wildcards: path(*retrieved(config["checkpoint"]["fetch"][wildcards.framework]["url"])),
        output:
            folder=directory("<results>/checkpoint/fetched/{framework}"),
        conda:
            "../envs/data.yaml"
        resources:
            runtime=grow("15m"),
        script:
            "../scripts/checkpoint/extract_checkpoint.py"


CORPUS = config["checkpoint"]["corpus"]

if SOURCE == "pretrain" and CORPUS["tables"]:

    rule filter_corpus_tables:
        input:
            files=retrieved(*(url for entry in CORPUS["tables"] for url in entry["urls"])),
            # These are read only to exclude texts that share words with them from the corpus.
            held_out=expand("<results>/data/{split}.review", split=["pool" if DRAW else "valid", "test"]),
        output:
            **outputs("filter_corpus_tables"),
            folder=directory("<results>/checkpoint/corpus-tables"),
        priority: 50
        conda:
            "../envs/data.yaml"
        resources:
            mem_mb=grow(2000),
            runtime=grow("30m"),
        params:
            tables=CORPUS["tables"],
        script:
            "../scripts/checkpoint/filter_corpus_tables.py"


if SOURCE == "pretrain":
    # A study without tables lacks these parameters, so that its corpus stays as it was.
    TABLE_REPEATS = {"tables": [entry["repeat"] for entry in CORPUS["tables"]]} if CORPUS["tables"] else {}

    rule build_corpus:
        input:
            **({"tables": "<results>/checkpoint/corpus-tables"} if CORPUS["tables"] else {}),
            files=retrieved(*CORPUS["files"]),
            unlabelled="<results>/data/unlabelled.review",
            training="<results>/data/pretraining.review",
        output:
            train="<results>/checkpoint/corpus/train.txt",
            valid="<results>/checkpoint/corpus/valid.txt",
            manifest="<results>/checkpoint/corpus/manifest.json",
        priority: 50
        conda:
            "../envs/data.yaml"
        resources:
            mem_mb=grow(2000),
            runtime=grow("15m"),
        params:
            repeats={name: CORPUS[f"{name}_repeat"] for name in ("files", "unlabelled", "train")} | TABLE_REPEATS,
            valid_fraction=CORPUS["valid_fraction"],
        script:
            "../scripts/checkpoint/build_corpus.py"

    rule train_sentencepiece:
        input:
            corpus="<results>/checkpoint/corpus/train.txt",
        output:
            model="<results>/checkpoint/sentencepiece.bpe.model",
            dictionary="<results>/checkpoint/dict.txt",
        priority: 50
        conda:
            "../envs/data.yaml"
        resources:
            mem_mb=grow(2000),
            runtime=grow("30m"),
        params:
            **config["checkpoint"]["sentencepiece"],
        script:
            "../scripts/checkpoint/train_sentencepiece.py"

    rule binarize_corpus:
        input:
            train="<results>/checkpoint/corpus/train.txt",
            valid="<results>/checkpoint/corpus/valid.txt",
            model="<results>/checkpoint/sentencepiece.bpe.model",
            dictionary="<results>/checkpoint/dict.txt",
        output:
            folder=directory("<results>/checkpoint/corpus-bin"),
        priority: 50
        conda:
            "../envs/fairseq.yaml"
        resources:
            mem_mb=grow(3000),
            runtime=grow("30m"),
        params:
            # Where a block is one text, <s> and </s> leave two pieces less for it.
            limit=(
                config["checkpoint"]["pretraining"]["tokens_per_sample"] - 2
                if config["checkpoint"]["pretraining"]["sample_break_mode"] == "eos"
                else None
            ),
        script:
            "../scripts/checkpoint/binarize_corpus.py"

    if FACTORIZES:

        rule factorize_cooccurrences:
            input:
                data="<results>/checkpoint/corpus-bin",
            output:
                vectors="<results>/checkpoint/word_vectors.npy",
            priority: 50
            conda:
                "../envs/fairseq.yaml"
            resources:
                mem_mb=grow(4000),
                runtime=grow("1h"),
            params:
                width=ARCHITECTURE["width"],
                seed=pretraining_seeds(config)[0],
            script:
                "../scripts/checkpoint/factorize_cooccurrences.py"

        if FURTHER:

            use rule factorize_cooccurrences as factorize_again with:
                output:
                    vectors="<results>/checkpoint/seed{seed}/word_vectors.npy",
                params:
                    width=ARCHITECTURE["width"],
                    seed=lambda wildcards: int(wildcards.seed),

    rule pretrain:
        input:
            **({"vectors": "<results>/checkpoint/word_vectors.npy"} if FACTORIZES else {}),
            data="<results>/checkpoint/corpus-bin",
        output:
            **({"kept": [f"<results>/checkpoint/{kept_file(update)}" for update in KEEP]} if KEEP else {}),
            **outputs("pretrain"),
            model="<results>/checkpoint/model.pt",
            tensorboard=directory("<results>/checkpoint/tensorboard"),
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
            **({"keep": KEEP} if KEEP else {}),
            architecture=ARCHITECTURE,
            pretraining=settings_of(config),
            states=state("pretrain"),
        script:
            "../scripts/checkpoint/pretrain.py"

    if FURTHER:

        # The same corpus and tokenizer with another seed, so that all runs see the same token ids.
        use rule pretrain as pretrain_again with:
            input:
                **({"vectors": "<results>/checkpoint/seed{seed}/word_vectors.npy"} if FACTORIZES else {}),
                data="<results>/checkpoint/corpus-bin",
            output:
                **({"kept": [f"<results>/checkpoint/seed{{seed}}/{kept_file(at)}" for at in KEEP]} if KEEP else {}),
                history=f"<results>/checkpoint/seed{{seed}}/{PRETRAINING}",
                model="<results>/checkpoint/seed{seed}/model.pt",
                tensorboard=directory("<results>/checkpoint/seed{seed}/tensorboard"),
            params:
                **({"keep": KEEP} if KEEP else {}),
                architecture=ARCHITECTURE,
                pretraining=lambda wildcards: settings_of(config, int(wildcards.seed)),
                states=state("pretrain/seed{seed}"),

        rule tabulate_pretrainings:
            input:
                histories=[f"<results>/{folder}/{PRETRAINING}" for folder in PRETRAINED.values()],
                models=[f"<results>/{folder}/model.pt" for folder in PRETRAINED.values()],
            output:
                **outputs("tabulate_pretrainings"),
            localrule: True
            conda:
                "../envs/data.yaml"
            params:
                seeds=list(PRETRAINED),
                folders=list(PRETRAINED.values()),
            script:
                "../scripts/checkpoint/tabulate_pretrainings.py"


# This is separate from the weights, so that reviews are tokenized and compared while the checkpoint is still being
# pretrained.
rule convert_tokenizer:
    input:
        dictionary="<results>/checkpoint/dict.txt",
        pieces="<results>/checkpoint/sentencepiece.bpe.model",
    output:
        folder=directory("<results>/checkpoint/tokenizer"),
    conda:
        "../envs/huggingface.yaml"
    params:
        max_positions=ARCHITECTURE["max_positions"],
    script:
        "../scripts/checkpoint/convert_tokenizer.py"


# The last weights, or those of an earlier update or another pretraining (`kept` is a folder then, else empty).
rule convert_checkpoint:
    input:
        checkpoint="<results>/checkpoint/{kept}model.pt",
        tokenizer="<results>/checkpoint/tokenizer",
    output:
        folder=directory("<results>/checkpoint/{kept}huggingface"),
    log:
        "<logs>/{kept}convert_checkpoint.log",
    benchmark:
        "<benchmarks>/{kept}convert_checkpoint.tsv"
    wildcard_constraints:
        kept=r"(seed\d+/)?(kept/update\d+/)?",
    conda:
        "../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("15m"),
    params:
        architecture=ARCHITECTURE,
    script:
        "../scripts/checkpoint/convert_checkpoint.py"


if SOURCE == "fetch" and "huggingface_checkpoint" in RETRIEVALS and USES_CHECKPOINT:
    FETCHED_COMPARISON = ["<results>/checkpoint/huggingface-comparison.json"]

    rule compare_huggingface_weights:
        input:
            ours="<results>/checkpoint/huggingface",
            theirs="<results>/checkpoint/fetched/huggingface",
        output:
            comparison=FETCHED_COMPARISON[0],
        conda:
            "../envs/huggingface.yaml"
        resources:
            mem_mb=grow(2000),
            runtime=grow("15m"),
        script:
            "../scripts/checkpoint/compare_huggingface_weights.py"
