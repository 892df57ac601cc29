"""From finished runs to their results: tables, statistics, parameter counts, claims, figures."""

from analysis.products.errors import run_keys
from finetuning.learning_curves import learning_points
from study.questions import REGISTER, asked_by, measures_asked
from study.variation import varied

QUESTIONS = asked_by(config)
PLAN = plan_of(config["finetuning"])

# The tensors of these models are counted.
COUNTED = {
    **({"checkpoint": "<results>/checkpoint/model.pt"} if USES_CHECKPOINT else {}),
    **{
        f"checkpoint for {frameworks.label(name)}": "<results>/checkpoint/huggingface"
        for name in FIRST_RUNS
        if frameworks.load(name).OTHERS_MODELS
    },
    **{f"{framework}, fine-tuned": first_run(framework, "selected") for framework in sorted(FIRST_RUNS)},
}
# A study without subsets lacks this parameter, so that its tables stay as they were.
SUBSET_SIZES = {"subsets": {name: arm.get("n_train") for name, arm in FINETUNING["arms"].items()}} if SUBSETS else {}


# A rule whose inputs are products is a row in scripts/<room>/products/, and so are its outputs.
for room, row in generated_rules(config):

    rule:
        name:
            row.name
        input:
            **inputs(**row.inputs),
        output:
            **outputs(row.name),
        priority: row.priority
        conda:
            "../envs/report.yaml"
        params:
            **{name: value(config) for name, value in row.params.items()},
            # A job looks at the script's name when it runs, long after this loop.
            script=f"{room}/{row.name}.py",
        script:
            "../scripts/{params.script}"


rule aggregate_runs:
    input:
        **inputs(
            records="run_records",
            selected="run_selections",
            histories="run_histories",
            predictions="predictions",
            seals="seals",
            test_curves="run_test_curves",
            manifest="manifest",
        ),
        # As functions: a list would be hashed again for each of its members.
        **{
            f"source_{name}": lambda wildcards, its=its: its
            for name, its in RUN_FILES.records_of_sources().items()
            if its
        },
    output:
        **outputs("aggregate_runs"),
    conda:
        "../envs/report.yaml"
    params:
        **SUBSET_SIZES,
        # The arms whose runs have a curve, where not all have.
        **({} if len(TRAINED) == len(ARMS) else {"curved": list(TRAINED)}),
        **({"versions": file_digest(measures.file(config["measure"]))} if LED else {}),
        study=config["study"],
    script:
        "../scripts/analysis/aggregate_runs.py"


if config.get("sources"):

    rule measure_spread:
        input:
            **inputs(runs="spread_runs", manifest="manifest"),
            predictions=lambda wildcards: RUN_FILES.records_of_sources()["predictions"],
        output:
            **outputs("measure_spread"),
        conda:
            "../envs/report.yaml"
        params:
            run_keys=[(arm, str(seed)) for arm, seed in RUN_FILES.source_runs],
            sections=config["sources"],
            study={"n_seeds": len(PLAN.get("confirm") or SEEDS), "varied": varied(config["finetuning"])},
        script:
            "../scripts/analysis/measure_spread.py"


rule compare_baselines:
    input:
        **inputs(runs="runs", predictions="predictions"),
        records=linear("<results>/finetuning/{arm}/seed0/run.json"),
        selected=linear("<results>/finetuning/{arm}/seed0/selected.json"),
        answers=linear("<results>/predictions/{arm}/seed0.tsv"),
        seals=linear("<results>/predictions/{arm}/seed0.json"),
    output:
        **outputs("compare_baselines"),
    conda:
        "../envs/report.yaml"
    params:
        run_keys=run_keys(config),
        names=list(LINEAR),
    script:
        "../scripts/analysis/compare_baselines.py"


rule measure_shared_texts:
    input:
        **inputs(runs="runs", predictions="predictions"),
        answers=linear("<results>/predictions/{arm}/seed0.tsv"),
        # Where seeds draw their texts, any of the pool may have been learnt from.
        reviews=[f"<results>/data/{split}.review" for split in ("train", "valid", *(["pool"] if DRAW else []), "test")],
    output:
        **outputs("measure_shared_texts"),
    conda:
        "../envs/report.yaml"
    params:
        run_keys=run_keys(config),
        names=list(LINEAR),
    script:
        "../scripts/analysis/measure_shared_texts.py"


if QUESTIONS:

    rule answer_questions:
        input:
            **inputs(runs="runs", predictions="predictions", learned="learned"),
            **inputs(
                **{
                    f"{room}_{part}": key
                    for room, guest in guests().items()
                    if guest.scored
                    for part, key in zip(("scores", "items"), guest.scored)
                    if room in map(measures.of_guests().get, measures_asked(QUESTIONS))
                }
            ),
            answers=linear("<results>/predictions/{arm}/seed0.tsv"),
            selected=linear("<results>/finetuning/{arm}/seed0/selected.json"),
        output:
            **outputs("answer_questions"),
        conda:
            "../envs/report.yaml"
        params:
            **({"plan": PLAN} if {"looks", "confirm"} & PLAN.keys() else {}),
            run_keys=run_keys(config),
            names=list(LINEAR),
            questions=QUESTIONS,
            # The start of the study wrote this on this machine.
            register=f"{RESULTS}/{REGISTER}",
            versions=[file_digest(measures.file(name)) for name in measures_asked(QUESTIONS)],
            # Other studies lack it, so that their answers are not due again.
        script:
            "../scripts/analysis/answer_questions.py"


if LOOKS:

    # Its input functions know from the looks before it which runs it is of.
    checkpoint judge_look:
        input:
            **inputs(records="run_records", selected="run_selections", predictions="predictions"),
            answers=linear("<results>/predictions/{arm}/seed0.tsv"),
            chosen=linear("<results>/finetuning/{arm}/seed0/selected.json"),
        output:
            **outputs("judge_look"),
        conda:
            "../envs/report.yaml"
        params:
            names=list(LINEAR),
            questions=QUESTIONS,
            register=f"{RESULTS}/{REGISTER}",
            plan=PLAN,
            versions=[file_digest(measures.file(name)) for name in measures_asked(QUESTIONS)],
        script:
            "../scripts/analysis/judge_look.py"


if learning_points(config["finetuning"]):

    rule tabulate_learning_curves:
        input:
            **inputs(runs="runs", predictions="predictions"),
            # It has the number of updates of the whole checkpoint.
            pretraining=[f"<results>/{product('pretraining').path}"] if KEPT else [],
        output:
            **outputs("tabulate_learning_curves"),
        conda:
            "../envs/report.yaml"
        params:
            run_keys=run_keys(config),
            points=learning_points(config["finetuning"]),
        script:
            "../scripts/analysis/tabulate_learning_curves.py"


rule build_parameter_ledger:
    input:
        models=list(COUNTED.values()),
        foreign=[RUN_FILES.model_folder(name) for name in FOREIGN],
    output:
        **outputs("build_parameter_ledger"),
    conda:
        "../envs/report.yaml"
    params:
        names=list(COUNTED),
        configured={
            # An external checkpoint brings another vocabulary.
            **({"vocab_size": config["checkpoint"]["sentencepiece"]["vocab_size"]} if SOURCE == "pretrain" else {}),
            **{key: ARCHITECTURE[key] for key in ("width", "ffn_width", "layers", "max_positions")},
        },
        classes=class_names,
    script:
        "../scripts/analysis/build_parameter_ledger.py"
