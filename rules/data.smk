"""Raw data: downloads, the study's canonical splits, and the fetched checkpoint.

The retrieving rules share one script: a download is a download, whatever it brings. Their files lie in
`resources/HOST/PATH` and are shared by all studies; a small record of what came lies beside them.
"""

from common.addresses import record_path, retrievals, source_addresses
from common.reviews import SPLITS

try:
    RETRIEVALS = retrievals(config, PINS)
except StudyError as error:
    raise WorkflowError(str(error))


if "cls_books_zip" in RETRIEVALS:

    rule retrieve_cls_books_zip:
        output:
            files=retrieved(*RETRIEVALS["cls_books_zip"]["urls"]),
            manifest=f"{RESOURCES}/{record_path(RETRIEVALS['cls_books_zip']['urls'])}",
        log:
            f"{LOGS}/retrieve_cls_books_zip.log",
        benchmark:
            f"{BENCHMARKS}/retrieve_cls_books_zip.tsv"
        retries: 0
        localrule: True
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=500,
            runtime="1h",
        params:
            **RETRIEVALS["cls_books_zip"],
            helpers=helpers("retrieve"),
        script:
            "../scripts/retrieve.py"


if "cls_books_pieces" in RETRIEVALS:

    rule retrieve_cls_books_pieces:
        output:
            files=retrieved(*RETRIEVALS["cls_books_pieces"]["urls"]),
            manifest=f"{RESOURCES}/{record_path(RETRIEVALS['cls_books_pieces']['urls'])}",
        log:
            f"{LOGS}/retrieve_cls_books_pieces.log",
        benchmark:
            f"{BENCHMARKS}/retrieve_cls_books_pieces.tsv"
        retries: 0
        localrule: True
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=500,
            runtime="1h",
        params:
            **RETRIEVALS["cls_books_pieces"],
            helpers=helpers("retrieve"),
        script:
            "../scripts/retrieve.py"


if "cls_archive" in RETRIEVALS:

    rule retrieve_cls_archive:
        output:
            files=retrieved(*RETRIEVALS["cls_archive"]["urls"]),
            manifest=f"{RESOURCES}/{record_path(RETRIEVALS['cls_archive']['urls'])}",
        log:
            f"{LOGS}/retrieve_cls_archive.log",
        benchmark:
            f"{BENCHMARKS}/retrieve_cls_archive.tsv"
        retries: 0
        localrule: True
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=500,
            runtime="3h",
        params:
            **RETRIEVALS["cls_archive"],
            helpers=helpers("retrieve"),
        script:
            "../scripts/retrieve.py"


if "corpus" in RETRIEVALS:

    rule retrieve_corpus:
        output:
            files=retrieved(*RETRIEVALS["corpus"]["urls"]),
            manifest=f"{RESOURCES}/{record_path(RETRIEVALS['corpus']['urls'])}",
        log:
            f"{LOGS}/retrieve_corpus.log",
        benchmark:
            f"{BENCHMARKS}/retrieve_corpus.tsv"
        retries: 0
        localrule: True
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=500,
            runtime="3h",
        params:
            **RETRIEVALS["corpus"],
            helpers=helpers("retrieve"),
        script:
            "../scripts/retrieve.py"


rule build_splits:
    input:
        files=retrieved(*source_addresses(config["data"])),
    output:
        reviews=[f"{RESULTS}/data/{split}.review" for split in SPLITS],
        labels=[f"{RESULTS}/data/{split}.label" for split in SPLITS],
        unlabelled=f"{RESULTS}/data/unlabelled.review",
        pretraining=f"{RESULTS}/data/pretraining.review",
        manifest=f"{RESULTS}/data/manifest.json",
    log:
        f"{LOGS}/build_splits.log",
    benchmark:
        f"{BENCHMARKS}/build_splits.tsv"
    priority: 50
    conda:
        "../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=grow(2000),
        runtime=grow("15m"),
    params:
        source=config["data"]["source"],
        addresses=source_addresses(config["data"]),
        n_train=config["data"]["n_train"],
        n_valid=config["data"]["n_valid"],
        n_test=config["data"]["n_test"],
        split_seed=config["data"]["split_seed"],
        embedded=config["data"]["embedded"] if config["data"]["source"] == "embedded" else None,
        helpers=helpers("build_splits"),
    script:
        "../scripts/build_splits.py"


