"""Errors by review, by class, by length and by confidence."""

import tasks
from finetuning.seals import run_of
from study.products import Product, Rule, figure

FIGURES = ("confusion", "agreement", "calibration", "by_length")
SUMMARY = "mean sd_ddof1 min max t_low t_high"


def classes(config):
    """Say whether a text has one class."""
    return tasks.name_of(config) == tasks.DEFAULT


def counted(config):
    """Say whether an answer is right or wrong."""
    return tasks.load(tasks.name_of(config)).COUNTED


def run_keys(config):
    """Return the arm and seed of every run, in the order of the predictions; with looks a function of the inputs."""
    if config["finetuning"].get("looks"):
        return _keys_of_inputs
    return [(arm, str(seed)) for arm in config["finetuning"]["arms"] for seed in config["finetuning"]["seeds"]]


def _keys_of_inputs(wildcards, input):
    """A parameter: the arm and seed of each of the job's predictions; none while Snakemake does not know them."""
    paths = [input.predictions] if isinstance(input.predictions, str) else input.predictions
    return [(arm, str(seed)) for arm, seed in (run_of(path) for path in paths if "/seed" in path)]


def show_texts(config):
    """Return whether the page may show the texts; by default it leaves out the words of texts from elsewhere."""
    chosen = config["report"]["show_texts"]
    return config["data"]["source"] == "embedded" if chosen == "auto" else chosen


def table(name, rule, columns, output="", **labels):
    """Return the row of a table of errors."""
    facts = {"caption": "classes", "labels": labels} if labels else {}
    return Product(
        f"errors_{name}", f"errors/{name}.tsv", rule, output or name, columns, classes, page=True, crate=True, **facts
    )


PRODUCTS = [
    Product(
        "errors",
        "errors.tsv",
        "count_errors",
        columns="id label n_runs n_right outcome",
        when=counted,
        caption="errors",
        labels={"table": "errors by review"},
        page=True,
        crate=True,
    ),
    table("confusion", "measure_errors", "arm seed label prediction n_reviews share"),
    table("calibration", "measure_errors", "arm bin bin_low bin_high n_answers confidence accuracy"),
    table("by_length", "measure_errors", "arm bin bin_low bin_high n_reviews n_seeds mean min max"),
    table("agreement", "measure_errors", "arm_a seed_a arm_b seed_b share"),
    table("runs", "measure_errors", "arm seed n_test n_wrong confidence calibration_error"),
    table("counts", "measure_errors", "n_right n_runs n_reviews"),
    # It may contain the reviews' words.
    Product("hardest", "errors/hardest.jsonl", "measure_errors", "hard", when=classes, page=True),
    *figure(
        "error_figures",
        "figures/errors/{name}",
        "measure_errors",
        ("svgs", "pngs"),
        each=lambda config: FIGURES,
        when=classes,
        caption="errors",
        subcategory="Errors",
        labels={"figure": "{name}"},
    ),
    table(
        "by_class",
        "measure_classes",
        f"arm label metric n_reviews n_seeds {SUMMARY}",
        "by_label",
        table="measures by class",
    ),
    table("macro", "measure_classes", f"arm metric n_seeds {SUMMARY}", table="means over classes"),
    table("confusion_arms", "measure_classes", f"arm label prediction n_seeds {SUMMARY}", table="confusion by arm"),
]
RULES = [
    Rule("count_errors", {"predictions": "predictions"}, when=counted),
    # Test reviews are read for their lengths, and for their words where the report may show them; nothing is chosen by
    # them. Other jobs wait for its tables, but figures do not.
    Rule(
        "measure_errors",
        {"predictions": "predictions", "reviews": "test_reviews", "manifest": "manifest"},
        {
            "run_keys": run_keys,
            "show_texts": show_texts,
            "colours": lambda config: config["report"]["colours"],
            "label_names": lambda config: config["data"].get("label_names"),
        },
        when=classes,
        priority=1,
    ),
    Rule("measure_classes", {"confusion": "errors_confusion"}, when=classes),
]
