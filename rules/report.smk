"""The page, what checks it, and what made its numbers."""

import glob

# The question-answering half, where the study has it.
QA_REPORT = (
    {
        "qa_summary": "<results>/qa/summary.tsv",
        "qa_loss": "<results>/qa/loss.tsv",
        "qa_generations": "<results>/qa/generations.jsonl",
        "qa_manifest": "<results>/qa/data/manifest.json",
        "qa_loss_figure": "<results>/qa/figures/loss.svg",
        "lora_ledger": "<results>/qa/lora_ledger.tsv",
        "lora_schematic": "<results>/qa/figures/lora.svg",
    }
    if config["qa"]["enabled"]
    else {}
)
SWEEP_REPORT = (
    {
        "qa_rank_sweep": "<results>/qa/rank_sweep.tsv",
        "qa_rank_sweep_figure": "<results>/qa/figures/rank_sweep.svg",
    }
    if config["qa"]["enabled"] and SWEPT["ranks"]
    else {}
)
QA_RECORDED = (
    {
        "qa_runs": qa_runs("run.json"),
        "qa_results": qa_runs("evaluation.json"),
        "qa_manifest": "<results>/qa/data/manifest.json",
    }
    if config["qa"]["enabled"]
    else {}
)
# The checkpoint's curve, where the study makes its own.
PRETRAINING_REPORT = (
    {
        "pretraining": "<results>/checkpoint/pretraining.tsv",
        "pretraining_figure": "<results>/figures/pretraining.svg",
    }
    if SOURCE == "pretrain" and USES_CHECKPOINT
    else {}
)
TABLES = {
    "runs": "<results>/runs.tsv",
    "test_accuracy": "<results>/test_accuracy.tsv",
    "arm_statistics": "<results>/statistics/arms.tsv",
    "pairs": "<results>/statistics/pairs.tsv",
    "method": "<results>/statistics/method.json",
    "learned": "<results>/learned.tsv",
    "baselines": "<results>/baselines.tsv",
    "weights": "<results>/weights.tsv",
    "parameter_ledger": "<results>/parameter_ledger.tsv",
    "protocol_diff": "<results>/protocol_diff.tsv",
    "audit": "<results>/audit.tsv",
    "errors": "<results>/errors.tsv",
    "claims_by_report": "<results>/claims_by_report.tsv",
    "manifest": "<results>/data/manifest.json",
    "overfitting_arms": "<results>/overfitting/arms.tsv",
    "overfitting_runs": "<results>/overfitting/runs.tsv",
    **PARAMETER_TABLES,
}
# Where runs go wrong: tables, and the reviews themselves.
ERRORS = {f"errors_{name}": table for name, table in (ERROR_TABLES | CLASS_TABLES).items()} | {
    "hardest": "<results>/errors/hardest.jsonl",
}
CURVES = [f"<results>/figures/accuracy_by_epoch/{arm}" for arm in ARMS]
ALL_CURVES = [f"<results>/figures/arms_by_epoch/{measure}" for measure in MEASURES]
TRAINING_CURVES = [f"<results>/figures/train_and_valid/{arm}" for arm in ARMS]
# Every file that the page rests on: what `build_report` reads, `check_report` reads again.
PAGE = {
    **QA_REPORT,
    **SWEEP_REPORT,
    **PRETRAINING_REPORT,
    **TABLES,
    **ERRORS,
    **RECIPE_TABLES,
    **LEARNING_TABLES,
    **{f"framework_{name}": table for name, table in FRAMEWORK_TABLES.items()},
    "history": "<results>/history.tsv",
    "arms_figure": "<results>/figures/arms.svg",
    "arms_data": "<results>/figures/arms.tsv",
    "run_records": runs("<run>/run.json"),
    "claims": "<results>/claims.tsv",
    "logit_parity": LOGIT_PARITY,
    "parity": parity(*ALL_SPLITS),
    "predictions": runs("<results>/predictions/{arm}/seed{seed}.tsv"),
    "training_benchmarks": runs("<benchmarks>/finetune_{framework}/{arm}/seed{seed}.tsv"),
    "curves_data": [f"{curve}.tsv" for curve in CURVES],
    "all_curves_data": [f"{curve}.tsv" for curve in ALL_CURVES],
    "training_curves_data": [f"{curve}.tsv" for curve in TRAINING_CURVES],
    "curves": [f"{curve}.svg" for curve in CURVES],
    "all_curves": [f"{curve}.svg" for curve in ALL_CURVES],
    "training_curves": [f"{curve}.svg" for curve in TRAINING_CURVES],
    "parameters_figure": PARAMETER_FIGURE,
    "recipe_figure": RECIPE_FIGURE,
    "learning_curve_figure": LEARNING_FIGURE,
    "error_figures": [f"<results>/figures/errors/{name}.svg" for name in ERROR_FIGURES],
}
# The page's words: its frame and pieces, and one template a section.
TEMPLATES = sorted(path for part in ("layout", "page") for path in glob.glob(f"{ROOT}/report/{part}/*.j2"))


