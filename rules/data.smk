"""Raw data: downloads, the study's canonical splits, their audit, the simple models that set the bar."""

from study.addresses import record_path, source_addresses

# `data.table` as `build_splits` takes it, or None.
TABLE = table_settings(config["data"])

# How a run draws its own train and valid (`train-seed3`, `train-300-seed3`); None: all runs share the study's.
DRAW = draw_in(config)

# The audit reads these of the checkpoint and of external models.
AUDITED = (
    {"model": "<results>/checkpoint/sentencepiece.bpe.model", "dictionary": "<results>/checkpoint/dict.txt"}
    if USES_CHECKPOINT
    else {}
)
CORPORA = [f"<results>/checkpoint/corpus/{split}.txt" for split in ("train", "valid")]

# One script makes every download. The files are in `resources/HOST/PATH`, shared by all studies; a small record of each
# is beside it.
for name, entry in RETRIEVALS.items():

    rule:
        name:
            f"retrieve_{name}"
        output:
            files=retrieved(*entry["urls"]),
            manifest=f"<resources>/{record_path(entry['urls'])}",
        log:
            f"<logs>/retrieve/{name}.log",
        benchmark:
            f"<benchmarks>/retrieve/{name}.tsv"
        # `--retries` is for jobs; the script itself repeats a failed download.
        retries: 0
        localrule: True
        conda:
            "../envs/data.yaml"
        params:
            **entry,
            # The origin of a file does not change it.
            mirror=unwatched(config["mirror"]),
        script:
            "../scripts/data/retrieve.py"


rule build_splits:
    input:
        files=refusing(source_files, config["data"], retrieved, workflow.is_main_process),
    output:
        **({"pool": ["<results>/data/pool.review", "<results>/data/pool.label"]} if DRAW else {}),
        reviews=[f"<results>/data/{split}.review" for split in SPLITS],
        labels=[f"<results>/data/{split}.label" for split in SPLITS],
        unlabelled="<results>/data/unlabelled.review",
        pretraining="<results>/data/pretraining.review",
        manifest=made("manifest"),
    priority: 50
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("15m"),
    params:
        **{key: config["data"][key] for key in ("source", "n_train", "n_valid", "n_test", "split_seed")},
        **({"digests": TABLE_DIGESTS} if TABLE_DIGESTS else {}),
        **other_source(config["data"]),
        **TASK,
        classes=class_names,
        addresses=TABLE["files"] if TABLE else source_addresses(config["data"]),
        embedded=config["data"]["embedded"] if config["data"]["source"] == "embedded" else None,
        table=TABLE,
    script:
        "../scripts/data/build_splits.py"


rule audit_data:
    input:
        **AUDITED,
        reviews=expand("<results>/data/{split}.review", split=SPLITS),
        labels=expand("<results>/data/{split}.label", split=SPLITS),
        unlabelled="<results>/data/unlabelled.review",
        tokens=[f"<results>/finetuning/token-ids/{name}/lengths.json" for name in FOREIGN],
        corpora=CORPORA if USES_CHECKPOINT and config["checkpoint"]["source"] == "pretrain" else [],
    output:
        **outputs("audit_data"),
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=grow(1000),
        runtime=grow("20m"),
    params:
        **TASK,
        classes=class_names,
        max_positions=config["checkpoint"]["architecture"]["max_positions"],
    script:
        "../scripts/data/audit_data.py"


if DRAW:

    rule draw_split:
        input:
            pool="<results>/data/pool.review",
            pool_labels="<results>/data/pool.label",
            manifest=made("manifest"),
        output:
            reviews=[f"<results>/data/{split}-seed{{seed}}.review" for split in ("train", "valid")],
            labels=[f"<results>/data/{split}-seed{{seed}}.label" for split in ("train", "valid")],
            record="<results>/data/draw-seed{seed}.json",
        priority: 50
        conda:
            "../envs/data.yaml"
        resources:
            mem_mb=grow(1000),
            runtime=grow("10m"),
        params:
            **TASK,
            split_seed=config["data"]["split_seed"],
            how=DRAW,
            classes=class_names,
        script:
            "../scripts/data/draw_split.py"


# Simple models learn from the study's own split, arms from those of their seeds.
for name, end in {"draw_subset": "", **({"draw_subset_of_seed": "-seed{seed}"} if DRAW else {})}.items():
    if SUBSETS:

        rule:
            name:
                name
            input:
                reviews=f"<results>/data/train{end}.review",
                labels=f"<results>/data/train{end}.label",
            output:
                subset=f"<results>/data/train-{{n_train}}{end}.review",
                subset_labels=f"<results>/data/train-{{n_train}}{end}.label",
            priority: 50
            conda:
                "../envs/data.yaml"
            resources:
                mem_mb=grow(1000),
                runtime=grow("10m"),
            params:
                **TASK,
                # The wildcard `seed` is that of a seed's own split.
                **({} if end else {"seed": config["data"]["split_seed"]}),
                classes=class_names,
            script:
                "../scripts/data/draw_subset.py"
