"""Fine-tuning: token ids, one run per arm and seed by its framework, its best epoch, its test score."""

import pathlib

import frameworks
from finetuning.protocol import arm_settings, arm_training, framework_settings
from study.run_files import part_of, splits_of

# Training sees `train-valid` only; the test reviews have a separate folder.
PARTS = ["train-valid", "test", *(f"train-{n}-valid" for n in SUBSETS)]
# The arms whose runs have checkpoints.
TRAINED = {name: arm for name, arm in ARMS.items() if frameworks.load(arm.framework).CHECKPOINTS}
# One run of each framework represents it where weights and logits are compared: the first arm's first seed.
FIRST_RUNS = {arm.framework: (name, SEEDS[0]) for name, arm in reversed(TRAINED.items()) if arm.model == CHECKPOINT}
# The starts of runs by name: the models, and the checkpoint at earlier updates and of other pretrainings.
PROVED = RUN_FILES.every_start(STARTS, KEPT, FURTHER)
# The frameworks that have rules; the others get the ones below.
OWN_RULES = sorted(path.stem for path in pathlib.Path(ROOT, "rules", "frameworks").glob("*.smk"))
PLAIN = [name for name in frameworks.names() if name not in OWN_RULES]
# Those whose scoring gives probabilities alone.
UNTRAINED = [name for name in frameworks.names() if not frameworks.load(name).CHECKPOINTS]


# The rules of a framework that needs additional inputs come first, because others use their outputs. These are spelled
# out: Snakemake constrains no wildcard inside `<run>`.
for name in OWN_RULES:

    include: f"frameworks/{name}.smk"


rule take_model:
    input:
        files=RUN_FILES.model_files,
    output:
        folder=directory("<results>/finetuning/models/{model}"),
    conda:
        "../envs/huggingface.yaml"
    resources:
        mem_mb=grow(4000),
        runtime=grow("30m"),
    params:
        **TASK,
        name="{model}",
        source=lambda wildcards: config["finetuning"]["models"][wildcards.model].get("folder"),
        digests=RUN_FILES.model_digests,
        classes=class_names,
        max_tokens=lambda wildcards: config["finetuning"]["models"][wildcards.model].get("max_tokens"),
        new_head=lambda wildcards: bool(config["finetuning"]["models"][wildcards.model].get("new_head")),
    script:
        "../scripts/finetuning/take_model.py"


rule tokenize_texts:
    input:
        reviews="<results>/data/{split}.review",
        labels="<results>/data/{split}.label",
        tokenizer=RUN_FILES.tokenizer,
    output:
        token_ids="<results>/finetuning/token-ids/{model}/{split}.npz",
    conda:
        "../envs/huggingface.yaml"
    resources:
        mem_mb=grow(2000),
        runtime=grow("20m"),
    params:
        **TASK,
        classes=class_names,
        max_positions=lambda wildcards: ARCHITECTURE["max_positions"] if wildcards.model == CHECKPOINT else None,
    script:
        "../scripts/finetuning/tokenize_texts.py"


# The audit needs a text's whole length, and token ids are cut to the model's.
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


