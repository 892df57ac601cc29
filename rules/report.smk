"""The page, its check, and the provenance of its numbers."""

from report.sections import templates

# Every file that the page uses: `build_report` reads it, and `check_report` reads it again.
PAGE = {
    **{row.key: made(row.key) for row in chosen(config, page=True)},
    "parity": parity(*ALL_SPLITS),
    "training_benchmarks": runs("<benchmarks>/finetune_{framework}/{arm}/seed{seed}.tsv"),
}


rule record_settings:
    input:
        **recorded(),
        records=RUN_FILES.with_sources(made("run_records"), f"<results>/{product('run_records').path}"),
    output:
        **outputs("record_settings"),
    conda:
        "../envs/report.yaml"
    params:
        settings=config,
    script:
        "../scripts/report/record_settings.py"


rule record_provenance:
    input:
        **recorded(),
        records=RUN_FILES.with_sources(made("run_records"), f"<results>/{product('run_records').path}"),
        predictions=RUN_FILES.with_sources(made("predictions"), f"<results>/{product('predictions').path}"),
        manifest=made("manifest"),
        # These are in the report, and the crate gives their hashes. The page reads the crate, so its hash cannot be in
        # it.
        tables=[
            *linear("<results>/finetuning/{arm}/seed0/run.json"),
            *linear("<results>/predictions/{arm}/seed0.tsv"),
            *(f"<results>/{file}" for row in chosen(config, crate=True) for file in row.paths(config)),
        ],
    output:
        **outputs("record_provenance"),
    conda:
        "../envs/report.yaml"
    params:
        settings=config,
        commit=COMMIT,
        # The script finds them by the name of their room.
        guests=[file_digest(os.path.join(ROOT, "scripts", room, "guest.py")) for room in guests()],
    script:
        "../scripts/report/record_provenance.py"


# The page is built from its files, the files that it links to, and its templates.
BUILT_FROM = {
    **PAGE,
    # The page links to them, and both builds must find the same.
    "pngs": [f"<results>/{file}" for row in chosen(config) if row.key.endswith("_png") for file in row.paths(config)],
    "provenance": made("provenance"),
    "templates": [workflow.source_path(path) for path in templates()],
}


rule build_report:
    input:
        **BUILT_FROM,
    output:
        **outputs("build_report"),
    conda:
        "../envs/report.yaml"
    params:
        settings=config,
        commit=COMMIT,
    script:
        "../scripts/report/build_report.py"


# The page is built a second time, so the check needs all that the page is built from.
rule check_report:
    input:
        **BUILT_FROM,
        report=made("report"),
    output:
        **outputs("check_report"),
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
        report=made("report"),
    output:
        pdf="<results>/report.pdf",
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/report/print_report.py"