if config["checkpoint"]["source"] == "fetch":

    rule retrieve_checkpoint:
        output:
            files=retrieved(*RETRIEVALS["checkpoint"]["urls"]),
            manifest=f"{RESOURCES}/{record_path(RETRIEVALS['checkpoint']['urls'])}",
        log:
            f"{LOGS}/retrieve_checkpoint.log",
        benchmark:
            f"{BENCHMARKS}/retrieve_checkpoint.tsv"
        retries: 0
        localrule: True
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=500,
            runtime="3h",
        params:
            **RETRIEVALS["checkpoint"],
            helpers=helpers("retrieve"),
        script:
            "../scripts/retrieve.py"

    rule extract_checkpoint:
        input:
            archive=retrieved(*RETRIEVALS["checkpoint"]["urls"])[0],
        output:
            f"{RESULTS}/checkpoint/model.pt",
            f"{RESULTS}/checkpoint/dict.txt",
            f"{RESULTS}/checkpoint/sentencepiece.bpe.model",
        log:
            f"{LOGS}/extract_checkpoint.log",
        benchmark:
            f"{BENCHMARKS}/extract_checkpoint.tsv"
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=grow(500),
            runtime=grow("15m"),
        params:
            kind="fairseq",
            helpers=helpers("extract_checkpoint"),
        script:
            "../scripts/extract_checkpoint.py"


if config["checkpoint"]["source"] == "folder":

    rule copy_checkpoint:
        input:
            checkpoint_of_folder(),
        output:
            f"{RESULTS}/checkpoint/model.pt",
            f"{RESULTS}/checkpoint/dict.txt",
            f"{RESULTS}/checkpoint/sentencepiece.bpe.model",
        log:
            f"{LOGS}/copy_checkpoint.log",
        benchmark:
            f"{BENCHMARKS}/copy_checkpoint.tsv"
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=grow(500),
            runtime=grow("15m"),
        params:
            helpers=helpers("copy_checkpoint"),
        script:
            "../scripts/copy_checkpoint.py"


if config["checkpoint"]["source"] == "fetch" and "huggingface_checkpoint" in RETRIEVALS:

    rule retrieve_huggingface_checkpoint:
        output:
            files=retrieved(*RETRIEVALS["huggingface_checkpoint"]["urls"]),
            manifest=f"{RESOURCES}/{record_path(RETRIEVALS['huggingface_checkpoint']['urls'])}",
        log:
            f"{LOGS}/retrieve_huggingface_checkpoint.log",
        benchmark:
            f"{BENCHMARKS}/retrieve_huggingface_checkpoint.tsv"
        retries: 0
        localrule: True
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=500,
            runtime="3h",
        params:
            **RETRIEVALS["huggingface_checkpoint"],
            helpers=helpers("retrieve"),
        script:
            "../scripts/retrieve.py"

    # The same script as extract_checkpoint: the archive differs, the guards are the same.
    rule extract_huggingface_checkpoint:
        input:
            archive=retrieved(*RETRIEVALS["huggingface_checkpoint"]["urls"])[0],
        output:
            directory(f"{RESULTS}/checkpoint/huggingface-fetched"),
        log:
            f"{LOGS}/extract_huggingface_checkpoint.log",
        benchmark:
            f"{BENCHMARKS}/extract_huggingface_checkpoint.tsv"
        conda:
            "../envs/data.yaml"
        threads: 1
        resources:
            mem_mb=grow(500),
            runtime=grow("15m"),
        params:
            kind="huggingface",
            helpers=helpers("extract_checkpoint"),
        script:
            "../scripts/extract_checkpoint.py"
