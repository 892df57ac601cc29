"""The study's findings: the answers to its questions, and every seed in one figure; never stronger than the files."""

import tasks
from common.arms import ARM, CHECKPOINT
from report.arm_colours import anchor_of, coloured
from report.asked import asked
from report.formats import run_name
from report.inputs import located
from report.sections.errors.facts import POLARITY
from report.sections.learning_curves.facts import facts as learning_curves
from report.sections.recipes.facts import facts as recipes
from report.strips import Strip, strip_chart
from study.pretrainings import varies_checkpoint

PART, CHAPTER, PLACE = "report", "The answer", 10
# More labels are counted in the section on the data.
MOST_NAMED = 6
# The study's checkpoint in words, by its source.
CHECKPOINTS = {
    "pretrain": "a checkpoint that this study pretrained",
    "fetch": "the published checkpoint",
    "folder": "a checkpoint made elsewhere",
}


def arms_with_intervals(study):
    """Return test_accuracy.tsv with the intervals of figures/arms.tsv beside it."""
    intervals = study.frame("arms_data").drop(columns=["n_seeds", "mean"])
    return study.frame("test_accuracy").merge(intervals, on=ARM)


def missing_runs(study):
    """Return the names of configured runs that runs.tsv does not hold."""
    there = set(study.frame("runs")[["arm", "seed"]].itertuples(index=False, name=None))
    finetuning = located(study.settings.get("finetuning") or {}, "config", "finetuning")
    return [
        run_name(arm, seed)
        for arm in finetuning.get("arms", {})
        # With looks, more are trained only where a question needs them.
        for seed in finetuning.get("seeds", [])[: int(finetuning["looks"][0]) if "looks" in finetuning else None]
        if (arm, seed) not in there
    ]


def disagreements(study):
    """Return the rows of the parameter ledger, the one table that says `agrees`, that do not agree."""
    rows = study.table("parameter_ledger").rows if study.has("parameter_ledger") else []
    return [row for row in rows if row["agrees"] == "false"]


def side(pair, letter):
    """Return one arm of a pair as a separate row."""
    return {name: pair[f"{name}_{letter}"] for name in ARM if f"{name}_{letter}" in pair}


def matrix(pairs):
    """Return the upper triangle of pairs: (arms across, [(arm, [a pair or None for each arm across])])."""
    arms = {pair[f"arm_{letter}"]: side(pair, letter) for pair in pairs for letter in "ab"}
    found = {(pair["arm_a"], pair["arm_b"]): pair for pair in pairs}
    rows = [(arm, [found.get((key, other)) for other in list(arms)[1:]]) for key, arm in list(arms.items())[:-1]]
    return list(arms.values())[1:], rows


def strips(study, colours):
    """Return the arms for the chart: every seed, which links to its run, the mean and its interval."""
    runs = study.frame("runs").to_dict("records")
    looks = coloured(runs, colours)
    return [
        Strip(
            looks[arm["arm"]][1],
            looks[arm["arm"]][0],
            looks[arm["arm"]][2],
            [run for run in runs if run["arm"] == arm["arm"]],
            {"arm": arm["arm"]},
            arm if arm["t_low"] else None,
            {"arm": arm["arm"]},
            lambda run: f"#{anchor_of(run)}",
        )
        for arm in study.table("arms_data").rows
    ]


def simple_models(study):
    """Return the rows of baselines.tsv that are drawn as lines: all but the constant model, which has the share's."""
    rows = study.table("baselines").rows if study.has("baselines") else []
    constant = tasks.load(study.json("manifest").get("task") or tasks.DEFAULT).BASELINES[0]
    return [row for row in rows if row["baseline"] != constant and row.get(study.lead.test)]


def ahead_of(study, mean):
    """Return the simple models that are ahead of a mean on test, the best first: they lead no page, and are named."""
    worth, test = study.lead.worth, study.lead.test
    rows = [row for row in simple_models(study) if worth(float(row[test])) > worth(float(mean))]
    return sorted(rows, key=lambda row: -worth(float(row[test])))