rule record_settings:
    input:
        **QA_RECORDED,
        records=runs("<run>/run.json"),
    output:
        record="<results>/settings.json",
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        settings=config,
    script:
        "../scripts/report/record_settings.py"


rule record_provenance:
    input:
        **QA_RECORDED,
        records=runs("<run>/run.json"),
        predictions=runs("<results>/predictions/{arm}/seed{seed}.tsv"),
        manifest="<results>/data/manifest.json",
        # What the report shows; the crate gives their hashes. The page reads the crate, so its hash cannot be in it.
        tables=[
            "<results>/runs.tsv",
            "<results>/history.tsv",
            "<results>/test_accuracy.tsv",
            "<results>/figures/arms.svg",
            *(f"{curve}.svg" for curve in CURVES + ALL_CURVES + TRAINING_CURVES),
            *(TABLES[name] for name in ("pairs", "errors", "weights", "audit", "protocol_diff", "arm_statistics")),
            *(TABLES[name] for name in ("learned", "baselines", "parameter_ledger")),
            *(TABLES[name] for name in ("overfitting_arms", "overfitting_runs")),
            *PARAMETER_TABLES.values(),
            *PARAMETER_FIGURE,
            "<results>/claims.tsv",
            TABLES["claims_by_report"],
            *ERROR_TABLES.values(),
            *CLASS_TABLES.values(),
            *RECIPE_TABLES.values(),
            *RECIPE_FIGURE,
            *LEARNING_TABLES.values(),
            *LEARNING_FIGURE,
            *(f"<results>/figures/errors/{name}.svg" for name in ERROR_FIGURES),
            *LOGIT_PARITY,
            *FRAMEWORK_TABLES.values(),
            *(QA_REPORT[name] for name in ("qa_summary", "qa_loss", "qa_loss_figure", "lora_ledger") if QA_REPORT),
            *SWEEP_REPORT.values(),
            *PRETRAINING_REPORT.values(),
        ],
    output:
        crate=shown(
            "<results>/ro-crate-metadata.json",
            "provenance",
            "Trust",
            subcategory=None,
            record="provenance (RO-Crate)",
        ),
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        settings=config,
        commit=COMMIT,
    script:
        "../scripts/report/record_provenance.py"


rule build_report:
    input:
        **PAGE,
        test_accuracy_markdown="<results>/test_accuracy.md",
        test_accuracy_latex="<results>/test_accuracy.tex",
        provenance="<results>/ro-crate-metadata.json",
        templates=[workflow.source_path(path) for path in TEMPLATES],
    output:
        report="<results>/report.html",
        # Snakemake's own report holds the page without the files that it links to.
        alone=shown("<results>/report_alone.html", "report", "Report", subcategory=None, page="the study's report"),
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        settings=config,
        commit=COMMIT,
    script:
        "../scripts/report/build_report.py"


rule check_report:
    input:
        **PAGE,
        report="<results>/report.html",
    output:
        numbers="<results>/report_numbers.tsv",
    localrule: True
    conda:
        "../envs/report.yaml"
    params:
        settings=config,
        commit=COMMIT,
    script:
        "../scripts/report/check_report.py"


# The report on paper; asked for by name, since a machine may have no browser.
rule print_report:
    input:
        report="<results>/report.html",
    output:
        pdf="<results>/report.pdf",
    localrule: True
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/report/print_report.py"