# Any other framework: texts and labels in, a model out.
for name in PLAIN:

    rule:
        name:
            f"finetune_{name}"
        input:
            train=RUN_FILES.of_training_split("<results>/data/{split}.review"),
            train_labels=RUN_FILES.of_training_split("<results>/data/{split}.label"),
            valid=RUN_FILES.of_valid("<results>/data/{split}.review"),
            valid_labels=RUN_FILES.of_valid("<results>/data/{split}.label"),
            files=RUN_FILES.further_files,
        output:
            model=directory("<results>/finetuning/{arm}/seed{seed}/model"),
            history="<results>/finetuning/{arm}/seed{seed}/history.tsv",
            run="<results>/finetuning/{arm}/seed{seed}/run.json",
            selected="<results>/finetuning/{arm}/seed{seed}/selected.json",
        log:
            f"<logs>/finetune_{name}/{{arm}}/seed{{seed}}.log",
        benchmark:
            f"<benchmarks>/finetune_{name}/{{arm}}/seed{{seed}}.tsv"
        wildcard_constraints:
            arm=RUN_FILES.of_framework(name),
        conda:
            RUN_FILES.environment(name, ROOT)
        threads: lambda wildcards: RUN_FILES.placed(wildcards, "threads", 1)
        resources:
            **RUN_FILES.resources(name, 3500, 4),
        params:
            **LED,
            **TASK,
            **RUN_FILES.further_params(name, 4),
            facts=RUN_FILES.run_facts,
            classes=class_names,
            settings=lambda wildcards: arm_settings(FINETUNING, wildcards.arm),
            # The modules that the script finds by name.
            code=framework_digest(name, "train", "score"),
        script:
            "../scripts/finetuning/train_plainly.py"

    # The labels are left out; `join_labels` adds them.
    rule:
        name:
            f"evaluate_{name}"
        input:
            model="<run>/model",
            reviews=made("test_reviews"),
        output:
            probabilities=temp("<results>/finetuning/{arm}/seed{seed}/test.npy"),
        log:
            f"<logs>/evaluate_{name}/{{arm}}/seed{{seed}}.log",
        benchmark:
            f"<benchmarks>/evaluate_{name}/{{arm}}/seed{{seed}}.tsv"
        wildcard_constraints:
            arm=RUN_FILES.of_framework(name),
        conda:
            RUN_FILES.environment(name, ROOT)
        threads: lambda wildcards: RUN_FILES.placed(wildcards, "threads", 1)
        resources:
            **RUN_FILES.resources(name, 2000, 0.5),
        params:
            **TASK,
            **RUN_FILES.limit(name, 0.5),
            framework=name,
            classes=class_names,
            code=framework_digest(name, "score"),
        script:
            "../scripts/finetuning/score_plainly.py"


rule join_labels:
    input:
        probabilities="<run>/test.npy",
        reviews=made("test_reviews"),
        labels="<results>/data/test.label",
        selected="<run>/selected.json",
        # They come from the same training, and are no reason to evaluate again.
        record=ancient("<run>/run.json"),
        history=ancient("<run>/history.tsv"),
    output:
        predictions="<results>/predictions/{arm}/seed{seed}.tsv",
        seal="<results>/predictions/{arm}/seed{seed}.json",
    wildcard_constraints:
        arm=RUN_FILES.of_framework(*UNTRAINED),
    localrule: True
    conda:
        "../envs/data.yaml"
    params:
        **TASK,
        classes=class_names,
    script:
        "../scripts/finetuning/join_labels.py"


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
        **LED,
        select_by=config["finetuning"]["select_by"],
    script:
        "../scripts/finetuning/select_checkpoint.py"


rule prove_weights:
    input:
        proofs=RUN_FILES.with_sources(runs("<run>/weights.json", TRAINED), "<run>/weights.json"),
        converted=list(PROVED.values()),
    output:
        **outputs("prove_weights"),
    localrule: True
    conda:
        "../envs/data.yaml"
    params:
        **({"updates": {name: arm.get("at_update") for name, arm in FINETUNING["arms"].items()}} if KEPT else {}),
        **({"pretrainings": RUN_FILES.further_starts()} if FURTHER else {}),
        models=list(PROVED),
        arms={name: list(arm) for name, arm in RUN_FILES.arms.items() if name not in ARMS or name in TRAINED},
    script:
        "../scripts/finetuning/prove_weights.py"


rule export_model:
    input:
        checkpoints="<run>/selected",
        selected="<run>/selected.json",
        run="<run>/run.json",
        converted=RUN_FILES.start_folder,
        runs=made("runs"),
        test_accuracy=made("test_accuracy"),
        arms=made("arm_statistics"),
        manifest=made("manifest"),
        # The exported model has to give the run's predictions.
        reviews=made("test_reviews"),
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
        facts=RUN_FILES.facts,
        classes=class_names,
        study=config["study"],
        start=RUN_FILES.start,
        # The module that loads the run, which the script finds by name.
        loader=lambda wildcards: framework_digest(ARMS[wildcards.arm].framework, "export"),
        batch_size=config["finetuning"]["evaluation"]["batch_size"],
    script:
        "../scripts/finetuning/export_model.py"


# `snakemake export_models`; not part of `all`.
rule export_models:
    input:
        runs("<results>/models/{arm}-seed{seed}", TRAINED),
        [f"<results>/{folder}" for folder in gathered("exported", config)],