def in_short_facts(study):
    """Return facts for the first screen: {shared, leaks, runs, parameters}; None where unknown."""
    steps = study.table("derivation").rows if study.has("derivation") else []
    # Terms after the head belong to one framework only.
    heads = [row["total"] for row in steps if row["part"].startswith("classification head")]
    checks = study.table("audit").rows if study.has("audit") else []
    return {
        # Test texts that also occur in training or validation.
        "shared": next((row for row in checks if row["check"] == "test reviews in training or validation"), None),
        "leaks": study.count(study.path("audit"), status="leak") if study.has("audit") else None,
        "runs": study.count(study.path("runs")),
        "parameters": heads[0] if heads else None,
    }


def failures(study):
    """Return numbers of runs: {failed, judged, all}; None where no kind of label says which runs learnt."""
    if not study.has("learned"):
        return None
    path = study.path("learned")
    judged = study.count(path)
    return {
        "failed": study.count(path, learned="false"),
        "judged": judged,
        # A run without a validation result is not judged.
        "all": judged == study.count(study.path("runs")),
    }


def description(study):
    """Return facts for the line on the task, the data and the models: {study, manifest, task, labels, sizes, ...}."""
    manifest = study.json("manifest")
    task = tasks.load(manifest.get("task") or tasks.DEFAULT)
    labels = study.labels or (list(POLARITY.values()) if task.NAMED else [])
    models = dict.fromkeys(study.frame("runs")["model"])
    start = CHECKPOINTS.get((study.settings.get("checkpoint") or {}).get("source"), "a checkpoint")
    if varies_checkpoint(study.settings.get("finetuning") or {}):
        start = "checkpoints that this study pretrained, one for each seed"
    return {
        "study": study.name,
        "n_questions": study.count(study.path("questions")) if study.has("questions") else None,
        "manifest": manifest,
        "task": task.LABEL.replace("text", study.noun["one"]),
        "labels": labels if len(labels) <= MOST_NAMED else [],
        "sizes": {split: manifest["splits"][split]["n"] for split in ("train", "valid", "test")},
        "n_arms": study.distinct(study.path("runs"), "arm"),
        "models": [start if name == CHECKPOINT else name for name in models if name],
    }


def leading(arms, grids):
    """Return the arms that may lead the page: a test mean that was one of several to choose from leads nothing.

    Args:
        arms: frame with a column `arm`, the best mean first.
        grids: what the section on recipes knows; None: no start has several.
    """
    left_out = {row["arm"] for row in grids["arms"].rows if row["best"] != "true"} if grids else set()
    return arms[~arms["arm"].isin(left_out)]


def facts(study):
    """The study's findings: the answers to its questions, and every seed in one figure."""
    arms = arms_with_intervals(study).sort_values(
        "mean", key=lambda column: -study.lead.worth(column.astype(float)), kind="stable"
    )
    grids = recipes(study)
    ahead = leading(arms, grids)
    # Means that print alike share the lead.
    printed = ahead["mean"].map(lambda mean: str(study.lead.show(str(mean))))
    first = ahead[printed == printed.iloc[0]].sort_index()
    pairs = study.table("pairs").rows if study.has("pairs") else None
    colours = (study.settings.get("report") or {}).get("colours")
    return description(study) | {
        "arms": arms.to_dict("records"),
        "first": first.to_dict("records"),
        "n_leading": len(ahead),
        "pairs_href": study.href("pairs") if pairs else None,
        "asked": asked(study),
        "matrix": matrix(pairs) if pairs else None,
        "n_test": sorted(study.frame("runs")["n_test"].unique(), key=int),
        "grids": grids,
        "grown": learning_curves(study),
        "missing": missing_runs(study),
        "disagreeing": disagreements(study),
        "failed": failures(study),
        "in_short": in_short_facts(study),
        "chart_of_arms": strip_chart(
            strips(study, colours),
            f"Test {study.lead.chart} of every seed, by arm",
            arms["majority_share"].iloc[0] or None,
            study.lead,
            simple_models(study),
        ),
        "simple": simple_models(study),
        "ahead": ahead_of(study, first["mean"].iloc[0]),
        "drawing": study.drawing(study.path("arms_figure")),
        "values": study.table("arms_data"),
    }
