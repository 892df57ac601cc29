"""Time, memory and updates a second of every run, by Snakemake's own measurements."""

import frameworks
from common.files import read_json
from report import charts
from report.arm_colours import label_of
from report.inputs import Table, located
from report.numbers import derive

CHAPTER, PLACE = "Cost", 10
# Readers see these names of the frameworks' steps.
STEPS = {
    "binarize_texts": "texts to token ids",
    "tokenize_texts": "texts to token ids",
    "convert_tokenizer": "tokenizer converted",
    "convert_checkpoint": "checkpoint converted",
    "select_checkpoint": "epoch chosen",
}
# The steps that only one framework has.
OF_FRAMEWORKS = {"finetune_": "training", "evaluate_": "test scored"}


def facts(study):
    """Time, memory and updates a second of every run, by Snakemake's own measurements."""
    if not study.has("training_benchmarks"):
        return None
    by_run = study.frame("runs").set_index(["arm", "seed"], drop=False)
    rows = []
    for path in sorted(study.paths("training_benchmarks")):
        arm, seed = study.link(path).removesuffix(".tsv").split("/")[-2:]
        run = by_run.loc[(arm, seed.removeprefix("seed"))].to_dict()
        if run["framework"] in frameworks.names() and not frameworks.load(run["framework"]).TRAINS:
            continue
        measured = study.read(path).iloc[0].to_dict()
        memory = measured.get("max_rss", "")
        by_epochs = run["framework"] in frameworks.having("CHECKPOINTS")
        rate = derive("ratio", run["total_updates"], run["train_seconds"]) if by_epochs else ""
        # Snakemake measured nothing for a job that ended at once.
        memory = memory if memory.replace(".", "").isdigit() else ""
        rows.append(run | {"seconds": measured["s"], "memory_mb": memory, "rate": rate})
    if not rows:
        return None
    records = [located(read_json(path), study.link(path)) for path in study.paths("run_records")]
    steps = study.table("framework_steps") if study.has("framework_steps") else None
    return {
        "runs": Table(rows),
        "halved": [record for record in records if record.get("halvings")],
        "by_run": bars(rows, "train_seconds", "{train_seconds|decimals,1} s", "Training time by run, in seconds"),
        "by_run_href": study.href("runs"),
        "steps": steps,
        "by_step": steps
        and bars(
            steps.rows,
            "total_seconds",
            "{total_seconds|decimals,1} s, {total_seconds/sum|percent,0} % of all steps",
            "Time by step, all jobs, in seconds and as a share of all steps",
        ),
        "memory_by_step": steps
        and bars(steps.rows, "memory_mb", "{memory_mb|integer} MB", "Memory of each step's largest job, in MB"),
    }


def step_of(rule):
    """Return what a rule of a framework does, in words."""
    of_frameworks = next((words for start, words in OF_FRAMEWORKS.items() if rule.startswith(start)), rule)
    return STEPS.get(rule, of_frameworks)


def bars(rows, column, words, title):
    """Return a chart of one bar for each row, named by its run or its framework and rule; None without numbers."""
    rows = [row for row in rows if row.get(column)]
    if not rows or not max(float(row[column]) for row in rows):
        return None
    x, height = charts.Scale(0, 1.04 * max(float(row[column]) for row in rows), 0, charts.WIDTH - 8), 30
    places = {id(row): place for place, row in enumerate(rows)}
    names = [
        f"{frameworks.label(row['framework'])}: {step_of(row['rule'])}" if "rule" in row
        else f"{label_of(row)}, seed {row['seed']}"
        for row in rows
    ]  # fmt: skip

    def bar(row):
        attributes = {"x": 0, "y": places[id(row)] * height + 17, "height": 9, "width": x(row[column]), "class": "bar"}
        return "rect", attributes, None

    def beside(row):
        return {"x": charts.WIDTH - 8, "y": places[id(row)] * height + 12.0, "text_anchor": "end"}

    labels = [charts.tag("text", name, class_="name plain", x=0, y=i * height + 12.0) for i, name in enumerate(names)]
    bottom = len(rows) * height + 2
    axis = charts.horizontal_ticks(x, 0, bottom)
    made = charts.group(bar, rows, words, {"width": column}, x=x, written=beside)
    return charts.chart(bottom + 20, title, axis, made, *labels)
